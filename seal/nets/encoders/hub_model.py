from typing import Optional

import torch
from allennlp.common.checks import ConfigurationError
from transformers import PreTrainedModel

from seal.common.setting_checks import check_range


def positions_of(transformer: PreTrainedModel) -> Optional[int]:
    """
    The maximum number of pieces that a transformer takes at once; `None` where positions are relative, without a
    limit.
    """
    positions = getattr(transformer.config, "max_position_embeddings", None)
    table = getattr(getattr(transformer, "embeddings", None), "position_embeddings", False)
    # XLNet's number is -1; DeBERTa has a number, but None for a table.
    if positions is None or positions < 0 or table is None:
        return None
    padding = getattr(table, "padding_idx", None)
    # RoBERTa's positions begin after that of padding.
    return positions if padding is None else positions - padding - 1


def set_gradient_checkpointing(transformer: PreTrainedModel, wanted: Optional[bool]) -> None:
    """
    Turns gradient checkpointing on or off; `None`: leaves it as it is. AllenNLP sets it in the model's configuration,
    which a model that is built already does not read.

    # Raises

    `ConfigurationError` if it is to be on and the transformer has none.
    """
    if wanted and not transformer.supports_gradient_checkpointing:
        kind = type(transformer).__name__
        raise ConfigurationError(f"encoder.gradient_checkpointing: {kind} has none; leave it out.")
    if wanted:
        # The reentrant form has no second derivatives, and no gradient where the first layers are frozen.
        transformer.gradient_checkpointing_enable({"use_reentrant": False})
    elif wanted is not None:
        transformer.gradient_checkpointing_disable()


def keep_layers(transformer: PreTrainedModel, layers: Optional[int]) -> None:
    """
    Takes away all layers but the first so many; `None`: none. AllenNLP keeps one copy of a model in memory, whatever
    arguments it is asked for with, so it cannot be asked for fewer layers.

    # Raises

    `ConfigurationError` if it has fewer, or its layers are not found.
    """
    if layers is None:
        return
    number = getattr(transformer.config, "num_hidden_layers", None)
    stacks = [
        (parent, name)
        for parent in transformer.modules()
        for name, child in parent.named_children()
        if isinstance(child, torch.nn.ModuleList) and len(child) == number
    ]
    if number is None or len(stacks) != 1:
        raise ConfigurationError(
            f"encoder.layers: {type(transformer).__name__} has no one stack of layers; leave it out."
        )
    check_range("encoder.layers", layers, least=1, most=number)
    ((parent, name),) = stacks
    setattr(parent, name, getattr(parent, name)[:layers])
    transformer.config.num_hidden_layers = layers
