"""Data loaders whose data are in memory: their instances or rows, and the same loader for others."""

import copy
from collections.abc import Sequence
from typing import Any, Optional, Protocol, runtime_checkable

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader, DatasetReader, Instance
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.fields import TextField

from seal.models import SealModel


@runtime_checkable
class RowLoader(Protocol):
    """A data loader of rows of a table, as the loader `tensors`."""

    reader: DatasetReader

    @property
    def num_rows(self) -> int: ...

    def with_rows(self, places: torch.Tensor) -> DataLoader: ...

    def with_table(self, table: Any) -> DataLoader: ...

    def table_and_rows(self) -> tuple[Any, torch.Tensor]: ...

    def check_for_scores(self) -> None: ...


def instances_of(data_loader: DataLoader, otherwise: str) -> list[Instance]:
    """The instances of a loader that has them in memory; if it has not, an error with the message `otherwise`."""
    instances = getattr(data_loader, "_instances", None)
    if not isinstance(data_loader, MultiProcessDataLoader) or instances is None:
        raise ConfigurationError(otherwise)
    return instances


def with_instances(data_loader: DataLoader, instances: Sequence[Instance]) -> DataLoader:
    """A data loader of the same settings for other instances."""
    other = copy.copy(data_loader)
    other._instances = instances
    other._batch_generator = None
    return other


def restricted(data_loader: DataLoader, places: list[int]) -> DataLoader:
    """A data loader of the same settings for some of its instances or rows."""
    if isinstance(data_loader, RowLoader):
        return data_loader.with_rows(torch.tensor(places))
    return with_instances(data_loader, [data_loader._instances[place] for place in places])


def input_of(instance: Instance) -> Optional[tuple[str, ...]]:
    """The words of an instance, which has `None` if it has no words."""
    tokens = instance.fields.get("tokens")
    return tuple(token.text for token in tokens) if isinstance(tokens, TextField) else None


def inputs_of(data_loader: DataLoader, otherwise: str) -> list[Any]:
    """
    For each instance or row what tells its input from others: equal ones have the same words. One without words, and a
    row, is told by its place.

    # Raises

    As `instances_of`.
    """
    if isinstance(data_loader, RowLoader):
        return list(range(data_loader.num_rows))
    inputs = [input_of(instance) for instance in instances_of(data_loader, otherwise)]
    return [place if found is None else found for place, found in enumerate(inputs)]


def check_data(model: SealModel, data_loader: DataLoader, validation_data_loader: Optional[DataLoader]) -> None:
    """
    It is an error if the reader of one of the two leaves more to an instance than the model takes, or validation data
    are others in each pass: evaluation would refuse them, too, but after an epoch.
    """
    model.check_reader(getattr(data_loader, "reader", None), "dataset_reader")
    if validation_data_loader is not None:
        model.check_reader(getattr(validation_data_loader, "reader", None), "validation_dataset_reader")
        if isinstance(validation_data_loader, RowLoader):
            validation_data_loader.check_for_scores()
