import json

import pytest
from allennlp.common.checks import ConfigurationError

from seal.files.runs import read_run
from seal_inspect.runs import MISSING, differences, names_of, settings


def write_run(folder, config, *epochs, **final):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    for number, metrics in enumerate(epochs):
        (folder / f"metrics_epoch_{number}.json").write_text(json.dumps({"epoch": number, **metrics}))
    if final:
        (folder / "metrics.json").write_text(json.dumps(final))
    return str(folder)


EPOCHS = [{"training_loss": 9.0 - n, "best_epoch": min(n, 7), "best_validation_f1": n} for n in range(11)]


def test_epochs_come_in_the_order_of_their_numbers(tmp_path):
    run = read_run(write_run(tmp_path / "a", {}, *EPOCHS), "a")
    # By name, epoch 10 would stand before epoch 2.
    assert run.series("training_loss") == (list(range(1, 12)), [9.0 - n for n in range(11)])
    assert run.best_epoch == 7 and not run.has_ended
    assert run.series("training_duration") == ([], [])


def test_scores_are_those_of_the_end_or_so_far(tmp_path):
    going = read_run(write_run(tmp_path / "a", {}, *EPOCHS), "a")
    assert going.scores == {"validation_f1": 10}
    ended = read_run(write_run(tmp_path / "b", {}, *EPOCHS, best_validation_f1=12, test_f1=11, training_loss=0), "b")
    assert ended.scores == {"validation_f1": 12, "test_f1": 11}


@pytest.mark.parametrize("metric, name", [("+f1", "f1"), (["-loss", "+f1"], "loss"), (..., "loss")])
def test_the_metric_that_chooses_the_epoch(metric, name, tmp_path):
    config = {} if metric is ... else {"trainer": {"validation_metric": metric}}
    assert read_run(write_run(tmp_path / "a", config, {}), "a").validation_metric == name


def test_a_run_is_named_by_its_archive_too(tmp_path):
    folder = write_run(tmp_path / "a", {"x": 1}, {})
    assert read_run(f"{folder}/model.tar.gz", "a").config == {"x": 1}
    assert names_of([f"{folder}/model.tar.gz", f"{folder}2/"]) == ["a", "a2"]


def test_what_is_no_run_is_told(tmp_path):
    with pytest.raises(ConfigurationError, match="none"):
        read_run(str(tmp_path / "none"), "none")
    with pytest.raises(ConfigurationError, match="metrics_epoch_0.json"):
        read_run(str(tmp_path), "empty")
    folder = write_run(tmp_path / "a", {}, {})
    (tmp_path / "a" / "metrics_epoch_1.json").write_text('{"epoch"')
    with pytest.raises(ConfigurationError, match="metrics_epoch_1.json"):
        read_run(folder, "a")
    with pytest.raises(ConfigurationError, match="a"):
        names_of([folder, f"{folder}/model.tar.gz"])


def test_settings_that_differ(tmp_path):
    assert list(settings({"a": {"b": 1, "c": {}}, "d": [{"e": 2}]})) == [("a.b", 1), ("a.c", {}), ("d", [{"e": 2}])]
    configs = {"a": 1, "b": {"c": 2, "d": None}}, {"a": 1, "b": {"c": 3}}
    runs = [read_run(write_run(tmp_path / str(n), config, {}), str(n)) for n, config in enumerate(configs)]
    assert differences(runs) == {"b.c": [2, 3], "b.d": [None, MISSING]}
