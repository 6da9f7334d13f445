"""What the tests of the spine share: every tag sequence there is, masks, and a tiny SRL model with its data."""

import copy
import itertools
from collections.abc import Sequence
from typing import Optional

import torch
from allennlp.common import Params
from allennlp.data import Batch, Instance, Vocabulary
from allennlp.models import Model

from seal.output_spaces import OutputSpace, TagSequence
from seal.tasks.srl.reader import SrlReader

LABELS = ["O", "B-A", "I-A", "B-B", "I-B"]


def vocabulary(labels: Sequence[str] = LABELS, namespace: str = "tags") -> Vocabulary:
    vocab = Vocabulary()
    for label in labels:
        vocab.add_token_to_namespace(label, namespace)
    return vocab


def tag_sequence(num_tags: int) -> TagSequence:
    """A space of `num_tags` tags without an encoding."""
    return TagSequence(vocabulary([f"t{i}" for i in range(num_tags)]), encoding=None)


def all_sequences(num_tags: int, tokens: int) -> torch.Tensor:
    """`(num_tags ** tokens, tokens)`."""
    return torch.tensor(list(itertools.product(range(num_tags), repeat=tokens)))


def is_legal(tags: Sequence[str]) -> bool:
    """The BIO rule in one line: an inside tag needs the same label on its left."""
    return all(tag[0] != "I" or (i > 0 and tags[i - 1] in ("B" + tag[1:], tag)) for i, tag in enumerate(tags))


def mask_of(lengths: Sequence[int]) -> torch.Tensor:
    return torch.tensor([[t < length for t in range(max(lengths))] for length in lengths])


def one_hot(tags: torch.Tensor, num_tags: int, dtype: torch.dtype = torch.double) -> torch.Tensor:
    return torch.eye(num_tags, dtype=dtype)[tags]


class DenseSpace(OutputSpace):
    """Outputs `(batch, samples, variables)` in [0, 1] without any trick: what scores are checked on."""

    def overlap(self, outputs, gold, mask=None):
        gold = gold.unsqueeze(1).to(outputs)
        return torch.minimum(outputs, gold).sum(-1), torch.maximum(outputs, gold).sum(-1)


# A tiny SRL model.

SENTENCES = [
    ("the cook cut it".split(), 2, "B-ARG0 I-ARG0 B-V B-ARG1".split()),
    ("she left".split(), 1, "B-ARG0 B-V".split()),
    ("it boiled the old cook twice today".split(), 1, "B-ARG0 B-V B-ARG1 I-ARG1 I-ARG1 O O".split()),
    # A row that asks for predicates.
    ("the old cook left it".split(), None, ["O"] * 5),
    ("she boiled it".split(), None, ["O"] * 3),
]
FRAMES, FINDER_ROWS = [0, 1, 2], [3, 4]


def srl_instances(rows: Sequence[int] = range(5)) -> list[Instance]:
    reader = SrlReader()
    instances = []
    for i in rows:
        words, predicate, tags = SENTENCES[i]
        predicates = [j for j, word in enumerate(words) if word in ("cut", "left", "boiled")]
        instance = reader.text_to_instance(words, predicate, tags, predicates)
        reader.apply_token_indexers(instance)
        instances.append(instance)
    return instances


VOCAB = Vocabulary.from_instances(srl_instances())


def srl_batch(rows: Sequence[int] = range(5)) -> dict:
    batch = Batch(srl_instances(rows))
    batch.index_instances(VOCAB)
    return batch.as_tensor_dict()


def encoder_params(size: int = 4) -> dict:
    return {
        "type": "seq2seq",
        "embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 5}}},
        "encoder": {"type": "lstm", "input_size": 7, "hidden_size": size, "bidirectional": True},
        "predicate_dim": 2,
    }


def loss_net_params(shared: bool = False, **more) -> dict:
    params = {
        "energies": [
            {"type": "local"},
            {"type": "linear_chain", "with_start": True},
            {"type": "self_attention", "hidden_dim": 6, "num_heads": 3},
        ],
        **more,
    }
    if not shared:
        params["encoder"] = encoder_params(3)
    return params


def srl_model(
    loss_net: Optional[dict] = None,
    sampler: Optional[dict] = None,
    energy_loss: Optional[dict] = None,
    output_space: str = "tag_sequence",
    seed: int = 0,
    **more,
) -> Model:
    """In float64 and training mode."""
    torch.manual_seed(seed)
    params = {
        "type": "seal_srl",
        "output_space": {"type": output_space, "namespace": "srl_tags"},
        "task_net": {"encoder": encoder_params()},
        **more,
    }
    for name, value in (("loss_net", loss_net), ("sampler", sampler), ("energy_loss", energy_loss)):
        if value is not None:
            params[name] = value
    return Model.from_params(Params(copy.deepcopy(params)), vocab=VOCAB).double()


def seal_model(shared: bool = False, **more) -> Model:
    more.setdefault("sampler", {"type": "discrete", "num_samples": 6})
    more.setdefault("energy_loss", {"type": "nce_ranking"})
    return srl_model(loss_net_params(shared), **more)
