"""The cost-augmented net `stacked`: a small function of the task-net's output and gold."""

from typing import Optional

import torch
from allennlp.modules import Seq2SeqEncoder

from seal.common.precision import in_full_precision
from seal.nets.cost_augmented_net import CostAugmentedNet
from seal.output_spaces import OutputSpace
from seal.registry import ConfigurationError


@CostAugmentedNet.register("stacked")
class StackedNet(CostAugmentedNet):
    """
    A small function of the task-net's relaxed output and gold, `q([A(x)_t ; y_t])` for each position `t` (Tu, Pang &
    Gimpel 2020, section 3.1). `F^c` differs little from `A`, and gold shows where the cost is. `A(x)` is a constant
    here, so that the loss of `F^c` trains `q` alone, and no weight of the task-net.

    If all labels are one position, as in a label set, `q` sees all of them.

    # Parameters

    output_space, task_net_dim : given by the model.
    encoder : `Seq2SeqEncoder`, optional (default = `None`)
        An encoder over the positions, below the linear layer of `q`; in the paper a BiLSTM is as good as none. Its
        input size is twice the number of labels. `None`: `q` is the linear layer.
    pretrained_file : `str`, optional (default = `None`)
        As in `CostAugmentedNet`.

    # Raises

    `ConfigurationError` if the encoder's input size is another one.
    """

    takes_constants = True

    def __init__(
        self,
        output_space: OutputSpace,
        task_net_dim: int,
        encoder: Optional[Seq2SeqEncoder] = None,
        pretrained_file: Optional[str] = None,
    ) -> None:
        super().__init__(pretrained_file)
        self.output_space = output_space
        size = 2 * output_space.num_labels
        if encoder is not None and encoder.get_input_dim() != size:
            raise ConfigurationError(
                f"cost_augmented_net.encoder: its input size must be {size}, twice the number of labels, not "
                f"{encoder.get_input_dim()}."
            )
        self._encoder = encoder
        self._head = torch.nn.Linear(size if encoder is None else encoder.get_output_dim(), output_space.num_labels)

    def forward(self, inputs, task_net, gold, mask=None):
        space = self.output_space
        output = space.relax(task_net.logits.detach(), mask)
        # `stack` relaxes gold, too, whatever its form. shape: (batch, 2, *structure)
        both = space.stack(output, gold.unsqueeze(1))
        features = torch.cat([both[:, 0], both[:, 1]], dim=-1)
        if self._encoder is not None:
            features = self._encoder(features, mask)
        return in_full_precision(self._head, features)
