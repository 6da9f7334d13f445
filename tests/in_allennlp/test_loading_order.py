"""The order in which loading processes give instances and batches."""

import random
import time

import pytest
from allennlp.data import DatasetReader, Instance, Token, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.fields import MetadataField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from seal.allennlp.loading_order import WorkerQueues, go_to_place, place_in_pass


class Slow(DatasetReader):
    """Numbers from 0 to 9. One process is slower than the other, and another one at each pass."""

    slow = 0

    def __init__(self) -> None:
        super().__init__(manual_distributed_sharding=False, manual_multiprocess_sharding=False)

    def _read(self, file_path):
        for number in range(10):
            worker = self.get_worker_info()
            if worker is not None and worker.id == self.slow:
                time.sleep(0.01)
            yield Instance({"text": TextField([Token("a")]), "metadata": MetadataField((number, random.random()))})

    def apply_token_indexers(self, instance):
        instance["text"].token_indexers = {"tokens": SingleIdTokenIndexer()}


def loader_of(slow: int, **settings) -> MultiProcessDataLoader:
    reader = Slow()
    reader.slow = slow
    random.seed(5)
    loader = MultiProcessDataLoader(reader, "numbers", batch_size=2, num_workers=2, quiet=True, **settings)
    loader.index_with(Vocabulary())
    return loader


def numbers(loader) -> list:
    return [batch["metadata"] for batch in loader]


IN_PARTS = [{"max_instances_in_memory": 2}, {"max_instances_in_memory": 4, "shuffle": True}]


@pytest.mark.parametrize("settings", [{}, *IN_PARTS])
def test_the_order_does_not_depend_on_which_process_is_faster(settings):
    first = numbers(loader_of(0, **settings))
    assert sorted(number for batch in first for number, _ in batch) == list(range(10))
    # Neither does what the processes draw.
    assert numbers(loader_of(1, **settings)) == first


def test_processes_take_turns():
    class Queue:
        def __init__(self, *items):
            self.items, self.done = [*((item, None) for item in items), (None, None)], 0

        def get(self):
            return self.items.pop(0)

        def task_done(self):
            self.done += 1

    queues = [Queue(1, 2, 3), Queue(10)]
    turns, found = WorkerQueues(list(queues)), []
    for _ in queues:
        for item, _ in iter(turns.get, (None, None)):
            found.append(item)
            turns.task_done()
    assert found == [1, 10, 2, 3]
    # Each process waits until its end, too, is counted.
    turns.task_done()
    turns.task_done()
    assert [queue.done for queue in queues] == [4, 2]
    with pytest.raises(ValueError):
        turns.task_done()


def test_a_place_in_a_pass():
    settings = {"batches_per_epoch": 3, "shuffle": True}
    whole = loader_of(0, **settings)
    assert place_in_pass(whole) is None
    epochs = [numbers(whole) for _ in range(4)]
    stopped = loader_of(0, **settings)
    before = [numbers(stopped) for _ in range(2)]
    place, state = place_in_pass(stopped), random.getstate()
    later = loader_of(0, **settings)
    go_to_place(later, place)
    random.setstate(state)
    assert before + [numbers(later) for _ in range(2)] == epochs
