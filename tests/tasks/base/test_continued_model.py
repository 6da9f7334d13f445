import json

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Vocabulary
from allennlp.models import Model, load_archive
from allennlp.predictors import Predictor

import seal.plugin  # noqa: F401
from seal.tasks.multilabel.reader import MultilabelReader
from seal.tasks.srl.reader import SrlReader
from seal.tasks.tagging.reader import TaggingReader
from seal.tasks.text.reader import TextMultilabelReader

WORDS = {
    "type": "seq2seq",
    "embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 4}}},
    "encoder": {"type": "lstm", "input_size": 4, "hidden_size": 3},
}
TEXTS = {
    "type": "seq2vec",
    "embedder": WORDS["embedder"],
    "encoder": {"type": "boe", "embedding_dim": 4, "averaged": True},
}
TAGS = {"energies": [{"type": "local"}, {"type": "linear_chain", "with_start": True}]}
SETS = {"energies": [{"type": "local"}, {"type": "label_interaction", "hidden_dim": 5}]}
LEARNING = {"sampler": {"type": "discrete"}, "energy_loss": {"type": "nce_ranking"}}


def tagging(*names):
    words = [f"word{place}" for place in range(len(names))]
    return [TaggingReader().text_to_instance(words, list(names))]


def srl(*roles):
    words = ["she", "cut", *(f"word{place}" for place in range(len(roles)))]
    return [SrlReader().text_to_instance(words, 1, ["O", "B-V", *(f"B-{role}" for role in roles)], [1])]


def texts(*labels):
    return [TextMultilabelReader().text_to_instance(" ".join(labels), list(labels))]


def features(tmp_path, *labels):
    head = "".join(f"@attribute {label} {{0,1}}\n" for label in labels)
    (tmp_path / "x.arff").write_text(f"@relation x\n@attribute a real\n{head}@data\n1{',1' * len(labels)}\n")
    return list(MultilabelReader(labels=list(labels)).read(str(tmp_path / "x.arff")))


#: By task: instances with given labels, the reader, the model, and labels of training and new ones.
TASKS = {
    "tagging": (
        tagging, "seal_tagging", {"type": "tag_sequence", "encoding": None}, {"encoder": WORDS, **TAGS},
        ["V", "N"], ["X", "Y"],
    ),
    "srl": (
        srl, "seal_srl", {"type": "tag_sequence", "namespace": "srl_tags"},
        {"encoder": {**WORDS, "predicate_dim": 2, "encoder": {**WORDS["encoder"], "input_size": 6}}, **TAGS},
        ["ARG0", "ARG1"], ["ARGM-X"],
    ),
    "texts": (texts, "seal_text_multilabel", {"type": "label_set"}, {"encoder": TEXTS, **SETS}, ["a", "b"], ["c"]),
    "features": (
        None, "seal_multilabel", {"type": "label_set"},
        {"encoder": {"type": "feature_mlp", "hidden_dim": 4, "num_layers": 1}, **SETS}, ["a1", "b1"], ["c1", "d1"],
    ),
}  # fmt: skip


def made(task, tmp_path, names):
    make = TASKS[task][0]
    return features(tmp_path, *names) if make is None else make(*names)


def with_indexers(instances):
    for instance in instances:
        if "tokens" in instance.fields:
            TaggingReader().apply_token_indexers(instance)
    return instances


@pytest.fixture(params=TASKS)
def trained(request, tmp_path):
    """The task's name, and the folder of a model with random weights."""
    task = request.param
    _, kind, space, net, names, _ = TASKS[task]
    folder = tmp_path / "run"
    folder.mkdir()
    vocab = Vocabulary.from_instances(with_indexers(made(task, tmp_path, names)))
    encoder, energies = net["encoder"], net["energies"]
    params = {
        "type": kind, "output_space": space, "task_net": {"encoder": encoder},
        "loss_net": {"encoder": encoder, "energies": energies}, **LEARNING,
    }  # fmt: skip
    model = Model.from_params(Params(json.loads(json.dumps(params))), vocab=vocab)
    vocab.save_to_files(str(folder / "vocabulary"))
    torch.save(model.state_dict(), folder / "best.th")
    (folder / "config.json").write_text(json.dumps({"dataset_reader": {"type": kind}, "model": params}))
    return task, folder, model


def extended(folder, instances):
    return Vocabulary.from_files_and_instances(with_indexers(instances), str(folder / "vocabulary"))


def continued(folder, vocab, **more):
    return Model.from_params(Params({"type": "from_archive", "archive_file": str(folder), **more}), vocab=vocab)


def test_a_new_label_is_told_of(trained, tmp_path):
    task, folder, _ = trained
    names, new = TASKS[task][4:]
    for vocab in (
        extended(folder, made(task, tmp_path, names + new)),
        Vocabulary.from_instances(with_indexers(made(task, tmp_path, new + names))),
    ):
        with pytest.raises(ConfigurationError) as error:
            continued(folder, vocab)
        message = error.value.message
        first = f"B-{new[0]}" if task == "srl" else new[0]
        assert all(part in message for part in ("model.archive_file", f"'{first}'", "model.new_labels", str(folder)))


def test_new_labels_get_rows_and_the_others_keep_theirs(trained, tmp_path):
    task, folder, old = trained
    names, new = TASKS[task][4:]
    instances = made(task, tmp_path, names + new)
    vocab = extended(folder, instances)
    model = continued(folder, vocab, new_labels=True).eval()
    assert model.output_space.labels[: len(old.output_space.labels)] == old.output_space.labels
    more = model.output_space.num_labels - old.output_space.num_labels
    assert more == len(new)
    grown = 0
    for name, value in old.state_dict().items():
        found = model.state_dict()[name]
        grown += found.shape != value.shape
        assert torch.equal(found[tuple(slice(0, size) for size in value.shape)], value)
    assert grown > 3
    # It learns the new labels.
    batch = Batch(with_indexers(instances))
    batch.index_instances(vocab)
    model.train()
    state = model.task_state(**batch.as_tensor_dict())
    assert model.task_net_loss(state, model.frozen_features(state)).isfinite()
    assert model.loss_net_loss(state, model.sample(state)).isfinite()


def test_rows_for_the_first_words_that_are_common_enough(tmp_path, trained):
    """A vocabulary without a word has no file of words."""
    task, folder, old = trained
    if task == "features":
        pytest.skip("it has no words")
    names, new = TASKS[task][4:]
    (folder / "vocabulary" / "tokens.txt").unlink()
    weights = old.state_dict()
    small = {name: value[:2] if "token_embedder_tokens" in name else value for name, value in weights.items()}
    torch.save(small, folder / "best.th")
    model = continued(folder, extended(folder, made(task, tmp_path, names + new)), new_labels=True)
    found = model.state_dict()
    assert all(torch.equal(found[name][:2], small[name]) for name in small if "token_embedder_tokens" in name)


def test_the_same_labels_need_nothing(trained, tmp_path):
    task, folder, old = trained
    instances = made(task, tmp_path, TASKS[task][4])
    for vocab in (extended(folder, instances), Vocabulary.from_instances(with_indexers(instances))):
        model = continued(folder, vocab)
        assert all(torch.equal(model.state_dict()[name], value) for name, value in old.state_dict().items())


def test_the_predictor_is_that_of_the_task(trained, tmp_path):
    task, folder, _ = trained
    model = {"type": "from_archive", "archive_file": str(folder)}
    archive = load_archive(str(folder))
    archive.config["model"] = Params(model)
    assert type(Predictor.from_archive(archive)).__name__ == type(Predictor.from_path(str(folder))).__name__


def test_words_of_other_numbers_are_refused(tmp_path, trained):
    task, folder, _ = trained
    if task == "features":
        pytest.skip("it has no words")
    instances = made(task, tmp_path, TASKS[task][4])
    vocab = Vocabulary.from_files(str(folder / "vocabulary"))
    other = Vocabulary.from_instances(with_indexers(instances), tokens_to_add={"tokens": []}, min_count={"tokens": 9})
    other.add_token_to_namespace("another", "tokens")
    assert continued(folder, vocab).vocab is not None
    with pytest.raises(ConfigurationError, match="'tokens'"):
        continued(folder, other)


def test_a_structure_is_learned_anew_and_other_weights_are_refused(tmp_path):
    from seal.tasks.base.continued_model import _has_more_rows

    assert _has_more_rows((3, 3, 4), (5, 5, 4), {(3, 5)})
    assert not _has_more_rows((4, 3), (6, 3), {(3, 5)})
    assert not _has_more_rows((3,), (3, 5), {(3, 5)})
