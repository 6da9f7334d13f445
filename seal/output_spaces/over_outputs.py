from typing import Any

import torch

from seal.output_spaces.output_space import OutputSpace


class OverOutputs(torch.nn.Module):
    """
    A net, or a term of one, that may keep its model's output space as an attribute. The space is a submodule of the
    model alone, so that its parameters are in no net. Weights that were saved when it was a submodule of the net, as
    `output_space`, still load.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, OutputSpace):
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def _load_from_state_dict(self, state_dict, prefix, *others) -> None:
        for name in [name for name in state_dict if name.startswith(f"{prefix}output_space.")]:
            del state_dict[name]
        super()._load_from_state_dict(state_dict, prefix, *others)
