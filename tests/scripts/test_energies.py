"""The script that compares lists of energies on what folds have kept."""

import json

import pytest
import torch

from scripts.energies import main
from tests.structure.test_tag_structure import VERB_ROLES, verb_frames


@pytest.fixture
def run(tmp_path):
    config = {"model": {"type": "seal_srl", "output_space": {"type": "crf_tag_sequence", "namespace": "srl_tags"}}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "vocabulary").mkdir()
    (tmp_path / "vocabulary/srl_tags.txt").write_text("\n".join(VERB_ROLES) + "\n")
    for fold in range(3):
        (tmp_path / "folds" / str(fold)).mkdir(parents=True)
        paths = [verb_frames(20, 10 * fold + number) for number in range(4)]
        torch.save([part.record(part.gold) for part in paths], tmp_path / f"folds/{fold}/held_out.pt")
    return tmp_path


def test_it_has_a_row_for_each_list_of_energies(run, capsys):
    assert main([str(run), "--candidates", "2"]) == 0
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert {len(row) for row in rows} == {8}
    scores = {row[0]: [float(cell) for cell in row[1:5]] for row in rows[2:]}
    further = ["token_scores", "span_context", "span_counts"]
    of_roles = ["role_counts", "role_ngrams", "role_sets", "key_roles"]
    assert list(scores) == [
        "the task-net's own",
        "roles and keys alone",
        *(f"and {name}" for name in further),
        "all",
        *(f"all but {name}" for name in of_roles + further),
    ]
    # The verb says which role its object has; the net guesses.
    assert scores["all"] == [100.0, 0.0, 100.0, 100.0]
    assert 30 < scores["the task-net's own"][2] < 70


def test_a_folder_without_folds_is_refused(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "two folds are needed that were scored (folds/*/held_out.pt), found 0." in capsys.readouterr().err
