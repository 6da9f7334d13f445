"""scripts/reproduce.py --suite tagging: its configs, its scores against slow ones, and a whole run."""

import pandas
import pytest

from scripts import reproduce
from scripts.measure import family_tables
from scripts.measure.files import read_json
from scripts.measure.suite import all_suites
from scripts.measure.suites import tagging
from tests.scripts.trained_here import trained_here
from tests.scripts.written_configs import ROOT, assert_kept, evaluated, settings_of, with_every_argument

SUITES = {name: suite for name, suite in all_suites().items() if suite.family == "tagging"}


@pytest.mark.parametrize("name", ["tagging_sample"])  # Methods are the same on all data.
def test_every_argument_of_a_method_reaches_its_config(name):
    suite = SUITES[name]
    for method in suite.methods:
        arguments = tagging.ARGUMENTS.get(method, ())
        _, trained = with_every_argument(suite, method, arguments, ("patience", "3"))
        assert trained["trainer"]["patience"] == 3
    names = tagging.setting_names(suite.dataset, "compound_stacked")
    assert {"perceptron_weight", "energies", "task_net_lr"} <= set(names) and not {"seed", "epochs"} & set(names)


def test_configs_are_those_of_training_configs():
    suite = SUITES["tagging_twitter_pos"]
    # End-to-end SPENs have a config for the sample alone.
    names = set(suite.methods) - {"spen_end_to_end"}
    assert_kept(suite, {name: ROOT / "training_configs" / "twitter_pos" / f"{name}.jsonnet" for name in names})
    assert len(names) == 18


def test_an_encoder_of_choice_has_its_own_rates():
    suite = SUITES["tagging_wnut17"]
    config = evaluated(suite.methods["nce"].write(settings_of(suite, encoder="a/b")))
    assert config["model"]["task_net"]["encoder"]["model_name"] == "a/b"
    assert config["trainer"]["task_net"]["optimizer"]["lr"] == 5e-5 and config["trainer"]["num_epochs"] == 20


def test_settings_of_the_bilstm():
    suite = SUITES["tagging_twitter_pos"]
    more = [("vectors", "'words.txt'"), ("word_dim", "7"), ("vector_words", "9"), ("hidden", "5"), ("layers", "2")]
    config = evaluated(suite.methods["nce"].write(settings_of(suite, *more, ("characters", "3"))))
    assert config["vocabulary"]["pretrained_files"] == {"tokens": "words.txt"}
    assert config["vocabulary"]["min_pretrained_embeddings"] == {"tokens": 9}
    for net in ("task_net", "loss_net"):
        encoder = config["model"][net]["encoder"]
        words = encoder["embedder"]["token_embedders"]["tokens"]
        assert (words["pretrained_file"], words["embedding_dim"]) == ("words.txt", 7)
        assert encoder["encoder"]["input_size"] == 7 + 2 * 3
        assert (encoder["encoder"]["hidden_size"], encoder["encoder"]["num_layers"]) == (5, 2)
    assert set(tagging.ENCODERS.of_words) <= set(tagging.setting_names(suite.dataset, "nce"))


def test_settings_of_a_transformer():
    suite = SUITES["tagging_wnut17"]
    config = evaluated(suite.methods["nce"].write(settings_of(suite, ("max_length", "64"), encoder="a/b")))
    assert config["dataset_reader"]["token_indexers"]["tokens"]["max_length"] == 64
    for net in ("task_net", "loss_net"):
        assert config["model"][net]["encoder"]["max_length"] == 64


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("tagging") / "out"
    argv = ["--suite", "tagging", "--seeds", "1", "--epochs", "1", "--methods", "cross_entropy,compound_stacked"]
    with trained_here():
        assert reproduce.main([*argv, "--splits", "dev,test", "--out", str(out)]) == 0
    return out


def test_a_run_its_scores_and_its_tables(finished):
    table = pandas.read_csv(finished / "results.csv")
    for method in ("cross_entropy", "compound_stacked"):
        folder = finished / "runs" / f"tagging_sample-{method}-1"
        told = read_json(folder / "result.json")["metrics"]
        for split in ("dev", "test"):
            rows = pandas.read_csv(folder / f"frames_{split}.csv.gz")
            sums = rows.drop(columns="source").sum()
            # The model's own metrics, from the counts of single sentences.
            assert told[split]["accuracy"] == pytest.approx(100 * sums["right"] / sums["tokens"])
            assert told[split]["f1"] == pytest.approx(200 * sums["correct"] / (sums["predicted"] + sums["gold"]))
            lines = (ROOT / f"data/tagging_sample/{split}.tsv").read_text().splitlines()
            assert sums["tokens"] == sum(bool(line.strip()) for line in lines)
    train = table[table["split"] == "train"].pivot(index="method", columns="metric", values="value")
    alone, stacked = train.loc["cross_entropy"], train.loc["compound_stacked"]
    # F^c and the loss-net are trained; neither predicts.
    assert alone["parameters"] == alone["prediction_parameters"] == stacked["prediction_parameters"]
    assert stacked["parameters"] > 2 * alone["parameters"]
    page = (finished / "results.md").read_text(encoding="utf-8")
    assert "### test: F1 of entities" in page and "compound, stacked" in page
    assert (finished / "results_tagging.png").stat().st_size > 1000


def test_tags_that_are_not_spans_have_no_table_of_f1(finished):
    """A model of parts of speech tells its accuracy as `f1`, too."""
    spans = pandas.read_csv(finished / "results.csv")
    words = spans.assign(suite="tagging_twitter_pos", dataset="twitter_pos")
    assert "f1" in set(words["metric"])
    page = "\n".join(family_tables.sections(tagging.FAMILIES[0], SUITES, words, {}))
    assert "### test: Accuracy of tokens" in page and "F1" not in page
    page = "\n".join(family_tables.sections(tagging.FAMILIES[0], SUITES, pandas.concat([spans, words]), {}))
    start = page.index("### test: F1 of entities")
    assert "twitter_pos" not in page[start : page.index("### Training")]
