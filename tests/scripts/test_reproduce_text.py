"""scripts/reproduce.py --suite text: configs, options, scores against slow ones, and a whole run."""

import csv
import gzip
from collections import defaultdict
from pathlib import Path

import pytest
from allennlp.common import Params
from sklearn.metrics import f1_score

import seal.plugin  # noqa: F401
from scripts import reproduce
from scripts.measure.files import read_json
from scripts.measure.scores import TrainedRun
from scripts.measure.suite import Settings, all_suites
from scripts.measure.suites import text
from tests.scripts.trained_here import trained_here

ROOT = Path(__file__).resolve().parents[2]
SUITES = all_suites()


def config(tmp_path, dataset, method, encoder=None, more=()):
    settings = Settings(3, 2, 1.0, encoder, tuple(more))
    path = tmp_path / "config.jsonnet"
    path.write_text(SUITES[f"text_{dataset}"].methods[method].write(settings), encoding="utf-8")
    return Params.from_file(str(path)).as_dict(quiet=True)


@pytest.mark.parametrize("method", text.METHODS)
def test_a_config_is_that_of_training_configs(tmp_path, method):
    found = config(tmp_path, "sample", method)
    assert found["trainer"]["num_epochs"] == 2 and found["random_seed"] == 3
    if method == "nce_shared":
        assert "encoder" not in found["model"]["loss_net"]
        return
    expected = Params.from_file(str(ROOT / "training_configs" / f"text_{method}.jsonnet")).as_dict(quiet=True)
    for params in (found, expected):
        params["trainer"].pop("num_epochs")
        for name in ("random_seed", "numpy_seed", "pytorch_seed"):
            params.pop(name)
    assert found == expected


def test_settings_reach_method_encoder_and_training(tmp_path):
    more = {"num_samples": "7", "max_length": "64", "adapters": "{ dim: 8 }", "batch_size": "5"}
    found = config(tmp_path, "reuters", "nce", "some/model", more.items())
    assert found["model"]["sampler"]["num_samples"] == 7 and found["dataset_reader"]["max_tokens"] == 64
    for net in ("task_net", "loss_net"):
        assert found["model"][net]["encoder"]["adapters"] == {"dim": 8}
    assert found["data_loader"]["batch_sampler"]["batch_size"] == 5
    assert found["dataset_reader"]["tokenizer"]["model_name"] == "some/model"
    known = SUITES["text_reuters"].setting_names("nce")
    assert set(more) <= set(known) and not {"seed", "epochs"} & set(known)
    assert "num_samples" not in SUITES["text_reuters"].setting_names("margin")
    assert "adapters" not in SUITES["text_sample"].setting_names("nce")


def test_settings_of_the_network_from_scratch(tmp_path):
    more = [
        ("vectors", "'words.txt'"),
        ("vector_words", "9"),
        ("word_dim", "7"),
        ("filters", "5"),
        ("max_length", "11"),
    ]
    found = config(tmp_path, "reuters", "nce", more=more)
    assert found["vocabulary"]["pretrained_files"] == {"tokens": "words.txt"}
    assert found["vocabulary"]["min_pretrained_embeddings"] == {"tokens": 9}
    assert found["dataset_reader"]["max_tokens"] == 11
    for net in ("task_net", "loss_net"):
        encoder = found["model"][net]["encoder"]
        words = encoder["embedder"]["token_embedders"]["tokens"]
        assert (words["pretrained_file"], words["embedding_dim"]) == ("words.txt", 7)
        assert (encoder["encoder"]["embedding_dim"], encoder["encoder"]["num_filters"]) == (7, 5)
    assert found["trainer"]["task_net"]["optimizer"]["lr"] == 3e-3


def test_a_run_and_its_scores(tmp_path):
    arguments = ["--suite", "text", "--seeds", "1", "--epochs", "1", "--methods", "nce"]
    with trained_here():
        assert reproduce.main([*arguments, "--splits", "test", "--out", str(tmp_path)]) == 0
    folder = tmp_path / "runs" / "text_sample-nce-1"
    result = read_json(folder / "result.json")
    assert list(result["metrics"]) == ["dev", "test", "train"]
    of_structure = {name for name in SUITES["text_sample"].metrics if name.endswith(("_own", "_decided"))}
    assert set(SUITES["text_sample"].metrics) - of_structure <= set(result["metrics"]["test"])
    rows = list(csv.DictReader(gzip.open(folder / "frames_test.csv.gz", "rt")))
    sums = defaultdict(float)
    for row in rows:
        for name, value in row.items():
            sums[name] += 0 if name == "source" else float(value)
    assert len({row["source"] for row in rows}) == len(rows) == sums["rows"] == 200
    run = TrainedRun(folder / "model")
    pairs, _, _ = run.pass_over(
        str(ROOT / "data" / "text_sample" / "test.jsonl"),
        lambda batch, output: zip(batch["labels"].tolist(), output["probabilities"].tolist()),
    )
    gold = [labels for labels, _ in pairs]
    threshold = float(run.model.tuned_threshold)
    for suffix, limit in (("", 0.5), ("_tuned", threshold)):
        predicted = [[value >= limit for value in row] for _, row in pairs]
        expected = 100 * f1_score(gold, predicted, average="micro", zero_division=1)
        statistic = SUITES["text_sample"].statistics[f"micro_f1{suffix}"]
        assert statistic.value(sums) == pytest.approx(expected)
        assert result["metrics"]["test"][f"micro_f1{suffix}"] == pytest.approx(expected, abs=1e-4)
