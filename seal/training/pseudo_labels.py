"""The unlabelled data of self-training: inputs, instances or rows of tables, with the teacher's outputs as gold."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.tqdm import Tqdm
from allennlp.data import Batch, DataLoader, Instance, TensorDict
from allennlp.nn.util import move_to_device

from seal.common.length_groups import length_groups, size_of
from seal.files.atomic_files import atomic_write
from seal.tasks.base import SealModel
from seal.tasks.base.tensor_loader import TensorTable
from seal.training.loaders import RowLoader, input_of, inputs_of_rows, instances_of, with_instances

# The batch sizes of the teacher: instances, and rows.
_BATCH, _ROWS = 64, 512


@dataclass
class UnlabelledInstances:
    """Unlabelled instances, sentences or texts, for self-training."""

    #: The instances, which are indexed.
    instances: list[Instance]

    def __len__(self) -> int:
        return len(self.instances)

    @classmethod
    def read(
        cls,
        model: SealModel,
        reader: Any,
        data_loader: DataLoader,
        path: Optional[str],
        plain_text: bool,
        own: bool,
    ) -> "UnlabelledInstances":
        """
        Reads the instances of a file, or with `plain_text` of its lines, without those whose words are in the training
        data. With `own` it adds the instances of the training data.
        """
        gold = _gold(data_loader)
        inputs = [instance for instance in gold if model.takes_pseudo_labels(instance)] if own else []
        if path is None:
            return cls(inputs)
        known = {input_of(instance) for instance in gold}
        for instance in Tqdm.tqdm(reader.read_inputs(path, plain_text), desc="reading unlabelled"):
            if model.takes_pseudo_labels(instance) and input_of(instance) not in known:
                instance.index_fields(model.vocab)
                inputs.append(instance)
        return cls(inputs)

    @staticmethod
    def num_gold(data_loader: DataLoader) -> int:
        return len(_gold(data_loader))

    def expanded(self, path: str, model: SealModel) -> "UnlabelledInstances":
        """
        Replaces each instance that needs expansion (`SealModel.needs_expansion`) by the teacher's expansions, which are
        saved in the file `path`.
        """
        waiting = UnlabelledInstances([instance for instance in self.instances if model.needs_expansion(instance)])
        if not waiting.instances:
            return self
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                expansions = json.load(file)
        else:
            expansions = [[] for _ in waiting.instances]
            for places, batch in waiting.batches(model, "expanding"):
                for place, predicted in zip(places, model.expansions(batch)):
                    expansions[place] = predicted
            with atomic_write(path) as draft, open(draft, "w", encoding="utf-8") as file:
                json.dump(expansions, file)
        expanded = [
            model.expanded(instance, expansion)
            for instance, predicted in zip(waiting.instances, expansions)
            for expansion in predicted
        ]
        return UnlabelledInstances(
            [instance for instance in self.instances if not model.needs_expansion(instance)] + expanded
        )

    def batches(self, model: SealModel, doing: str = "teaching") -> Iterator[tuple[list[int], TensorDict]]:
        """
        Yields batches of inputs of similar length, with their indices. It sets the model to evaluation mode.
        """
        model.eval()
        device = next(model.parameters()).device
        words: Any = [instance["tokens"] for instance in self.instances]
        sizes = [size_of([token.text for token in tokens]) for tokens in words]
        for places in Tqdm.tqdm(list(length_groups(sizes, _BATCH)), desc=doing):
            batch = Batch([self.instances[place] for place in places]).as_tensor_dict()
            yield places, move_to_device(batch, device)

    def student_data(
        self, data_loader: DataLoader, model: SealModel, repeats: int, outputs: list[torch.Tensor]
    ) -> DataLoader:
        """A loader of the instances of `data_loader`, `repeats` times, and of the inputs with their `outputs`."""
        gold = _gold(data_loader)
        return with_instances(data_loader, PseudoLabelledInstances(model, gold * repeats, self.instances, outputs))


class PseudoLabelledInstances(Sequence):
    """
    A sequence of instances with gold, followed by inputs with the teacher's outputs, `(samples, *output)` for each.
    Each pass chooses one output of each input at random.
    """

    def __init__(
        self, model: SealModel, gold: list[Instance], inputs: list[Instance], outputs: list[torch.Tensor]
    ) -> None:
        self._model, self._gold, self._inputs, self._outputs = model, gold, inputs, outputs

    def __len__(self) -> int:
        return len(self._gold) + len(self._inputs)

    def __getitem__(self, place: Any) -> Any:
        if place < len(self._gold):
            return self._gold[place]
        return self._labelled(place - len(self._gold), 0)

    def __iter__(self) -> Iterator[Instance]:
        yield from self._gold
        chosen = torch.rand(len(self._inputs)).tolist()
        for place, (share, outputs) in enumerate(zip(chosen, self._outputs)):
            yield self._labelled(place, int(share * len(outputs)))

    def _labelled(self, place: int, draw: int) -> Instance:
        return self._model.pseudo_labelled(self._inputs[place], self._outputs[place][draw].long())


def _gold(data_loader: DataLoader) -> list[Instance]:
    return instances_of(
        data_loader,
        "trainer.self_training: the training data are kept in memory; leave data_loader.max_instances_in_memory out.",
    )


@dataclass
class UnlabelledRows:
    """Unlabelled rows of tables, feature vectors, for self-training."""

    #: Tables with features in the order of the model's vocabulary, each with the numbers of its rows that are inputs.
    parts: list[tuple[TensorTable, numpy.ndarray]]

    def __len__(self) -> int:
        return sum(len(rows) for _, rows in self.parts)

    @classmethod
    def read(
        cls,
        model: SealModel,
        reader: Any,
        data_loader: RowLoader,
        path: Optional[str],
        plain_text: bool,
        own: bool,
    ) -> "UnlabelledRows":
        """
        Reads the rows of a file, without those whose features are in the training data. With `own` it adds the rows of
        the training data.
        """
        if plain_text:
            raise ConfigurationError("trainer.self_training.plain_text: feature vectors are no text; leave it out.")
        gold, gold_rows = data_loader.table_and_rows()
        parts = [(gold, gold_rows.numpy())] if own else []
        if path is not None:
            table = reader.read_inputs(path)
            table.index_with(model.vocab)
            known = set(inputs_of_rows(gold, gold_rows.numpy()))
            new = [number not in known for number in inputs_of_rows(table, numpy.arange(len(table)))]
            parts.append((table, numpy.flatnonzero(new)))
        return cls(parts)

    def features(self, places: numpy.ndarray) -> torch.Tensor:
        """The features of the inputs at the sorted indices `places`: `(places, features)`."""
        features, start = [], 0
        for table, rows in self.parts:
            inside = places[(places >= start) & (places < start + len(rows))] - start
            batch: Any = table.batch(rows[inside])
            features.append(batch["features"])
            start += len(rows)
        return torch.cat(features)

    @staticmethod
    def num_gold(data_loader: RowLoader) -> int:
        return data_loader.num_rows

    def expanded(self, path: str, model: SealModel) -> "UnlabelledRows":
        """Returns the rows unchanged: they need no expansion."""
        return self

    def batches(self, model: SealModel) -> Iterator[tuple[list[int], TensorDict]]:
        """Yields batches of inputs with their indices. It sets the model to evaluation mode."""
        model.eval()
        device = next(model.parameters()).device
        for places in Tqdm.tqdm(torch.arange(len(self)).split(_ROWS), desc="teaching"):
            yield places.tolist(), move_to_device({"features": self.features(places.numpy())}, device)

    def student_data(
        self, data_loader: RowLoader, model: SealModel, repeats: int, outputs: list[torch.Tensor]
    ) -> DataLoader:
        """A loader of the rows of `data_loader`, `repeats` times, and of the inputs with their `outputs`."""
        gold, rows = data_loader.table_and_rows()
        return data_loader.with_table(
            PseudoLabelledTable(gold, rows.repeat(repeats).numpy(), self, torch.stack(outputs))
        )


class PseudoLabelledTable(TensorTable):
    """
    A table of rows with gold, followed by inputs with the teacher's outputs. Each pass chooses one output of each input
    at random.

    # Parameters

    gold : `TensorTable`
    gold_rows : `numpy.ndarray`
        Numbers of rows of `gold`; repetitions are allowed.
    inputs : `UnlabelledRows`
    outputs : `torch.Tensor`, `(inputs, samples, labels)`
    """

    def __init__(
        self, gold: TensorTable, gold_rows: numpy.ndarray, inputs: UnlabelledRows, outputs: torch.Tensor
    ) -> None:
        parts = [(gold, gold_rows), *inputs.parts]
        super().__init__({}, gold.columns, [table.source[row] for table, rows in parts for row in rows])
        self._gold, self._gold_rows, self._inputs, self._outputs = gold, gold_rows, inputs, outputs
        self._chosen = torch.zeros(len(outputs), dtype=torch.long)

    def start_pass(self) -> None:
        self._chosen = (torch.rand(len(self._outputs)) * self._outputs.shape[1]).long()

    def batch(self, rows: numpy.ndarray) -> dict[str, torch.Tensor]:
        """The given rows, reordered: the rows with gold come first."""
        is_gold = rows < len(self._gold_rows)
        batch = self._gold.batch(self._gold_rows[rows[is_gold]])
        input_numbers = numpy.sort(rows[~is_gold]) - len(self._gold_rows)
        labelled = {"features": self._inputs.features(input_numbers)}
        places = torch.from_numpy(input_numbers)
        labelled["labels"] = self._outputs[places, self._chosen[places]].float()
        return {name: torch.cat([values, labelled[name]]) for name, values in batch.items()}
