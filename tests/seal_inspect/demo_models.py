"""Small models for the tests of `demo`."""

import io
from types import SimpleNamespace

import numpy
import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from PIL import Image

from seal.tasks.multilabel import MultilabelReader
from seal.tasks.text import TextMultilabelReader
from seal_inspect.demo_answers import answers_of
from tests import multilabel, segmentation

MASK_PARTS = {
    "loss_net": segmentation.LOSS_NET,
    "sampler": {"type": "discrete", "num_samples": 4},
    "energy_loss": {"type": "ranking"},
    "task_loss": {"type": "weighted"},
}


def archived(model, reader, kind, path=None):
    """What the page takes of an archive."""
    settings = {"model": {"type": kind}, "dataset_reader": {}, "validation_data_path": path}
    return SimpleNamespace(
        model=model, dataset_reader=reader, validation_dataset_reader=reader, config=Params(settings)
    )


def texts(thresholds):
    """An untrained model of two labels of texts, with a threshold for each."""
    from tests.tasks.text.test_model import SEPARATE, TEXTS, model

    reader = TextMultilabelReader()
    instances = [reader.text_to_instance(text, labels) for text, labels in TEXTS.items()]
    for instance in instances:
        reader.apply_token_indexers(instance)
    net = model(Vocabulary.from_instances(instances), **SEPARATE)
    net.decision = "per_label"
    net.is_tuned.fill_(True)
    net.label_thresholds.copy_(torch.tensor(thresholds))
    return answers_of("texts", archived(net, reader, "seal_text_multilabel"))


def fitted_labels(constraints=None, score="f1"):
    """A model of three labels whose structure was learned by hand."""
    more = {"type": "label_sets", "constraints": constraints} if constraints else {"type": "label_sets"}
    net = multilabel.model(task_net=multilabel.TASK_NET, structure=more, score=score).float().eval()
    torch.manual_seed(0)
    gold = torch.tensor([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 1, 0]]).repeat(5, 1)
    net.structure.fit(torch.randn(20, 3) + gold, gold)
    return net


def label_sets(folder, option, net=None):
    """The answers of a model whose structure chooses by `option`."""
    net = net or fitted_labels()
    more = {"likeliest": {"output": 1}, "blend": {"blend": 0.5, "threshold": 0.55}}
    net.structure.chosen["f1"] = {"option": option, "own_threshold": 0.5, **more[option]}
    data = multilabel.write_data(folder)
    reader = MultilabelReader(**data["reader"])
    return answers_of("fruit", archived(net, reader, "seal_multilabel", data["path"]))


def png(height, width):
    """An image of noise, as a file."""
    file = io.BytesIO()
    pixels = numpy.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=numpy.uint8)
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def blocks_of(answers, given):
    """All blocks of an answer."""
    return [block for line in answers.answer(given) for block in line["blocks"]]
