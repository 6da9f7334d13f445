"""What a run records of its training, and whether its config still evaluates to the same."""

import json
import os
import re
from types import SimpleNamespace

import pytest
from allennlp.common import Params

from scripts.measure import machine, provenance
from scripts.measure.runner import first_epochs
from scripts.measure.runs import Run
from scripts.measure.suite import Method, UserError
from seal.tasks.base.sentence_pieces import ALONE, IN_SENTENCE, INDEXER

CONFIG = 'local lib = import "../../training_configs/lib/a.libsonnet";\nlib.experiment(1)\n'
LIBRARY = """{
  experiment(seed):: { z: { type: 't', rate: 0.1, items: [1, { b: 2 }] }, model: { c: null }, seed: seed },
}
"""
TOO_MANY = "model.c, model.d0, model.d1, model.d2, model.d3 and 2 more keys"


# What is noted.


@pytest.fixture
def at(monkeypatch):
    monkeypatch.setattr(machine, "torch_version", lambda: "2.0")
    monkeypatch.setattr(machine, "machine", lambda: "a computer")
    return lambda commit: monkeypatch.setattr(machine, "commit", lambda: commit)


def commits(folder):
    return [training.get("commit") for training in provenance.trainings(folder)]


def test_a_training_that_goes_on_is_noted_beside_the_first(at, tmp_path):
    for commit, recover, expected in [
        ("a", False, ["a"]),
        ("b", True, ["a", "b"]),
        ("c", False, ["c"]),
    ]:
        at(commit)
        provenance.note_training(tmp_path, recover)
        assert commits(tmp_path) == expected
    (noted,) = provenance.trainings(tmp_path)
    assert (noted["torch"], noted["machine"]) == ("2.0", "a computer")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", noted["begun"])


def test_a_training_goes_on_with_the_epoch_after_its_checkpoint(at, tmp_path):
    at("a")
    (tmp_path / "model").mkdir()
    # The last one was being written when its process was killed.
    whole = [f"{kind}_state_{name}" for kind in ("model", "training") for name in ("e2_b0", "e10_b3")]
    for name in [*whole, "model_state_e11_b0"]:
        (tmp_path / "model" / f"{name}.th").touch()
    for recover in (False, True):
        provenance.note_training(tmp_path, recover)
    assert [training["first_epoch"] for training in provenance.trainings(tmp_path)] == [0, 10]
    # Older records have none.
    assert first_epochs(tmp_path) == {0, 10}
    (tmp_path / "run.json").write_text('{"trainings": [{}, {"commit": "a"}]}')
    assert first_epochs(tmp_path) == set()


def test_the_facts_are_of_all_runs(tmp_path):
    noted = {
        "one": [{"commit": "b", "torch": "2.0", "machine": "m", "begun": "2026-03-04T05:06:07Z"}],
        "two": [
            {"commit": "b", "torch": "2.0", "machine": "m", "begun": "2026-03-02T05:06:07Z"},
            {"commit": "a, with changes", "torch": "2.0", "machine": "m", "begun": "2026-03-03T05:06:07Z"},
            {"commit": "b", "torch": "2.0", "machine": "m", "begun": "2026-03-03T08:06:07Z"},
        ],
    }
    for name, found in noted.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps({"trainings": found}))
    folders = [tmp_path / name for name in ("one", "two", "old")]
    unknown = "unknown (before runs recorded it), 1 run"
    assert provenance.facts(folders) == {
        "commits of the runs": f"a, with changes, 1 run; b, 2 runs; {unknown}",
        "torch of the runs": f"2.0, 2 runs; {unknown}",
        "machines of the runs": f"m, 2 runs; {unknown}",
        "training began": "2026-03-02 to 2026-03-04",
    }
    assert provenance.facts(folders[:1])["training began"] == "2026-03-04"
    assert "training began" not in provenance.facts(folders[2:])
    assert provenance.facts([]) == {}


# What has changed since.


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A run's folder as `allennlp train` leaves it, and a function that rewrites the library of its config."""
    library = tmp_path / "training_configs" / "lib" / "a.libsonnet"
    library.parent.mkdir(parents=True)
    monkeypatch.setattr(provenance, "LIBRARY_FOLDER", library.parent)
    folder = tmp_path / "runs" / "suite-nce-1"
    (folder / "model").mkdir(parents=True)
    (folder / "config.jsonnet").write_text(CONFIG)
    times = iter(range(1, 100))

    def write(text):
        library.write_text(text)
        os.utime(library, ns=(0, next(times)))

    write(LIBRARY)
    Params.from_file(folder / "config.jsonnet").to_file(folder / "model" / "config.json")
    return SimpleNamespace(folder=folder, write=write, library=library)


def test_the_default_of_pieces_is_no_change(begun):
    begun.write(LIBRARY.replace("c: null", f"c: {{ type: '{INDEXER}' }}"))
    path = begun.folder / "model" / "config.json"
    config = Params.from_file(begun.folder / "config.jsonnet").as_dict()
    config["model"]["c"]["pieces"] = IN_SENTENCE  # As versions before 0.2.0 wrote it.
    Params(config).to_file(path)
    assert provenance.difference(begun.folder) == ""
    path.write_text(path.read_text().replace(IN_SENTENCE, ALONE))
    assert "values of model.c.pieces than" in provenance.difference(begun.folder)


@pytest.mark.parametrize(
    "before, after, keys",
    [
        ("rate: 0.1", "rate: 0.2", "z.rate"),
        ("c: null", "", "model.c"),
        ("rate: 0.1", "rate: 0.1, more: null", "z.more"),
        ("b: 2", "b: 3", "z.items"),
        ("{ c: null }", "[]", "model"),
        ("c: null", "c: { d: 1 }", "model.c"),
        ("c: null", ", ".join(f"d{index}: 1" for index in range(6)), TOO_MANY),
        ("rate: 0.1, items: [1, { b: 2 }]", "k: 0", "z.items, z.k, z.rate"),
    ],
)
def test_the_keys_that_differ_are_named(begun, before, after, keys):
    assert LIBRARY.count(before) == 1
    assert provenance.difference(begun.folder) == ""
    begun.write(LIBRARY.replace(before, after))
    # The cached evaluation is not used once the library has changed.
    told = f"with other values of {keys} than training_configs/lib now gives"
    assert provenance.difference(begun.folder) == told
    assert provenance.changes([begun.folder] * 2) == [f"suite-nce-1, suite-nce-1: trained {told}."]


def test_only_a_training_that_would_go_on_is_refused(begun):
    def check(recovers=True):
        methods = {"nce": Method("NCE", lambda _: CONFIG, recovers=recovers)}
        suite = SimpleNamespace(name="suite", methods=methods)
        Run(suite, "nce", 1, begun.folder, CONFIG, 1, ("dev",)).check_settings()

    state = begun.folder / "model" / "training_state_e1_b0.th"
    state.touch()
    check()
    begun.write(LIBRARY.replace("0.1", "0.2"))
    with pytest.raises(UserError, match=r"z\.rate"):
        check()
    # It begins again whatever it was.
    check(recovers=False)
    state.unlink()
    check()
    # It has ended.
    state.touch()
    (begun.folder / "trained.json").write_text('{"recovered": false}')
    check()
