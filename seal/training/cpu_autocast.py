"""Mixed precision on a CPU, which AllenNLP does not have."""

from typing import Optional, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import int_to_device


def uses_cpu_autocast(model: torch.nn.Module, use_amp: bool, cuda_device: Optional[Union[int, torch.device]]) -> bool:
    """
    Whether mixed precision is that of a CPU. It is an error if the device is none, or the CPU cannot train the model
    so.
    """
    check_device(cuda_device)
    on_cpu = use_amp and trains_on_cpu(cuda_device)
    if on_cpu:
        check_has_lstms(model)
    return on_cpu


def check_device(cuda_device: Optional[Union[int, torch.device]]) -> None:
    # `FromParams` takes anything but a number for a `torch.device`, and passes it on unchecked.
    if cuda_device is not None and not isinstance(cuda_device, (int, torch.device)):
        raise ConfigurationError(
            f"trainer.cuda_device: the number of a GPU, or -1 for the CPU, not {cuda_device!r}; several are named in "
            "distributed.cuda_devices, beside trainer."
        )


def trains_on_cpu(cuda_device: Optional[Union[int, torch.device]]) -> bool:
    """Whether the CPU trains. If the config names no device, AllenNLP takes a GPU where it finds one."""
    return not torch.cuda.is_available() if cuda_device is None else int_to_device(cuda_device).type == "cpu"


def check_has_lstms(model: torch.nn.Module) -> None:
    """`ConfigurationError` if the model has an LSTM and this processor none in bfloat16, which oneDNN may lack."""
    if any(isinstance(module, torch.nn.LSTM) for module in model.modules()) and not has_bfloat16_lstms():
        raise ConfigurationError(
            "trainer.use_amp: this processor has no LSTM in bfloat16 (PyTorch needs avx512 for one); leave use_amp "
            "out, train on a GPU, or take an encoder without an LSTM."
        )


def has_bfloat16_lstms() -> bool:
    """Whether PyTorch can run an LSTM in mixed precision on this processor."""
    try:
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            torch.nn.LSTM(1, 1)(torch.zeros(1, 1, 1))
    except RuntimeError:
        return False
    return True
