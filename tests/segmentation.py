"""What the tests of segmentation share: small images, models of them and every mask there is."""

import itertools
import json
from pathlib import Path

import numpy
import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.models import Model
from PIL import Image


def all_masks(height: int, width: int) -> torch.Tensor:
    """`(2 ** (height * width), height, width)`."""
    masks = torch.tensor(list(itertools.product([0.0, 1.0], repeat=height * width)), dtype=torch.double)
    return masks.view(-1, height, width)


def arrays(count: int = 5, height: int = 10, width: int = 12, seed: int = 0) -> dict[str, numpy.ndarray]:
    """Images whose foreground is red, the rest blue, with noise."""
    random = numpy.random.default_rng(seed)
    masks = (random.random((count, 1, 1)) < numpy.linspace(0, 1, height)[None, :, None]).repeat(width, axis=2)
    images = random.integers(0, 60, (count, height, width, 3))
    images[..., 0] += 190 * masks
    images[..., 2] += 190 * ~masks
    return {"images": images.astype(numpy.uint8), "masks": masks.astype(numpy.uint8)}


def write_npz(folder: Path, name: str = "data.npz", **more) -> str:
    path = folder / name
    numpy.savez(path, **{**arrays(), **more})
    return str(path)


def write_folder(folder: Path, count: int = 3) -> str:
    data = arrays(count)
    for kind in ("images", "masks"):
        (folder / kind).mkdir(parents=True)
        for row, pixels in enumerate(data[kind]):
            pixels = pixels * 255 if kind == "masks" else pixels
            Image.fromarray(pixels).save(folder / kind / f"{row}.png")
    return str(folder)


FCN = {"type": "fully_convolutional", "channels": [4, 5], "up_channels": [3], "activation": "softplus"}
LOSS_NET = {
    "encoder": {"type": "image_convolution", "channels": 3},
    "energies": [{"type": "mask_convolution", "channels": [4], "hidden_dims": [5]}],
}
TASK_NET = {"encoder": FCN}
DESCENT = {"type": "gradient_based_inference", "num_steps": 4, "step_size": 0.1, "optimizer": "adam"}


def model(seed: int = 0, size=8, crops_per_side: int = 3, **parts) -> Model:
    """In float64 and training mode; a task-net alone unless other parts are given."""
    torch.manual_seed(seed)
    space = {"type": "binary_mask", "size": size}
    params = {"type": "seal_segmentation", "output_space": space, "crops_per_side": crops_per_side}
    params.update(parts or {"task_net": TASK_NET})
    # Through text: parts that are the same object would be used up together.
    return Model.from_params(Params(json.loads(json.dumps(params))), vocab=Vocabulary()).double()


def seal_parts(**more) -> dict:
    return {
        "task_net": TASK_NET,
        "loss_net": LOSS_NET,
        "sampler": {"type": "correlated_draws", "num_samples": 4, "num_fields": 3},
        "energy_loss": {"type": "nce_ranking"},
        **more,
    }


def batch(images: int = 3, height: int = 8, width: int = 8, seed: int = 1) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "image": torch.randn(images, 3, height, width, generator=generator, dtype=torch.double),
        "mask": (torch.rand(images, height, width, generator=generator) < 0.5).double(),
    }
