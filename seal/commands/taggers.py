"""
What sub-commands about taggers share: their arguments, the model with its data, and tables.
"""

import argparse
import csv
from copy import deepcopy
from typing import Any, Dict, Iterable, Iterator

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.data import DataLoader
from allennlp.models.archival import load_archive

from seal.models import SealModel
from seal.output_spaces import TagSequence


def add_arguments(subparser: argparse.ArgumentParser) -> None:
    """What every one of them takes."""
    subparser.add_argument("archive_file", type=str, help="path to an archived trained model")
    subparser.add_argument("input_file", type=str, help="path to the data, as the model's reader takes it")
    subparser.add_argument("--output", type=str, required=True, help="the folder for tables and figures")
    subparser.add_argument("--cuda-device", type=int, default=-1, help="id of the GPU to use, if any")
    subparser.add_argument("-o", "--overrides", type=str, default="", help="overrides of the model's config")


class Tagger:
    """
    A trained model of tag sequences and data with gold.

    # Parameters

    args : `argparse.Namespace`
        Of `add_arguments`.
    command : `str`
        The sub-command, for messages.

    # Raises

    `ConfigurationError` if the model's outputs are no tag sequences.
    """

    def __init__(self, args: argparse.Namespace, command: str) -> None:
        check_for_gpu(args.cuda_device)
        archive = load_archive(args.archive_file, cuda_device=args.cuda_device, overrides=args.overrides)
        model = archive.model.eval()
        if not isinstance(model, SealModel) or not isinstance(model.output_space, TagSequence):
            raise ConfigurationError(
                f"{args.archive_file}: '{command}' is for taggers, whose output_space is a tag sequence, not "
                f"{type(model).__name__}."
            )
        self.model = model
        self.names = model.output_space.labels
        self._input_file, reader = args.input_file, archive.validation_dataset_reader
        settings = archive.config.as_dict(quiet=True)
        settings = deepcopy(settings.get("validation_data_loader") or settings["data_loader"])
        self._loader = DataLoader.from_params(Params(settings), reader=reader, data_path=args.input_file)
        self._loader.index_with(model.vocab)
        self._loader.set_target_device(next(model.parameters()).device)

    def batches(self) -> Iterator[Dict[str, Any]]:
        """
        # Raises

        `ConfigurationError` if there is none, or data have no gold.
        """
        empty = True
        for batch in self._loader:
            if batch.get("tags") is None:
                raise ConfigurationError(f"{self._input_file}: the data have no tags.")
            empty = False
            yield batch
        if empty:
            raise ConfigurationError(f"{self._input_file}: there is no sentence.")


def write_table(path: str, header: Iterable[Any], rows: Iterable[Iterable[Any]]) -> None:
    """A CSV; numbers have six digits, and NaN is nothing."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([_cell(value) for value in row] for row in rows)


def write_matrix(path: str, corner: str, names: Iterable[str], matrix: torch.Tensor) -> None:
    """`matrix` with the names of its rows, which are those of its columns."""
    names = list(names)
    write_table(path, [corner, *names], ([name, *row] for name, row in zip(names, matrix.tolist())))


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if value != value else f"{value:.6g}"
    return value
