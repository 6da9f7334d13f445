import logging

import pytest
import torch
from allennlp.common import Params
from allennlp.training import Checkpointer

from seal.training import ResumableCheckpointer


class OneTrainer:
    def __init__(self, epochs, batches):
        self.counts = {"epochs_completed": epochs, "batches_in_epoch_completed": batches}

    def get_checkpoint_state(self):
        from allennlp.training.trainer import TrainerCheckpoint

        return TrainerCheckpoint({"weight": torch.arange(1000.0)}, dict(self.counts))


@pytest.fixture
def checkpointer(tmp_path):
    made = ResumableCheckpointer(str(tmp_path), keep_most_recent_by_count=3)
    for counts in ((0, 2), (1, 0), (1, 1)):
        made.save_checkpoint(OneTrainer(*counts))
    return made


def names(found):
    return [path.rpartition("/")[2] for path in found]


def test_the_newest(checkpointer):
    assert names(checkpointer.find_latest_checkpoint()) == ["model_state_e1_b1.th", "training_state_e1_b1.th"]


@pytest.mark.parametrize("kind", ["model_state", "training_state"])
@pytest.mark.parametrize("size", [0, 1, 100, 0.5, -1])
def test_a_torn_file_is_passed_over_and_removed(checkpointer, tmp_path, caplog, kind, size):
    file = tmp_path / f"{kind}_e1_b1.th"
    content = file.read_bytes()
    file.write_bytes(content[: int(size * len(content)) if 0 < size < 1 else size])
    with caplog.at_level(logging.WARNING):
        found = names(checkpointer.find_latest_checkpoint())
    assert found == ["model_state_e1_b0.th", "training_state_e1_b0.th"]
    assert "incomplete or damaged checkpoint" in caplog.text
    # AllenNLP never writes over a file: left behind, the torn one would count as the new one.
    assert not list(tmp_path.glob("*_e1_b1.th"))
    checkpointer.save_checkpoint(OneTrainer(1, 1))
    assert checkpointer.load_checkpoint().trainer_state["batches_in_epoch_completed"] == 1


@pytest.mark.parametrize("kind", ["model_state", "training_state"])
@pytest.mark.parametrize("place, damage", [(0.5, 1), (0.5, 4096), (0.02, 1), (0.98, 1), (0.0, 1)])
def test_a_damaged_file_is_passed_over(checkpointer, tmp_path, caplog, kind, place, damage):
    """A flipped byte, or a page of zeros."""
    file = tmp_path / f"{kind}_e1_b1.th"
    content = bytearray(file.read_bytes())
    start = min(int(place * len(content)), len(content) - damage) if damage < len(content) else 0
    end = start + damage
    content[start:end] = bytes(len(content[start:end])) if damage > 1 else bytes([content[start] ^ 0xFF])
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        found = names(checkpointer.find_latest_checkpoint())
    # What torch pads its parts with has no meaning, and no checksum.
    padding = found == ["model_state_e1_b1.th", "training_state_e1_b1.th"] and "damaged" not in caplog.text
    assert padding or found == ["model_state_e1_b0.th", "training_state_e1_b0.th"]
    if padding:
        assert torch.equal(torch.load(tmp_path / "model_state_e1_b1.th")["weight"], torch.arange(1000.0))
        assert torch.load(tmp_path / "training_state_e1_b1.th")["batches_in_epoch_completed"] == 1


def test_a_flipped_bit_of_a_weight_is_seen(checkpointer, tmp_path):
    """Which torch would load."""
    file = tmp_path / "model_state_e1_b1.th"
    content = bytearray(file.read_bytes())
    weights = torch.arange(1000.0).numpy().tobytes()
    content[content.index(weights) + 2000] ^= 1
    file.write_bytes(content)
    assert not torch.equal(torch.load(file)["weight"], torch.arange(1000.0))
    assert names(checkpointer.find_latest_checkpoint())[0] == "model_state_e1_b0.th"


def test_a_missing_half(checkpointer, tmp_path):
    (tmp_path / "training_state_e1_b1.th").unlink()
    (tmp_path / "training_state_e1_b0.th").unlink()
    assert names(checkpointer.find_latest_checkpoint()) == ["model_state_e0_b2.th", "training_state_e0_b2.th"]


def test_nothing_whole(checkpointer, tmp_path):
    for file in tmp_path.glob("model_state*"):
        file.write_bytes(b"")
    assert checkpointer.find_latest_checkpoint() is None
    assert checkpointer.load_checkpoint() is None


def test_other_workers_look_and_do_not_touch(checkpointer, tmp_path):
    (tmp_path / "model_state_e1_b1.th").write_bytes(b"")
    checkpointer._rank = 1
    assert names(checkpointer.find_latest_checkpoint())[0] == "model_state_e1_b0.th"
    assert (tmp_path / "training_state_e1_b1.th").exists()


def test_a_config_that_names_no_type_means_this_one(tmp_path):
    made = Checkpointer.from_params(Params({"save_every_num_batches": 3}), serialization_dir=str(tmp_path))
    assert type(made) is ResumableCheckpointer and made._save_every_num_batches == 3
    plain = Checkpointer.from_params(Params({"type": "default"}), serialization_dir=str(tmp_path))
    assert type(plain) is Checkpointer


def test_all_workers_save_at_the_same_batches(tmp_path):
    """All take part in a checkpoint, and the first writes it."""

    class Worker:
        def __init__(self, rank):
            self.place, self.saved, self.rank = (0, 0), [], rank

        def get_checkpoint_state(self):
            self.saved.append(self.place)
            return None if self.rank else OneTrainer(*self.place).get_checkpoint_state()

    workers = [Worker(0), Worker(1)]
    for worker in workers:
        made = ResumableCheckpointer(str(tmp_path), save_every_num_batches=3)
        made._rank = worker.rank
        for worker.place in [(0, batch) for batch in range(1, 8)] + [(1, batch) for batch in range(8)]:
            made.maybe_save_checkpoint(worker, *worker.place)
    assert workers[0].saved == workers[1].saved == [(0, 3), (0, 6), (1, 0), (1, 3), (1, 6)]
