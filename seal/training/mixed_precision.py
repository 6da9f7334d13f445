"""Mixed precision on a CPU, which AllenNLP does not support."""

from typing import Optional, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import int_to_device


def uses_cpu_autocast(model: torch.nn.Module, use_amp: bool, cuda_device: Optional[Union[int, torch.device]]) -> bool:
    """
    Whether the run uses mixed precision on a CPU.

    # Raises

    `ConfigurationError` if `cuda_device` is not a device, or the model has an LSTM and the CPU has none in bfloat16
    (it is oneDNN's).
    """
    # `FromParams` passes anything but a number on unchecked, as a `torch.device`.
    if cuda_device is not None and not isinstance(cuda_device, (int, torch.device)):
        raise ConfigurationError(
            f"trainer.cuda_device: the number of a GPU, or -1 for the CPU, not {cuda_device!r}; several are named in "
            "distributed.cuda_devices, beside trainer."
        )
    # If the config names no device, AllenNLP takes a GPU where it finds one.
    on_cpu = not torch.cuda.is_available() if cuda_device is None else int_to_device(cuda_device).type == "cpu"
    if not (use_amp and on_cpu):
        return False
    if any(isinstance(module, torch.nn.LSTM) for module in model.modules()) and not has_bfloat16_lstms():
        raise ConfigurationError(
            "trainer.use_amp: this processor has no LSTM in bfloat16 (PyTorch needs avx512 for one); leave use_amp "
            "out, train on a GPU, or take an encoder without an LSTM."
        )
    return True


def has_bfloat16_lstms() -> bool:
    """Whether PyTorch can run an LSTM in mixed precision on this processor."""
    try:
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            torch.nn.LSTM(1, 1)(torch.zeros(1, 1, 1))
    except RuntimeError:
        return False
    return True
