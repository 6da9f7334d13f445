"""scripts/reproduce.py --suite citations: its configs and, where the data are, a whole run."""

import pandas
import pytest

from scripts import reproduce
from scripts.measure.files import read_json
from scripts.measure.suite import all_suites
from scripts.measure.suites import citations
from tests.scripts.trained_here import trained_here
from tests.scripts.written_configs import ROOT, assert_kept, evaluated, settings_of, with_every_argument

SUITES = {name: suite for name, suite in all_suites().items() if suite.family == "citations"}

needs_cora = pytest.mark.skipif(not (ROOT / "data" / "cora_citation").exists(), reason="data/cora_citation is not here")


@pytest.mark.parametrize("name", ["citations_cora_10"])  # Methods are the same on all data.
def test_every_argument_of_a_method_reaches_its_config(name):
    suite = SUITES[name]
    for method in suite.methods:
        arguments = citations.ARGUMENTS.get(method, ())
        plain, trained = with_every_argument(suite, method, arguments, ("patience", "3"))
        assert trained["trainer"]["patience"] == 3
        # So many references have tags, and dev has all of its own.
        reader = plain["dataset_reader"]
        assert [reader.get("labelled"), reader.get("max_instances")].count(suite_size(name)) == 1
        assert not {"labelled", "max_instances"} & set(plain["validation_dataset_reader"])
    names = suite.setting_names("implicit_rewarded_cd")
    assert {"weights", "num_unlabelled", "solver_steps"} <= set(names) and not {"seed", "epochs"} & set(names)


def test_a_kind_is_given_the_settings_that_it_reads():
    suite = all_suites()["citations_cora_10"]
    given = (("num_unlabelled", "7"), ("batches_per_epoch", "8"), ("batch_size", "9"))
    for method, name in (("cross_entropy", "batches_per_epoch: 8"), ("implicit_rewarded_cd", "num_unlabelled: 7")):
        text = suite.methods[method].write(settings_of(suite, *given))
        assert f"seed: 13, {name} }}" in text and evaluated(text)


def suite_size(name):
    return int(name.rpartition("_")[2])


def test_configs_are_those_of_training_configs():
    folder, alone = ROOT / "training_configs" / "cora", citations.METHODS["Labelled references alone"]
    assert_kept(SUITES["citations_cora_50"], {name: folder / f"{name}.jsonnet" for name in alone})
    assert_kept(SUITES["citations_cora_10"], {"implicit_rewarded_cd": folder / "semi_supervised.jsonnet"})


@needs_cora
def test_a_run_and_its_scores(tmp_path):
    out = tmp_path / "out"
    argv = ["--suite", "citations", "--seeds", "1", "--epochs", "1", "--methods", "cross_entropy,rewarded_cd"]
    with trained_here():
        assert reproduce.main([*argv, "--splits", "dev,test", "--out", str(out)]) == 0
    for method in ("cross_entropy", "rewarded_cd"):
        folder = out / "runs" / f"citations_cora_10-{method}-1"
        told = read_json(folder / "result.json")["metrics"]
        for split, references in (("dev", 30), ("test", 200)):
            rows = pandas.read_csv(folder / f"frames_{split}.csv.gz")
            assert len(rows) == references
            assert told[split]["accuracy"] == pytest.approx(100 * rows["right"].sum() / rows["tokens"].sum())
    assert "### test: Accuracy of tokens" in (out / "results.md").read_text(encoding="utf-8")
