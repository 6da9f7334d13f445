"""What a run leaves in its folder."""

import pytest
from allennlp.commands import train
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.training import TrainerCallback

from tests.training.runs import config


@TrainerCallback.register("refusing_batches")
class Refusing(TrainerCallback):
    """Refuses what it is given once training has begun."""

    def on_batch(self, *args, **kwargs) -> None:
        raise ConfigurationError("no batch")


def refused(folder, **more):
    with pytest.raises(ConfigurationError):
        train.train_model(Params(config("cross_entropy", **more)), str(folder))


@pytest.mark.parametrize("exists", [False, True])
def test_a_config_that_is_refused_leaves_nothing_and_the_corrected_command_runs(tmp_path, allennlp_logging, exists):
    folder = tmp_path / "run"
    if exists:
        folder.mkdir()
    refused(folder, trainer__task_net__grad_norm=-1.0)
    assert folder.exists() == exists and not list(tmp_path.glob("run/*"))
    train.train_model(Params(config("cross_entropy")), str(folder))
    assert (folder / "model.tar.gz").exists()
    # What is there already is nobody else's to remove.
    refused(folder)
    assert (folder / "model.tar.gz").exists()


def test_a_run_that_had_begun_keeps_its_logs(tmp_path, allennlp_logging):
    refused(tmp_path / "run", trainer__callbacks=["refusing_batches"])
    assert (tmp_path / "run" / "out.log").exists() and (tmp_path / "run" / "config.json").exists()


def test_namespaces_are_written_in_order(tmp_path):
    names = ["*tags", "zebra", "*labels", "apple", "mango"]
    vocabulary = Vocabulary(counter={"apple": {"a": 1}}, non_padded_namespaces=names)
    vocabulary.save_to_files(str(tmp_path))
    assert (tmp_path / "non_padded_namespaces.txt").read_text().split() == sorted(vocabulary._non_padded_namespaces)
    assert Vocabulary.from_files(str(tmp_path)).get_vocab_size("apple") == 1
