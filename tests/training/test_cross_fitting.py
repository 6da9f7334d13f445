"""Folds and the learning of a structure: nets that have not seen what they score, kills, gates."""

import json
import tempfile
from pathlib import Path

import hypothesis
import numpy
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.models import load_archive
from allennlp.predictors import Predictor
from allennlp.training import TrainerCallback
from hypothesis import assume, given
from hypothesis import strategies as st

from seal.tasks.base.tensor_loader import TensorLoader
from seal.tasks.multilabel.reader import MultilabelReader
from seal.tasks.srl import SrlModel
from seal.training import AlternatingTrainer
from seal.training.cross_fitting import folds_of
from seal.training.loaders import equal_inputs, restricted
from tests.multilabel import vocabulary, write_data
from tests.segmentation import arrays
from tests.training.runs import DATA, ROOT, Killed, build, comparable, config, elsewhere, same, trained, weights


def settings(**more):
    """Ten epochs of the fixture's 5 frames and 3 sentences; 30 paths compete."""
    return config(
        **{
            "method": "cross_entropy",
            "epochs": 10,
            "model__structure": {"type": "tags", "num_candidates": 30},
            "trainer__task_net__optimizer__lr": 0.03,
            "trainer__folds": 3,
            "data_loader": {"batch_size": 2, "shuffle": True},
            **more,
        },
    )


def words(batch):
    return {tuple(entry["words"]) for entry in batch["metadata"]}


def loader(batch_size=2):
    reader = DatasetReader.from_params(Params(settings()["dataset_reader"]))
    return MultiProcessDataLoader(reader, str(DATA), batch_size=batch_size)


def test_folds_part_the_data_and_keep_the_frames_of_a_sentence_together():
    data = loader()
    instances = list(data.iter_instances())
    parts = folds_of(data, 3, seed=0)
    assert sorted(place for part in parts for place in part) == list(range(len(instances)))
    sentences = [{tuple(token.text for token in instances[place]["tokens"]) for place in part} for part in parts]
    assert all(sentences) and sum(map(len, sentences)) == len(set.union(*sentences)) < len(instances)
    assert folds_of(data, 3, seed=0) == parts
    assert any(folds_of(data, 3, seed=seed) != parts for seed in range(1, 5))
    with pytest.raises(ConfigurationError, match="trainer.folds: 3 .* 7"):
        folds_of(data, 7, seed=0)


def test_rows_of_tables_are_parted():
    sample = ROOT / "data" / "multilabel_sample"
    data = TensorLoader(MultilabelReader(label_xml=str(sample / "labels.xml")), str(sample / "valid.arff"))
    parts = folds_of(data, 4, seed=3)
    assert sorted(row for part in parts for row in part) == list(range(data.num_rows))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    first = restricted(data, parts[0])
    assert first.num_rows == len(parts[0]) and data.num_rows == sum(map(len, parts))


def test_no_net_scores_what_it_has_seen(tmp_path, watch):
    seen, scored = {}, {}

    def note(log, net, batch):
        log.setdefault(id(net), (net, set()))[1].update(words(batch))

    watch(AlternatingTrainer, "training_loss", lambda trainer, batch: note(seen, trainer.model, batch))
    watch(SrlModel, "held_out", lambda net, batch: note(scored, net, batch))
    trainer = trained(settings(), tmp_path)
    whole = words({"metadata": [instance["metadata"].metadata for instance in loader().iter_instances()]})
    final = id(trainer.model)
    folds = [name for name in scored if name != final]
    assert len(folds) == 3 and seen[final][1] == whole
    for fold in folds:
        assert seen[fold][1] and seen[fold][1] | scored[fold][1] == whole
        assert not seen[fold][1] & scored[fold][1]
    assert set.union(*(scored[fold][1] for fold in folds)) == whole


def test_nets_of_folds_can_be_trained_without_their_loss_net(tmp_path, watch):
    """They are then those of cross-entropy, and the final net is trained with its loss-net."""
    records = {}
    watch(SrlModel, "fit_structure", lambda net, training, _: records.update({net.loss_net is not None: training}))
    crf = {"model__output_space__type": "crf_tag_sequence"}
    metrics = build(settings(method="nce", trainer__folds_with_loss_net=False, **crf), tmp_path / "nce").train()
    assert "training_loss_net_loss" in metrics
    build(settings(**crf), tmp_path / "crf").train()
    assert len(records[True]) == len(records[False]) > 0
    for one, other in zip(records[True], records[False]):
        assert torch.equal(one["tags"], other["tags"]) and torch.equal(one["log_prob"], other["log_prob"])
    for refused in (
        {"model__task_loss": {"cross_entropy_weight": 0, "energy_weight": 1}},
        {"trainer__type": "implicit_gradient", "trainer__solver": {"type": "identity"}},
    ):
        with pytest.raises(ConfigurationError, match="trainer.folds_with_loss_net"):
            build(settings(method="nce", trainer__folds_with_loss_net=False, **refused), tmp_path / "refused")


@pytest.mark.parametrize("folds", [0, 2])
def test_each_instance_is_scored_once_whatever_makes_an_epoch(tmp_path, watch, folds):
    scored = []

    def note(net, *of_both):
        scored.extend(sum(len(record["tags"]) for record in records) for records in of_both)

    watch(SrlModel, "fit_structure", note)
    build(settings(data_loader__batches_per_epoch=7, trainer__folds=folds), tmp_path).train()
    assert scored == [5, 5]


@TrainerCallback.register("kill_in_fold")
class KillInFold(TrainerCallback):
    """Ends the run in the fold `at[0]` after the update `at[1]`; in fold 3 the final task-net is trained."""

    at = None

    def on_batch(self, trainer, *args, is_training=True, **kwargs):
        *_, parent, name = trainer._serialization_dir.rstrip("/").split("/")
        fold = int(name) if parent == "folds" else 3
        if is_training and (fold, trainer._total_batches_completed) == KillInFold.at:
            KillInFold.at = None
            raise Killed()


KILLED = {
    "trainer__callbacks": [{"type": "kill_in_fold"}],
    "trainer__checkpointer": {"save_every_num_batches": 1},
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that was not killed."""
    folder = tmp_path_factory.mktemp("whole")
    trainer = build(settings(**KILLED), folder)
    metrics = comparable(trainer.train())
    return metrics, torch.load(folder / "best.th"), weights(trainer.model), (folder / "structure.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("at", [(0, 1), (1, 7), (3, 5)])
def test_a_killed_run_ends_as_one_that_was_not(tmp_path, whole, at):
    trainer = build(settings(**KILLED), tmp_path)
    KillInFold.at = at
    with pytest.raises(Killed):
        trainer.train()
    finished = {fold: (tmp_path / "folds" / str(fold) / "held_out.pt") for fold in range(3)}
    times = {fold: path.stat().st_mtime_ns for fold, path in finished.items() if path.exists()}
    assert len(times) == at[0]
    trainer = build(settings(**KILLED), tmp_path)
    if trainer._checkpointer.find_latest_checkpoint() is not None:
        elsewhere()
    metrics = comparable(trainer.train())
    assert (metrics, (tmp_path / "structure.json").read_text()) == (whole[0], whole[3])
    assert same(weights(trainer.model), whole[2]) and same(torch.load(tmp_path / "best.th"), whole[1])
    assert all(finished[fold].stat().st_mtime_ns == time for fold, time in times.items())


def test_what_a_run_leaves(tmp_path, whole):
    metrics, best, _, report = whole
    report = json.loads(report)
    assert report["folds"] == 3 and set(report["decisions"]) == {"f1", "exact_match"}
    # Nets of so few updates have no gold among their best paths of the training data: nothing is learned.
    assert 0 < report["gold_competes"] <= 1 and report["penalties"] == []
    assert {found["option"] for found in report["decisions"].values()} == {"own"}
    assert metrics["best_validation_f1"] == metrics["best_validation_f1_own"]
    assert {f"best_validation_{name}" for name in ("f1", "f1_own", "ucr_own", "exact_match_own")} <= metrics.keys()
    assert any(name.startswith("structure.") for name in best)


def fold_starts(trainer, watch):
    """The weights that the task-net of each fold starts from."""
    found = []
    watch(trainer._held_out, "make_trainer", lambda net, *_, **__: found.append(weights(net.task_net)))
    trainer.train()
    return found


def task_net_of(run):
    saved = torch.load(f"{run}/best.th")
    return {name.removeprefix("task_net."): value for name, value in saved.items() if name.startswith("task_net.")}


def test_nets_of_folds_do_not_start_from_one_that_may_have_seen_the_data(tmp_path, watch):
    """It had seen the labels of what it scores: an AUC of 0.98 on shuffled labels, where an honest one is 0.5."""
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    for name, seed in ((one, 13), (other, 14)):
        trainer = trained(settings(model__structure=..., trainer__folds=..., pytorch_seed=seed), name)
        trainer.model.vocab.save_to_files(f"{name}/vocabulary")
    start = {"model__task_net__pretrained_file": one, "epochs": 1}
    with pytest.raises(ConfigurationError, match="trainer.folds: the task_net .*one'"):
        build(settings(**start), tmp_path / "refused")
    build(settings(**start, trainer__folds=0), tmp_path / "seen")
    for path in (one, other, f"{one}/../one"):
        trainer = build(settings(**start, trainer__folds_pretrained_file=path), tmp_path / "run" / path[-5:])
        assert same(weights(trainer.model.task_net), task_net_of(one))
        starts = fold_starts(trainer, watch)
        assert len(starts) == 3 and all(same(each, task_net_of(path)) for each in starts)
    with pytest.raises(ConfigurationError, match="trainer.folds_pretrained_file"):
        build(settings(**start, trainer__folds_pretrained_file=str(tmp_path)), tmp_path / "refused")


def test_a_loss_net_that_may_have_seen_the_data(tmp_path):
    name = str(tmp_path / "nce")
    trainer = trained(settings(method="nce", model__structure=..., trainer__folds=..., epochs=1), name)
    trainer.model.vocab.save_to_files(f"{name}/vocabulary")
    start = {"method": "nce", "model__loss_net__pretrained_file": name}
    with pytest.raises(ConfigurationError, match="trainer.folds: the loss_net"):
        build(settings(**start), tmp_path / "refused")
    # Without it nets of folds learn from gold alone.
    build(settings(**start, trainer__folds_with_loss_net=False), tmp_path / "gold")


def test_training_that_goes_on_from_an_archive(tmp_path):
    first = settings(trainer__cuda_device=-1, epochs=1, trainer__folds=0)
    train_model(Params(first), str(tmp_path / "first"))
    archive = str(tmp_path / "first" / "model.tar.gz")
    more = settings(epochs=1)
    more["model"] = {"type": "from_archive", "archive_file": archive}
    more["vocabulary"] = {"type": "extend", "directory": archive}
    with pytest.raises(ConfigurationError, match="trainer.folds: the task_net"):
        build(more, tmp_path / "refused")
    more["trainer"]["folds_pretrained_file"] = archive
    assert build(more, tmp_path / "named")._held_out.folds == 3


def test_without_folds_the_net_scores_what_it_has_seen(tmp_path, caplog):
    trained(settings(trainer__folds=0), tmp_path)
    assert "trainer.folds" in caplog.text
    assert not (tmp_path / "folds").exists()
    assert json.loads((tmp_path / "structure.json").read_text())["folds"] == 0


def test_where_the_gate_is_closed_predictions_are_the_task_nets_own(tmp_path):
    alone = build(settings(model__structure=..., trainer__folds=...), tmp_path / "alone")
    alone.train()
    trainer = build(settings(), tmp_path / "closed")
    trainer.model.structure.is_shut = True
    # No rule of which the task-net's own output may be replaced.
    trainer.model.structure.declare_from = 1.5
    trainer.train()
    report = json.loads((tmp_path / "closed" / "structure.json").read_text())
    assert {decision["option"] for decision in report["decisions"].values()} == {"own"}
    model, own = trainer.model.eval(), alone.model.eval()
    # The folds have not moved the final net's random numbers.
    assert same(weights(own), {k: v for k, v in weights(model).items() if not k.startswith("structure.")})
    for batch in trainer._validation_data_loader:
        first, second = (net.make_output_human_readable(net(**batch)) for net in (model, own))
        assert first.keys() == second.keys()
        assert first["tags"] == second["tags"]


def test_an_archive_predicts_with_its_structure(tmp_path):
    folder = tmp_path / "run"
    model = train_model(Params(settings(trainer__cuda_device=-1)), str(folder))
    archive = load_archive(str(folder / "model.tar.gz"))
    assert archive.model.structure.chosen == model.structure.chosen != {}
    assert same(weights(archive.model.structure), weights(model.structure))
    record = Predictor.from_archive(archive).predict_json({"words": ["The", "cook", "cut", "bread", "."]})
    assert record["words"] == ["The", "cook", "cut", "bread", "."]


@pytest.mark.parametrize(
    "more, key",
    [
        ({"model__structure": ...}, "trainer.folds"),
        ({"model__structure": ..., "trainer__folds": ..., "trainer__fold_jobs": 2}, "trainer.fold_jobs"),
        ({"trainer__folds": 1}, "trainer.folds"),
        ({"trainer__fold_jobs": 0}, "trainer.fold_jobs"),
        ({"trainer__folds_pretrained_file": "a"}, "trainer.folds_pretrained_file"),
        ({"validation_data_path": ...}, "validation_data_path"),
        ({"model__structure": {"type": "label_sets"}}, "structure"),
    ],
)
def test_settings_that_cannot_work(tmp_path, more, key):
    with pytest.raises(ConfigurationError, match=key):
        build(settings(**more), tmp_path)


# Folds: instances of equal inputs are in one, for every task and reader; of unique inputs they are as ever.


NAMES = ["Ann", "Bob", "Cid", "Dora", "Eve", "Fay"]


def sentences(inputs, line):
    """A file of tagged sentences of three words."""
    return "\n\n".join("\n".join(line(word) for word in (NAMES[one], "saw", "it")) for one in inputs) + "\n"


def srl(folder, inputs):
    frames = [[{"pred": 1, "tags": ["B-ARG0", "B-V", "O" if place % 2 else "B-ARG1"]}] for place in range(len(inputs))]
    records = [{"words": [NAMES[one], "saw", "it"], "frames": frame} for one, frame in zip(inputs, frames)]
    return {"type": "seal_srl", "predicate_instances": False}, "a.jsonl", "\n".join(map(json.dumps, records)) + "\n"


def tagging(folder, inputs):
    return {"type": "seal_tagging"}, "a.tsv", sentences(inputs, lambda word: f"{word}\tX")


def text(folder, inputs):
    records = [{"text": f"{NAMES[one]} saw it", "labels": [f"l{place % 3}"]} for place, one in enumerate(inputs)]
    return {"type": "seal_text_multilabel"}, "a.jsonl", "\n".join(map(json.dumps, records)) + "\n"


def parsing(folder, inputs):
    trees = [f"( (S (NP (NNP {NAMES[one]})) (VP (VBD saw) (NP (PRP it)))) )" for one in inputs]
    return {"type": "seal_parsing"}, "a.mrg", "\n".join(trees) + "\n"


def features(folder, inputs):
    # One row in two writes 0 as -0.
    zeros = ["-0" if place % 2 else "0" for place in range(len(inputs))]
    rows = [(f"{zero},0,{one},0,0,7", (place % 2, 1, 0)) for place, (zero, one) in enumerate(zip(zeros, inputs))]
    return {"type": "seal_multilabel", **write_data(folder, rows)["reader"]}, "fruit.arff", None


def images(folder, inputs):
    data = arrays(len(NAMES))
    masks = numpy.stack([data["masks"][place % len(NAMES)] for place in range(len(inputs))])
    numpy.savez(folder / "a.npz", images=data["images"][inputs], masks=masks)
    return {"type": "seal_segmentation"}, "a.npz", None


def cropped_images(folder, inputs):
    reader, *rest = images(folder, inputs)
    return {**reader, "crop": 4, "mirror": True}, *rest


def loader_of_folds(make, inputs, tensors):
    with tempfile.TemporaryDirectory() as folder:
        reader, name, content = make(Path(folder), inputs)
        path = Path(folder) / name
        if content is not None:
            path.write_text(content, encoding="utf-8")
        reader = DatasetReader.from_params(Params(reader))
        made = TensorLoader(reader, str(path)) if tensors else MultiProcessDataLoader(reader, str(path), batch_size=2)
        if make is features:
            made.index_with(vocabulary())
        return made


CASES = [(srl, False), (tagging, False), (text, False), (parsing, False), (features, False), (features, True)]
CASES += [(images, False), (images, True), (cropped_images, True)]


@pytest.mark.parametrize("make, tensors", CASES)
@hypothesis.settings(max_examples=15, deadline=None)
@given(inputs=st.lists(st.integers(0, 5), min_size=2, max_size=9), folds=st.integers(2, 3), seed=st.integers(0, 9))
def test_no_input_is_in_two_folds(make, tensors, inputs, folds, seed):
    assume(len(set(inputs)) >= folds)
    data = loader_of_folds(make, inputs, tensors)
    first = list(dict.fromkeys(inputs))
    assert equal_inputs(data, "").tolist() == [first.index(one) for one in inputs]
    parts = folds_of(data, folds, seed)
    assert sorted(place for part in parts for place in part) == list(range(len(inputs)))
    held = [{inputs[place] for place in part} for part in parts]
    assert all(held) and sum(map(len, held)) == len(set(inputs))


@pytest.mark.parametrize("make, tensors", CASES)
def test_folds_of_unique_inputs_are_those_of_the_places(make, tensors):
    """As they were before inputs were looked at, so that published scores stay."""
    data = loader_of_folds(make, [3, 0, 5, 1, 4, 2], tensors)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(13)).tolist()
    assert folds_of(data, 4, seed=13) == [sorted(order[fold::4]) for fold in range(4)]
