from collections.abc import Iterator
from typing import Optional

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.tqdm import Tqdm
from allennlp.data import DataLoader, DatasetReader, TensorDict
from allennlp.nn.util import move_to_device

from seal.dataset_readers.tensor_table import TensorTable
from seal.models import SealModel
from seal.training.loaded_data import RowLoader, inputs_of_rows

_BATCH = 512


class InputRows:
    """
    Inputs for self-training that are rows of tables: feature vectors.

    # Parameters

    parts : `list[tuple[TensorTable, numpy.ndarray]]`
        Tables with features in the order of the model's vocabulary, and of each the numbers of the rows that are
        inputs.
    """

    def __init__(self, parts: list[tuple[TensorTable, numpy.ndarray]]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(len(rows) for _, rows in self.parts)

    @classmethod
    def read(
        cls,
        model: SealModel,
        reader: DatasetReader,
        data_loader: RowLoader,
        path: Optional[str],
        plain_text: bool,
        own: bool,
    ) -> "InputRows":
        """
        The rows of a file whose features no row of the training data has; with `own` the rows of the training data,
        too.
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
        """The features of the inputs at `places`, which rise: `(places, features)`."""
        found, start = [], 0
        for table, rows in self.parts:
            inside = places[(places >= start) & (places < start + len(rows))] - start
            found.append(table.batch(rows[inside])["features"])
            start += len(rows)
        return torch.cat(found)

    @staticmethod
    def num_gold(data_loader: RowLoader) -> int:
        return data_loader.num_rows

    def answered(self, path: str, model: SealModel) -> "InputRows":
        """Feature vectors ask for nothing."""
        return self

    def batches(self, model: SealModel) -> Iterator[tuple[list[int], TensorDict]]:
        """Batches of inputs with the places of these; the model is put in evaluation mode."""
        model.eval()
        device = next(model.parameters()).device
        for places in Tqdm.tqdm(torch.arange(len(self)).split(_BATCH), desc="teaching"):
            yield places.tolist(), move_to_device({"features": self.features(places.numpy())}, device)

    def student_data(
        self, data_loader: RowLoader, model: SealModel, repeats: int, outputs: list[torch.Tensor]
    ) -> DataLoader:
        """A loader of the gold of `data_loader`, `repeats` times, and of inputs with one of their `outputs`."""
        gold, rows = data_loader.table_and_rows()
        return data_loader.with_table(TaughtTable(gold, rows.repeat(repeats).numpy(), self, torch.stack(outputs)))


class TaughtTable(TensorTable):
    """
    Rows with gold, and after them inputs whose labels are the teacher's. Each pass draws for each input one of its
    outputs anew.

    # Parameters

    gold : `TensorTable`
    gold_rows : `numpy.ndarray`
        Numbers of rows of `gold`, of which some may be there several times.
    inputs : `InputRows`
    outputs : `torch.Tensor`, `(inputs, draws, labels)`
    """

    def __init__(self, gold: TensorTable, gold_rows: numpy.ndarray, inputs: InputRows, outputs: torch.Tensor) -> None:
        parts = [(gold, gold_rows), *inputs.parts]
        super().__init__({}, gold.columns, [table.source[row] for table, rows in parts for row in rows])
        self._gold, self._gold_rows, self._inputs, self._outputs = gold, gold_rows, inputs, outputs
        self._chosen = torch.zeros(len(outputs), dtype=torch.long)

    def start_pass(self) -> None:
        self._chosen = (torch.rand(len(self._outputs)) * self._outputs.shape[1]).long()

    def batch(self, rows: numpy.ndarray) -> TensorDict:
        """The given rows, those with gold first."""
        is_gold = rows < len(self._gold_rows)
        batch = self._gold.batch(self._gold_rows[rows[is_gold]])
        places = numpy.sort(rows[~is_gold]) - len(self._gold_rows)
        taught = {"features": self._inputs.features(places)}
        places = torch.from_numpy(places)
        taught["labels"] = self._outputs[places, self._chosen[places]].float()
        return {name: torch.cat([values, taught[name]]) for name, values in batch.items()}
