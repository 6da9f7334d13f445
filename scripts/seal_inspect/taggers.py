"""Loads a tagger with its data, for several sub-commands."""

import argparse
from collections.abc import Iterator
from typing import Any

from allennlp.common.checks import ConfigurationError

from seal.output_spaces import TagSequence
from seal.tasks.base import SealModel
from seal_inspect.archives import archive_of, loader_of


class Tagger:
    """
    A trained model of tag sequences, and data with gold tags.

    # Parameters

    args : `argparse.Namespace`
        The arguments of `seal_inspect.archives.add_arguments`.
    command : `str`
        The sub-command, for messages.
    in_order : `bool`, optional (default = `False`)
        Whether the sentences keep the order of the file.

    # Raises

    `ConfigurationError` if the model's outputs are not tag sequences.
    """

    def __init__(self, args: argparse.Namespace, command: str, in_order: bool = False) -> None:
        archive = archive_of(args)
        model = archive.model.eval()
        if not isinstance(model, SealModel) or not isinstance(model.output_space, TagSequence):
            raise ConfigurationError(
                f"{args.archive_file}: '{command}' is for taggers, whose output_space is a tag sequence, not "
                f"{type(model).__name__}."
            )
        self.model = model
        self.names = model.output_space.labels
        self._input_file = args.input_file
        self._loader = loader_of(archive, args.input_file, in_order)

    def batches(self) -> Iterator[dict[str, Any]]:
        """Yields the batches. Raises a `ConfigurationError` if there is no sentence, or no gold."""
        empty = True
        for batch in self._loader:
            if batch.get("tags") is None:
                raise ConfigurationError(f"{self._input_file}: the data have no tags.")
            empty = False
            yield batch
        if empty:
            raise ConfigurationError(f"{self._input_file}: there is no sentence.")
