"""
Structured prediction with energy networks as losses: a library for torch, and an AllenNLP plugin.

The core needs torch and NumPy alone: output spaces, energies, losses, samplers, scores, nets, structure, hypergradients
and the step of two players. Import what you need of it, such as `seal.losses`. Tasks and trainers are the part on
AllenNLP: configs name what is in there, once `seal.plugin` is imported. `docs/architecture.md` has the plan.
"""

import os
import sys
from typing import TYPE_CHECKING, Any, Optional, Union

from seal.lazy_imports import LAZY, lazy
from seal.version import VERSION as __version__

with lazy(*LAZY):
    from seal.common import fast_log1p

if TYPE_CHECKING:
    import torch

    from seal.tasks.base import Pipeline

__all__ = ["__version__", "load"]

fast_log1p.load_special_values()
if "allennlp" in sys.modules:
    # The command `allennlp` and its plugins: configs are about to name what is registered here.
    from seal import plugin  # noqa: F401


def load(
    name: Union[str, os.PathLike],
    device: Union[str, int, "torch.device", None] = None,
    split_sentences: Optional[bool] = None,
    **arguments: Any,
) -> "Pipeline":
    """
    A trained model, which is called with a text and gives the record that `seal predict` gives.

    ```python
    srl = seal.load("english-srl")
    srl("My neighbour sold his old car.")  # a record; a notebook shows it as a picture
    ```

    It needs AllenNLP, which is imported by the first call. The archive is opened as safely as by the command.

    # Parameters

    name : `str`
        An archive or the folder of a run; if no file has this name, that of a model that comes with the package, such
        as `english-srl`; or `hf://USER/MODEL`.
    device : `str`, `int` or `torch.device`, optional (default = `None`)
        `"cuda"`, `"cuda:1"` or a GPU's number; `None`, `"cpu"` or -1 for the CPU.
    split_sentences : `bool`, optional (default = `None`)
        Whether a text is split into sentences. `None`: where the model reads English sentences.
    arguments :
        Those of the task's predictor, as `--predictor-args` takes them, such as `energy=True`.

    # Raises

    `ValueError` (`seal.tasks.base.InputError`) if there is no such model or device, it is none that can be opened, or
    an argument is wrong; `FileNotFoundError` for a path.
    """
    with lazy(*LAZY):
        from seal.tasks.base import pipeline
    return pipeline.load(name, device, split_sentences, **arguments)
