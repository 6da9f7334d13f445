"""What the tests of multi-label classification share: a small ARFF file and small models of its data."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Optional

import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.models import Model

import seal.plugin  # noqa: F401  registers the models

LABELS = ["red", "round", "sweet"]
ATTRIBUTES = ["weight", "ripe", "size"]
ROWS = [
    ("1,0,?,1,0,2.5", (1, 0, 1)),
    ("0.5,1,3,0,1,-1", (0, 1, 1)),
    ("2,0,1,1,1,0", (1, 1, 0)),
    ("-1,0,2,0,0,4", (0, 1, 0)),
    ("3,1,0,1,1,1", (1, 1, 1)),
]
# Labels stand between the attributes; the XML says which they are, in its own order.
HEAD = """@relation fruit
@attribute weight numeric
@attribute sweet {0,1}
@attribute ripe numeric
@attribute red {0,1}
@attribute round {0,1}
@attribute size numeric
@data
"""


def row(text: str, gold) -> str:
    weight, _, ripe, _, _, size = text.split(",")
    red, round_, sweet = gold
    return f"{weight},{sweet},{ripe},{red},{round_},{size}\n"


def write_data(folder: Path, rows=ROWS, name: str = "fruit.arff") -> dict:
    """Writes the file and its XML; returns the settings of a reader of it, as the training file."""
    path = folder / name
    path.write_text(HEAD + "".join(row(*one) for one in rows), encoding="utf-8")
    xml = "".join(f'<label name="{label}"></label>\n' for label in LABELS)
    (folder / "labels.xml").write_text(f"<labels>\n{xml}</labels>\n", encoding="utf-8")
    return {"path": str(path), "reader": {"label_xml": str(folder / "labels.xml"), "statistics_from": str(path)}}


def vocabulary(labels: Iterable[str] = LABELS, attributes: Iterable[str] = ATTRIBUTES) -> Vocabulary:
    vocab = Vocabulary()
    for name in labels:
        vocab.add_token_to_namespace(name, "labels")
    for name in attributes:
        vocab.add_token_to_namespace(name, "attribute_labels")
    return vocab


ENCODER = {"type": "feature_mlp", "hidden_dim": 4, "num_layers": 1}
TASK_NET = {"encoder": ENCODER, "bias": False}
LOSS_NET = {"encoder": ENCODER, "energies": [{"type": "local"}, {"type": "label_interaction", "hidden_dim": 5}]}
# d, L, layers, h, m, and the parameters of cross-entropy training, of an energy-only model, of SEAL's
# training and of its inference (SEAL, ICLR 2022 submission, Table 11, the two cells of cal500 exchanged).
SIZES = {
    "expr_fun": (561, 500, 4, 200, 400, 333_000, 533_800, 866_800, 333_000),
    "spo_fun": (86, 500, 4, 300, 300, 447_000, 597_600, 1_044_600, 447_000),
    "bibtex": (1836, 159, 2, 400, 200, 958_800, 991_000, 1_949_800, 958_800),
    "cal500": (68, 174, 5, 500, 200, 1_123_500, 1_158_700, 2_282_200, 1_123_500),
    "delicious": (500, 983, 2, 400, 200, 754_000, 951_000, 1_705_000, 754_000),
    "genbase": (1186, 27, 1, 400, 200, 485_600, 491_400, 977_000, 485_600),
    "eurlexev": (5000, 3993, 2, 500, 200, 4_747_500, 5_546_500, 10_294_000, 4_747_500),
}
DESCENT = {"type": "gradient_based_inference", "num_steps": 5, "step_size": 0.1, "keep": "best"}


def model(seed: int = 0, vocab: Optional[Vocabulary] = None, **parts) -> Model:
    """In float64 and training mode; a task-net alone unless other parts are given."""
    torch.manual_seed(seed)
    params = {"type": "seal_multilabel", "output_space": {"type": "label_set"}}
    params.update(parts or {"task_net": TASK_NET})
    # Through text: parts that are the same object would be used up together.
    return Model.from_params(Params(json.loads(json.dumps(params))), vocab=vocab or vocabulary()).double()


def seal_parts(**more) -> dict:
    return {
        "task_net": TASK_NET,
        "loss_net": LOSS_NET,
        "sampler": {"type": "discrete", "num_samples": 6},
        "energy_loss": {"type": "nce_ranking"},
        **more,
    }


def run_settings(data: dict, parts: dict, data_loader: dict, **trainer) -> dict:
    """The config of a run on `write_data`'s file, which is also what it validates with."""
    settings = {
        "random_seed": 13,
        "numpy_seed": 13,
        "pytorch_seed": 13,
        "dataset_reader": {"type": "seal_multilabel", **data["reader"]},
        "train_data_path": data["path"],
        "validation_data_path": data["path"],
        "model": {"type": "seal_multilabel", "output_space": {"type": "label_set"}, **parts},
        "data_loader": {"type": "tensors", **data_loader},
        "trainer": {"type": "alternating", "cuda_device": -1, **trainer},
    }
    # Through text, as in `model`.
    return json.loads(json.dumps(settings))


def batch(rows: int = 4, seed: int = 1) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "features": torch.randn(rows, 3, generator=generator, dtype=torch.double),
        "labels": (torch.rand(rows, 3, generator=generator) < 0.5).double(),
    }
