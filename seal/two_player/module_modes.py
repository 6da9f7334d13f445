from collections.abc import Iterable
from contextlib import contextmanager
from typing import Optional

import torch


@contextmanager
def constant(module: Optional[torch.nn.Module]):
    """Inside, `module` gets no gradient and no dropout; gradients still pass through it to its inputs."""
    if module is None:
        yield
        return
    with without_gradient(module.parameters()), without_dropout(module):
        yield


@contextmanager
def without_gradient(parameters: Iterable[torch.nn.Parameter]):
    """Inside, `parameters` get no gradient."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)


@contextmanager
def without_dropout(*modules: Optional[torch.nn.Module]):
    """Inside, `modules` are in evaluation mode; `None` stands for a net that a model does not have."""
    modes = [(module, module.training) for module in modules if module is not None]
    for module, _ in modes:
        module.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.train(training)
