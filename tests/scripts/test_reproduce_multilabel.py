"""scripts/reproduce.py --suite multilabel: configs, scores against slow ones, tables, and whole runs."""

import pandas
import pytest

from scripts import reproduce
from scripts.measure import configs, family_tables, results, tables
from scripts.measure.files import read_json
from scripts.measure.runner import Runner, tolerance
from scripts.measure.suite import Settings, all_families, all_suites
from scripts.measure.suites import multilabel
from seal_inspect.significance import Comparison
from tests.scripts.trained_here import trained_here
from tests.scripts.written_configs import ROOT, assert_kept, evaluated

TINY = ["--suite", "multilabel", "--seeds", "1", "--epochs", "1", "--methods", "cross_entropy,nce"]
TINY += ["--settings", "nce:num_samples=3,batch_size=64"]

SUITES = all_suites()
FAMILY = all_families()["multilabel"]
DATASETS = sorted(FAMILY.suites(SUITES))


# Configs.


@pytest.mark.parametrize("dataset", ["sample", "bibtex"])
def test_configs_are_those_of_training_configs(dataset):
    suite = FAMILY.suites(SUITES)[dataset]
    prefix = "multilabel_" if dataset == "sample" else f"{dataset}/"
    paths = {name: ROOT / "training_configs" / f"{prefix}{name}.jsonnet" for name in suite.methods}
    kept = {name: path for name, path in paths.items() if path.is_file()}
    assert_kept(suite, kept)
    assert len(kept) >= 12


def test_every_method_and_data_set_of_the_library_is_there():
    names = "[std.objectFields(lib.data), std.objectFields(lib.method_for.sample)]"
    known = configs.library_value("multilabel.libsonnet", names)
    # These two need inputs without labels, which the suite does not have.
    methods = {*SUITES["multilabel_sample"].methods, "self_training", "distilled"}
    assert [DATASETS, sorted(methods)] == [sorted(names) for names in known]


def test_settings_reach_the_config_and_one_methods_go_first():
    settings = configs.parse_settings("nce:energy_weight=7, energy_weight=2,weight_decay=0,patience=1+2")
    more = dict(configs.settings_of("nce", settings))
    assert more == {"energy_weight": "7", "weight_decay": "0", "patience": "1+2"}
    assert dict(configs.settings_of("margin", settings))["energy_weight"] == "2"
    method = SUITES["multilabel_bibtex"].methods["nce"]
    config = evaluated(method.write(Settings(3, 5, 1.0, more=tuple(more.items()))))
    assert config["model"]["task_loss"]["energy_weight"] == 7
    assert config["trainer"]["patience"] == 3 and config["trainer"]["num_epochs"] == 5
    assert config["random_seed"] == 3
    assert configs.parse_settings("a=[1, 2],b=3") == {"a": "[1, 2]", "b": "3"}
    energies = "tagging.energies(tagging.whole.ge_b)"
    assert configs.parse_settings(f"energies={energies}", "tagging") == {"energies": energies}


def test_only_scores_of_random_starts_may_differ_from_trainings():
    for more, expected in ({}, {"nce_energy"}), ({"restarts": 2}, {"spen", "dvn", "nce_energy"}):
        methods = SUITES["multilabel_bibtex"].methods
        made = {method: multilabel.GRID.config("bibtex", method, more) for method in methods}
        assert {name for name, config in made.items() if tolerance(config) > 1} == expected
    assert tolerance({"model": {"inference": {"start": "draw"}}}) > 1
    for inference in ({"start": "zeros"}, "gradient_based_inference", None):
        assert tolerance({"model": {"inference": inference}}) < 1


# Scores, tables, figure.


def made_up(datasets=("bibtex", "genbase"), methods=("cross_entropy", "spen", "nce"), seeds=(1, 2)):
    """Cross-entropy scores 40, the others 2 and 4 more; a point more on the second data set and seed."""
    rows = []
    for place, dataset in enumerate(datasets):
        for index, method in enumerate(methods):
            for seed in seeds:
                run = (f"multilabel_{dataset}", dataset, method, seed)
                value = 40 + 2 * index * (place + 1) + seed
                for metric, more in (("f1", 0), ("f1_tuned", 10)):
                    rows.append((*run, "valid", metric, value + more))
                train = {"parameters": 3e6, "prediction_parameters": 1e6, "seconds_per_epoch": 2.5}
                train.update(epochs=30, best_epoch=20, examples_per_second=12345)
                rows += [(*run, "train", metric, fact) for metric, fact in train.items()]
    return pandas.DataFrame(rows, columns=results.COLUMNS)


def comparisons_of(p_value):
    found = Comparison(1.0, p_value)
    return {"multilabel_bibtex": {("valid", "nce", "f1"): found}}


def test_the_tables_are_those_of_the_papers():
    lines = tables.page(SUITES, made_up(), comparisons_of(0.01), [], {}, "", [FAMILY]).splitlines()
    start = lines.index("### valid: Example F1 as predicted")
    assert lines[start + 2 : start + 10] == [
        "| method | bibtex | genbase | mean gain | without genbase |",
        "| :-- | --: | --: | --: | --: |",
        "| **Feed-forward** |  |  |  |  |",
        "| cross-entropy | 41.50 ± 0.71 | 41.50 ± 0.71 | – | – |",
        "| **Energy only, gradient-based inference** |  |  |  |  |",
        "| SPEN | 43.50 ± 0.71 | 45.50 ± 0.71 | +3.00 | +2.00 |",
        "| **SEAL-dynamic** |  |  |  |  |",
        "| NCE | 45.50 ± 0.71 † | 49.50 ± 0.71 | +6.00 | +4.00 |",
    ]
    assert "### valid: Example F1 at the threshold tuned on valid" in lines
    assert "| bibtex: NCE | SEAL-dynamic | 3.00 M | 1.00 M | 2.5 | 30 | 20 | 12,345 |" in lines


def test_the_mean_gain_is_over_data_sets_that_have_every_method():
    table = made_up()
    table = table[~((table["dataset"] == "genbase") & (table["method"] == "nce"))]
    page = "\n".join(family_tables.sections(FAMILY, SUITES, table, comparisons_of(0.2)))
    assert "| bibtex | genbase | mean gain (bibtex) |" in page
    assert "| NCE | 45.50 ± 0.71 | – | +4.00 |" in page and "†" not in page


def test_what_a_single_change_of_a_method_does_has_a_table():
    table = made_up()
    static = table[table["method"] == "nce"].copy()
    static["method"], static["value"] = "static_nce", static["value"] - 0.5
    static = static[(static["dataset"] == "bibtex") | (static["seed"] == 2)]
    lines = family_tables.sections(FAMILY, SUITES, pandas.concat([table, static]), comparisons_of(0.2))
    steps = lines[lines.index("#### valid: Example F1 as predicted, after less before") + 1]
    assert steps.splitlines() == [
        "| before → after, same seeds | bibtex | genbase |",
        "| :-- | --: | --: |",
        "| **A loss-net that moves** |  |  |",
        "| static NCE → NCE | +0.50 ± 0.00 | +0.50 |",
    ]
    without = "\n".join(family_tables.sections(FAMILY, SUITES, table, comparisons_of(0.2)))
    assert "after less before" not in without


# The user's mistakes.


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--datasets", "bibtexx"], ["bibtexx", "bibtex, "]),
        (["--fraction", "0.5"], ["--fraction"]),
        (["--splits", "valid,dev"], ["dev", "test"]),
        (["--settings", "energy_wait=1"], ["energy_wait", "energy_weight"]),
        (["--settings", "seed=1"], ["seed", "--seeds"]),
        (["--settings", "nse:energy_weight=1"], ["nse", "nce"]),
        (["--settings", "margin:num_samples=5"], ["margin:num_samples"]),
        (["--settings", "noise=2", "--methods", "margin,nce"], ["noise"]),
        (["--suite", "srl_sample", "--datasets", "bibtex"], ["--datasets", "srl_sample"]),
        (["--suite", "srl_sample", "--settings", "epochs=1"], ["--settings", "--epochs"]),
    ],
)
def test_mistakes_end_in_a_sentence(arguments, words, tmp_path, capsys):
    assert reproduce.main(["--suite", "multilabel", *arguments, "--out", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and message.count("\n") == 1
    assert all(word in message for word in words)
    assert not list(tmp_path.iterdir())


# Whole runs.


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    with trained_here():
        assert reproduce.main([*TINY, "--out", str(out)]) == 0
    return out


def test_test_is_scored_when_asked_and_nothing_is_trained_again(whole, monkeypatch):
    folder = whole / "runs" / "multilabel_sample-nce-1"
    before = read_json(folder / "result.json")
    assert set(before["metrics"]) == {"valid", "train"}
    assert "test" not in set(pandas.read_csv(whole / "results.csv")["split"])
    assert not (folder / "frames_test.csv.gz").exists()
    rows = (folder / "frames_valid.csv.gz").read_bytes()

    def no_training(*_, **__):
        pytest.fail("a trained run was trained")

    monkeypatch.setattr(Runner, "_train", no_training)
    # A kill after the rows were written and before the result was: they are written again.
    (folder / "frames_test.csv.gz").write_bytes(b"")
    for _ in range(2):
        assert reproduce.main([*TINY, "--splits", "valid,test", "--out", str(whole)]) == 0
    after = read_json(folder / "result.json")
    assert list(after["metrics"]) == ["valid", "test", "train"]
    assert {key: after["metrics"][key] for key in ("valid", "train")} == before["metrics"]
    assert (folder / "frames_valid.csv.gz").read_bytes() == rows
    assert len(pandas.read_csv(folder / "frames_test.csv.gz")) > 100
    page = (whole / "results.md").read_text(encoding="utf-8")
    assert page.index("### valid: Example F1 as predicted") < page.index("### test: Example F1 as predicted")
    for word in ("cross-entropy", "data/multilabel_sample/test.arff", "mean gain", "examples a second"):
        assert word in page
    assert (whole / "results_multilabel.png").stat().st_size > 10_000
    # Without the option again: what was scored stays in the tables.
    monkeypatch.setattr(Runner, "finish", no_training)
    assert reproduce.main([*TINY, "--out", str(whole)]) == 0
    assert "test" in set(pandas.read_csv(whole / "results.csv")["split"])


def test_scores_are_those_of_the_saved_rows_and_of_training(whole):
    for method in ("cross_entropy", "nce"):
        folder = whole / "runs" / f"multilabel_sample-{method}-1"
        result = read_json(folder / "result.json")
        assert (result["suite"], result["dataset"]) == ("multilabel_sample", "sample")
        metrics, rows = result["metrics"]["valid"], pandas.read_csv(folder / "frames_valid.csv.gz")
        of_structure = {name for name in SUITES["multilabel_sample"].metrics if name.endswith(("_own", "_decided"))}
        assert set(SUITES["multilabel_sample"].metrics) - of_structure <= set(metrics)
        for name in ("f1", "f1_tuned"):
            assert metrics[name] == pytest.approx(100 * rows[name].mean(), abs=1e-3)
        trained = read_json(folder / "model" / "metrics.json")
        for name in ("f1", "f1_tuned", "f1_per_label", "macro_f1_tuned", "mean_average_precision"):
            assert metrics[name] == pytest.approx(trained[f"best_validation_{name}"], abs=1e-3)
        assert metrics["f1_tuned"] >= metrics["f1"]


def test_the_nets_are_counted(whole):
    cross_entropy, nce = (
        read_json(whole / "runs" / f"multilabel_sample-{name}-1" / "result.json")["metrics"]["train"]
        for name in ("cross_entropy", "nce")
    )
    assert cross_entropy["parameters"] == cross_entropy["prediction_parameters"]
    assert nce["prediction_parameters"] == cross_entropy["parameters"] < nce["parameters"]
    assert nce["examples_per_second"] > 0
