"""References with and without tags under both trainers, from a config to a prediction."""

import json
from pathlib import Path

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tests.citations import write_references
from tests.training import runs

LIBRARY = Path(__file__).resolve().parents[2] / "training_configs" / "lib" / "citation_tagging.libsonnet"


def settings_of(folder, method, labelled=2, epochs=2, unlabelled=None, **more):
    """Of the library, on our references, and small."""
    data = "{}" if unlabelled is None else f"{{ unlabelled: {json.dumps(unlabelled)}, plain_text: true }}"
    config = folder / "config.jsonnet"
    config.write_text(
        f"local citations = import {json.dumps(str(LIBRARY))};\n"
        f"citations.semi_supervised(data=citations.data.cora + {data}, labelled={labelled}, "
        f"method=citations.method.{method}(num_samples=4), "
        f"training=citations.training + {{ epochs: {epochs}, num_labelled: 2, num_unlabelled: 2 }})",
        encoding="utf-8",
    )
    settings = Params.from_file(str(config)).as_dict(quiet=True)
    path = str(write_references(folder / "references"))
    settings.update(train_data_path=path, validation_data_path=path)
    settings["trainer"]["cuda_device"] = -1
    for key, value in more.items():
        runs.put(settings, key, value)
    return settings


@pytest.mark.parametrize("method", ["rewarded_cd", "implicit_rewarded_cd"])
def test_both_players_learn_from_both_kinds(method, tmp_path):
    ends = []
    for again in range(2):
        trainer = runs.build(settings_of(tmp_path, method), tmp_path / str(again))
        before = runs.weights(trainer.model)
        metrics = trainer.train()
        moved = runs.differing(before, runs.weights(trainer.model))
        assert any(name.startswith("task_net") for name in moved)
        assert any(name.startswith("loss_net") for name in moved)
        assert metrics["training_reward_target"] >= metrics["training_reward_draws"] > 0
        assert metrics["validation_accuracy"] > 0 and ("training_implicit_norm" in metrics) == (
            method == "implicit_rewarded_cd"
        )
        ends.append(runs.weights(trainer.model))
    # All chance is torch's, which is seeded.
    assert runs.same(*ends)


def test_inference_networks_are_measured_against_gold(tmp_path):
    settings = settings_of(tmp_path, "rewarded_cd", trainer__callbacks=["trace_inference_networks"])
    with pytest.raises(ConfigurationError, match="gold"):
        runs.build(settings, tmp_path / "run").train()


@pytest.mark.parametrize("method", ["rewarded_cd", "implicit_rewarded_cd"])
def test_tags_that_are_not_known_change_nothing(method, tmp_path):
    """Two files that differ in the hidden tags alone."""
    ends = []
    for kind in ("right", "wrong"):
        folder = tmp_path / kind
        folder.mkdir()
        settings = settings_of(folder, method, epochs=1)
        if kind == "wrong":
            path = Path(settings["train_data_path"])
            head = path.read_text(encoding="utf-8").split("\n\n")
            wrong = ["\n".join(f"{line.split()[0]} note" for line in part.splitlines()) for part in head[2:]]
            path.write_text("\n\n".join([*head[:2], *wrong]) + "\n", encoding="utf-8")
        trainer = runs.build(settings, folder / "run")
        trainer.train()
        ends.append(runs.weights(trainer.model))
    assert runs.same(*ends)


def test_further_references_without_tags(tmp_path):
    """Those of `data.unlabelled`: they are learned from, and are no part of validation."""
    further = tmp_path / "further.txt"
    further.write_text("K . Vale . New roofs . 1990 .\nL . Moor . Old roofs . 1991 .\n", encoding="utf-8")
    settings = settings_of(tmp_path, "rewarded_cd", epochs=1, unlabelled=str(further))
    assert settings["dataset_reader"].pop("plain_text") and settings["dataset_reader"].pop("unlabelled")
    assert settings["dataset_reader"] == {**settings["validation_dataset_reader"], "labelled": 2}
    ends = []
    for more in ({}, {"unlabelled": str(further), "plain_text": True}):
        settings["dataset_reader"].update(more)
        trainer = runs.build(settings, tmp_path / str(len(more)))
        trainer.train()
        ends.append(runs.weights(trainer.model))
        instances = list(trainer.data_loader.iter_instances())
        assert [i["labelled"].label for i in instances] == [1] * 2 + [0] * (4 + len(more))
        assert len(list(trainer._validation_data_loader.iter_instances())) == 6
    assert not runs.same(*ends)


@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_it_had_not_been(tmp_path):
    more = {"trainer__checkpointer": {"save_every_num_batches": 1}}
    settings = settings_of(tmp_path, "rewarded_cd", epochs=3, **more)
    whole = runs.build(settings, tmp_path / "whole")
    whole.train()
    recovered, _ = runs.kill_and_recover(settings, tmp_path / "killed", runs.KillAt(3))
    assert runs.same(runs.weights(whole.model), runs.weights(recovered.model))
