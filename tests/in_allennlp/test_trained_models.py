import tarfile

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.allennlp.trained_models import trained_weights
from tests.spine import LABELS, vocabulary


@pytest.fixture
def run(tmp_path):
    """The folder of a run, with the weights of the best epoch and of the last one."""
    folder = tmp_path / "run"
    vocabulary(namespace="my_tags").save_to_files(str(folder / "vocabulary"))
    torch.save({"a": torch.ones(2)}, folder / "best.th")
    torch.save({"a": torch.zeros(2)}, folder / "weights.th")
    return folder


def archive_of(run):
    path = run.parent / "model.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        # The names are AllenNLP's; an archive has no best.th.
        archive.add(run / "best.th", "weights.th")
        archive.add(run / "vocabulary", "vocabulary")
    return path


@pytest.mark.parametrize("place", [lambda run: run, archive_of])
def test_the_best_weights_of_a_folder_or_an_archive(run, place):
    found = trained_weights(str(place(run)), "key", "my_tags", LABELS)
    assert found.keys() == {"a"} and torch.equal(found["a"], torch.ones(2))


@pytest.mark.parametrize(
    "place, labels, folder",
    [
        (lambda run: run, LABELS[:-1], "/run"),
        (lambda run: run, LABELS[::-1], "/run/vocabulary"),
        (archive_of, LABELS[::-1], "RUN/vocabulary"),
    ],
)
def test_other_labels_are_refused(run, place, labels, folder):
    with pytest.raises(ConfigurationError, match=f"^model.x: .*{folder}"):
        trained_weights(str(place(run)), "model.x", "my_tags", labels)


def test_what_is_no_model(run, tmp_path):
    (tmp_path / "text.tar.gz").write_text("no archive")
    damaged = archive_of(run)
    damaged.write_bytes(damaged.read_bytes()[:200])
    (run / "best.th").unlink()
    (run / "weights.th").unlink()
    for path in (tmp_path / "nowhere", tmp_path / "text.tar.gz", damaged, run):
        with pytest.raises(ConfigurationError, match="^model.x: "):
            trained_weights(str(path), "model.x", "my_tags", LABELS)


def test_copies_of_the_output_space_in_nets_of_older_models_are_left_out(run):
    names = ("output_space.a", "loss_net.energies.0.output_space.a", "loss_net.energies.0.b")
    torch.save({name: torch.ones(1) for name in names}, run / "best.th")
    assert list(trained_weights(str(run), "key", "my_tags", LABELS)) == [names[0], names[2]]
