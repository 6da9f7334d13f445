import csv

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive
from allennlp.training.util import evaluate

from seal.dataset_readers.tensor_loader import TensorLoader
from tests.multilabel import DESCENT, LOSS_NET, run_settings, seal_parts, write_data
from tests.training.runs import KillAt, build, comparable, config, kill_and_recover, put, same, weights

PLAYER = {"optimizer": {"type": "adam", "lr": 0.05}}
REFINED = {**DESCENT, "start": "task_net"}
SAMPLERS = {"refined": REFINED, "drawn": {**DESCENT, "start": "draw"}, "random": {**DESCENT, "start": "random"}}
ENERGY_ONLY = {"loss_net": LOSS_NET, "sampler": DESCENT, "energy_loss": {"type": "margin"}, "inference": DESCENT}


def settings_of(folder, callbacks=("trace_inference",), epochs=3, model=None, **more):
    players = {"task_net": PLAYER, "loss_net": PLAYER}
    settings = run_settings(
        write_data(folder),
        model or seal_parts(),
        {"batch_size": 2, "shuffle": True},
        num_epochs=epochs, validation_metric="+f1", callbacks=list(callbacks), **players,
    )  # fmt: skip
    for key, value in more.items():
        put(settings, key, value)
    return settings


def tracing(**samplers):
    return {"type": "trace_inference", "samplers": samplers}


def read(folder):
    with (folder / "inference.csv").open() as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def evaluated(folder, overrides):
    """The metrics of the run's archive on its data."""
    archive = load_archive(folder / "run" / "model.tar.gz", overrides=overrides)
    loader = TensorLoader(archive.validation_dataset_reader, str(folder / "fruit.arff"), batch_size=2)
    loader.index_with(archive.model.vocab)
    return evaluate(archive.model, loader)


@pytest.mark.parametrize("average", [None, {"type": "exponential", "decay": 0.5}])
def test_a_row_is_what_evaluating_with_this_inference_gives(tmp_path, average):
    """The archive has the weights, averaged or not, of the one epoch."""
    settings = settings_of(tmp_path, [tracing(refined=REFINED)], epochs=1, trainer__moving_average=average)
    train_model(Params(settings), str(tmp_path / "run"))
    (row,) = read(tmp_path / "run")
    expected = evaluated(tmp_path, {"model.inference": REFINED})
    plain = evaluated(tmp_path, {})
    names = ["f1", "micro_f1", "macro_f1", "macro_f1_all", "subset_accuracy", "mean_average_precision"]
    assert set(row) == {"epoch", "batches", *(f"refined_{name}" for name in names)}
    assert (row["epoch"], row["batches"]) == (0, 3)
    for name in names:
        assert row[f"refined_{name}"] == pytest.approx(expected[name])
    # Inference changes something, else the comparison would show nothing.
    assert any(plain[name] != pytest.approx(expected[name]) for name in names)


def test_nothing_else_is_moved(tmp_path):
    """Neither weights nor draws of the training, thresholds, or metrics."""
    found = []
    for name, callbacks in (("plain", []), ("traced", [tracing(**SAMPLERS)])):
        more = {"trainer__validation_metric": "+f1_tuned"}
        trainer = build(settings_of(tmp_path, ["tune_thresholds", *callbacks], **more), tmp_path / name)
        metrics = trainer.train()
        assert trainer.model.inference is None
        found.append((weights(trainer.model), comparable(metrics)))
    assert same(found[0][0], found[1][0]) and bool(found[0][0]["is_tuned"])
    assert found[0][1] == found[1][1]
    rows = read(tmp_path / "traced")
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    # Scored with the thresholds, too, which are the task-net's.
    assert {"refined_f1_tuned", "drawn_f1_tuned", "random_f1_per_label"} < set(rows[0])


def test_by_default_from_draws_and_from_random_points(tmp_path):
    build(settings_of(tmp_path), tmp_path / "run").train()
    rows = read(tmp_path / "run")
    assert len(rows) == 3 and {"from_draw_f1", "from_random_f1"} < set(rows[0])
    assert all(0 <= value <= 100 for row in rows for name, value in row.items() if name.startswith("from_"))


def test_a_model_without_a_task_net_and_an_inference_of_its_own(tmp_path):
    settings = settings_of(tmp_path, [tracing(same=DESCENT)], model=ENERGY_ONLY, trainer__task_net=...)
    metrics = build(settings, tmp_path / "run").train()
    assert read(tmp_path / "run")[-1]["same_f1"] == pytest.approx(metrics["validation_f1"])


@pytest.mark.parametrize("batch", [4, 5, 8])
def test_a_recovered_run_has_the_rows_of_an_uninterrupted_one(tmp_path, batch):
    more = {"trainer__checkpointer": {"save_every_num_batches": 1}}
    settings = settings_of(tmp_path, [tracing(**SAMPLERS)], **more)
    build(settings, tmp_path / "whole").train()
    kill_and_recover(settings, tmp_path / "killed", KillAt(batch))
    assert (tmp_path / "killed" / "inference.csv").read_text() == (tmp_path / "whole" / "inference.csv").read_text()


@pytest.mark.parametrize(
    "more, message",
    [
        ({"model": {"task_net": seal_parts()["task_net"]}, "trainer__loss_net": ...}, "is for models with a loss_net"),
        ({"model": ENERGY_ONLY, "trainer__task_net": ...}, "sampler 'from_draw': .* as set reads"),
        ({"callbacks": [tracing(a={**DESCENT, "start": "gold"})]}, "sampler 'a': .* does not predict"),
        ({"callbacks": [tracing(a={"type": "discrete", "num_samples": 2})]}, "sampler 'a': .* does not predict"),
        ({"callbacks": [tracing()]}, "'trace_inference': samplers names none"),
        ({"validation_data_path": ...}, "'trace_inference' scores the validation data; give validation_data_path"),
    ],
)
def test_mistakes_end_in_a_sentence(tmp_path, more, message):
    with pytest.raises(ConfigurationError, match=message):
        build(settings_of(tmp_path, **more), tmp_path / "run").train()


def test_a_model_that_predicts_by_its_task_net_alone(tmp_path):
    settings = config(trainer__callbacks=["trace_inference"])
    with pytest.raises(ConfigurationError, match="sampler 'from_draw': .*SrlModel predicts by its task-net alone"):
        build(settings, tmp_path).train()
