import json
import os
from collections.abc import Iterator, Sequence
from typing import Optional

import torch
from allennlp.common.tqdm import Tqdm
from allennlp.data import Batch, DataLoader, DatasetReader, Instance, TensorDict
from allennlp.nn.util import move_to_device

from seal.common.length_groups import length_groups, size_of
from seal.files.whole_files import replacing
from seal.models import SealModel
from seal.training.loaded_data import input_of, instances_of, with_instances

_BATCH = 64


class InputInstances:
    """
    Inputs for self-training that are instances: sentences and texts.

    # Parameters

    instances : `list[Instance]`
        Indexed.
    """

    def __init__(self, instances: list[Instance]) -> None:
        self.instances = instances

    def __len__(self) -> int:
        return len(self.instances)

    @classmethod
    def read(
        cls,
        model: SealModel,
        reader: DatasetReader,
        data_loader: DataLoader,
        path: Optional[str],
        plain_text: bool,
        own: bool,
    ) -> "InputInstances":
        """
        The instances of a file, or of its lines of text, whose words no instance of the training data has; with `own`
        the instances of the training data, too.
        """
        gold = _gold(data_loader)
        inputs = [instance for instance in gold if model.can_be_taught(instance)] if own else []
        if path is None:
            return cls(inputs)
        known = {input_of(instance) for instance in gold}
        for instance in Tqdm.tqdm(reader.read_inputs(path, plain_text), desc="reading unlabelled"):
            if model.can_be_taught(instance) and input_of(instance) not in known:
                instance.index_fields(model.vocab)
                inputs.append(instance)
        return cls(inputs)

    @staticmethod
    def num_gold(data_loader: DataLoader) -> int:
        return len(_gold(data_loader))

    def answered(self, path: str, model: SealModel) -> "InputInstances":
        """
        The inputs, with those that the teacher's answers make in the place of questions; answers are kept in a file.
        """
        questions = InputInstances([instance for instance in self.instances if model.asks(instance)])
        if not questions.instances:
            return self
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                answers = json.load(file)
        else:
            answers = [[] for _ in questions.instances]
            for places, batch in questions.batches(model, "asking the teacher"):
                for place, found in zip(places, model.answers(batch)):
                    answers[place] = found
            with replacing(path) as draft, open(draft, "w", encoding="utf-8") as file:
                json.dump(answers, file)
        made = [
            model.answered(question, answer)
            for question, found in zip(questions.instances, answers)
            for answer in found
        ]
        return InputInstances([instance for instance in self.instances if not model.asks(instance)] + made)

    def batches(self, model: SealModel, doing: str = "teaching") -> Iterator[tuple[list[int], TensorDict]]:
        """
        Batches of inputs of about one length, with the places of these; the model is put in evaluation mode.
        """
        model.eval()
        device = next(model.parameters()).device
        sizes = [size_of([token.text for token in instance["tokens"]]) for instance in self.instances]
        for places in Tqdm.tqdm(list(length_groups(sizes, _BATCH)), desc=doing):
            batch = Batch([self.instances[place] for place in places]).as_tensor_dict()
            yield places, move_to_device(batch, device)

    def student_data(
        self, data_loader: DataLoader, model: SealModel, repeats: int, outputs: list[torch.Tensor]
    ) -> DataLoader:
        """A loader of the gold of `data_loader`, `repeats` times, and of inputs with one of their `outputs`."""
        gold = _gold(data_loader)
        return with_instances(data_loader, TaughtInstances(model, gold * repeats, self.instances, outputs))


class TaughtInstances(Sequence):
    """
    Instances with gold, and inputs whose outputs are the teacher's. Each pass over them draws for each input one of its
    outputs anew.

    # Parameters

    model : `SealModel`
        Makes instances of inputs and outputs.
    gold : `list[Instance]`
    inputs : `list[Instance]`
    outputs : `list[torch.Tensor]`
        For each input `(draws, *output)`.
    """

    def __init__(
        self, model: SealModel, gold: list[Instance], inputs: list[Instance], outputs: list[torch.Tensor]
    ) -> None:
        self._model, self._gold, self._inputs, self._outputs = model, gold, inputs, outputs

    def __len__(self) -> int:
        return len(self._gold) + len(self._inputs)

    def __getitem__(self, place: int) -> Instance:
        if place < len(self._gold):
            return self._gold[place]
        return self._taught(place - len(self._gold), 0)

    def __iter__(self) -> Iterator[Instance]:
        yield from self._gold
        chosen = torch.rand(len(self._inputs)).tolist()
        for place, (share, outputs) in enumerate(zip(chosen, self._outputs)):
            yield self._taught(place, int(share * len(outputs)))

    def _taught(self, place: int, draw: int) -> Instance:
        return self._model.taught(self._inputs[place], self._outputs[place][draw].long())


def _gold(data_loader: DataLoader) -> list[Instance]:
    return instances_of(
        data_loader,
        "trainer.self_training: the training data are kept in memory; leave data_loader.max_instances_in_memory out.",
    )
