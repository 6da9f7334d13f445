"""The arguments of sub-commands that load an archived model, and functions that load the model and its data."""

import argparse
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from allennlp.common import Params
from allennlp.common.checks import check_for_gpu
from allennlp.data import Batch, DataLoader, DatasetReader, Instance
from allennlp.models import Model
from allennlp.models.archival import Archive, load_archive
from allennlp.nn.util import move_to_device

import seal.plugin  # noqa: F401


def add_arguments(subparser: argparse.ArgumentParser) -> None:
    """Adds the arguments that all of these sub-commands take."""
    subparser.add_argument("archive_file", type=str, help="path to an archived trained model")
    subparser.add_argument("input_file", type=str, help="path to the data, as the model's reader takes it")
    subparser.add_argument("--output", type=str, required=True, help="the folder for tables and figures")
    subparser.add_argument("--cuda-device", type=int, default=-1, help="id of the GPU to use, if any")
    subparser.add_argument("-o", "--overrides", type=str, default="", help="overrides of the model's config")


def archive_of(args: argparse.Namespace) -> Archive:
    """Loads the archive that `args` name, the arguments of `add_arguments`."""
    check_for_gpu(args.cuda_device)
    return load_archive(args.archive_file, cuda_device=args.cuda_device, overrides=args.overrides)


def loader_of(archive: Archive, input_file: str, in_order: bool = False, quiet: bool = False) -> DataLoader:
    """
    Makes a data loader with the settings of the model's validation. With `in_order`, rows keep the order of the file.
    With `quiet`, it shows no progress bar.
    """
    settings = archive.config.as_dict(quiet=True)
    settings = settings.get("validation_data_loader") or settings["data_loader"]
    # The settings may be the name of a type.
    settings = {"type": settings} if isinstance(settings, str) else deepcopy(settings)
    settings = _in_order(settings) if in_order else settings
    if quiet and settings.get("type") != "tensors":  # The loader `tensors` shows none, and lacks this option.
        settings = {"quiet": True, **settings}
    loader = DataLoader.from_params(Params(settings), reader=archive.validation_dataset_reader, data_path=input_file)
    loader.index_with(archive.model.vocab)
    loader.set_target_device(next(archive.model.parameters()).device)
    return loader


def tensors_of(model: Model, reader: DatasetReader, instances: Sequence[Instance]) -> dict[str, Any]:
    """Makes a batch on the model's device from instances of the reader."""
    for instance in instances:
        reader.apply_token_indexers(instance)
    batch = Batch(instances)
    batch.index_instances(model.vocab)
    return move_to_device(batch.as_tensor_dict(), next(model.parameters()).device)


def _in_order(loader: dict[str, Any]) -> dict[str, Any]:
    """The settings of a loader that keeps the order of the file. A bucket sampler sorts by length."""
    sampler = loader.get("batch_sampler")
    size = (sampler if isinstance(sampler, dict) else loader).get("batch_size") or 32
    return {"batch_size": size, **({"type": "tensors"} if loader.get("type") == "tensors" else {})}
