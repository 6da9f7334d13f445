"""Self-training: what the student sees, that gold of the inputs is not read, who is kept, kills."""

import json
from collections import Counter
from types import SimpleNamespace

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training import TrainerCallback
from allennlp.training.metric_tracker import MetricTracker

from seal.common import length_groups
from seal.tasks.base.tensor_loader import TensorLoader
from seal.tasks.multilabel import MultilabelModel
from seal.tasks.multilabel.reader import MultilabelReader
from seal.tasks.srl import SrlModel
from seal.training import self_training
from seal.training.pseudo_labels import PseudoLabelledInstances, PseudoLabelledTable, UnlabelledRows
from tests.multilabel import ROWS, run_settings, vocabulary, write_data
from tests.training.runs import DATA, Killed, build, comparable, config, elsewhere, same, trained, weights

WORDS = ["the", "cook", "cut", "bread", "she", "boiled", "it", "twice"]


def inputs(path, role="ARG1", count=6):
    """So many sentences with a frame that the fixture lacks, whose only argument has the role."""
    lines = []
    for number in range(count):
        words = [WORDS[(number * place + place) % len(WORDS)] for place in range(1, 5)] + ["again"] * number
        tags = ["B-" + role, "B-V"] + ["O"] * (len(words) - 2)
        lines.append(json.dumps({"words": words, "frames": [{"pred": 1, "tags": tags}]}))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def unlabelled(tmp_path):
    return inputs(tmp_path / "inputs.jsonl")


def settings(unlabelled, method="cross_entropy", epochs=6, **more):
    return config(
        method=method,
        epochs=epochs,
        **{
            "trainer__self_training": {"unlabelled": unlabelled},
            "trainer__task_net__optimizer__lr": 0.03,
            "data_loader": {"batch_size": 2, "shuffle": True},
            **more,
        },
    )


def teacher_weights(run, folder):
    """The same run without a student."""
    alone = json.loads(json.dumps(run))
    del alone["trainer"]["self_training"]
    trainer = trained(alone, folder)
    return weights(trainer.model)


def test_gold_of_the_inputs_is_not_read(tmp_path):
    found = []
    for number, role in enumerate(("ARG1", "ARG0", "ARGM-NEVER")):
        trainer = build(settings(inputs(tmp_path / "inputs.jsonl", role)), tmp_path / str(number))
        metrics = comparable(trainer.train())
        found.append((metrics, weights(trainer.model), torch.load(tmp_path / str(number) / "student" / "best.th")))
    for metrics, kept, student in found[1:]:
        assert metrics == found[0][0] and same(kept, found[0][1]) and same(student, found[0][2])


@pytest.mark.parametrize("better", ["student", "teacher"])
def test_the_better_one_is_kept(tmp_path, unlabelled, monkeypatch, better):
    scores = iter([1.0, 2.0] if better == "student" else [2.0, 2.0])
    monkeypatch.setattr(self_training, "_score", lambda trainer, metrics: next(scores))
    run = settings(unlabelled)
    trainer = build(run, tmp_path / "run")
    metrics = trainer.train()
    student = torch.load(tmp_path / "run" / "student" / "best.th")
    teacher = teacher_weights(run, tmp_path / "alone")
    assert not same(student, teacher)
    kept = student if better == "student" else teacher
    assert same(weights(trainer.model), kept) and same(torch.load(tmp_path / "run" / "best.th"), kept)
    report = json.loads((tmp_path / "run" / "self_training.json").read_text())
    assert report["kept"] == better and report["inputs"] == 6
    kept_f1 = json.loads((tmp_path / "run" / "student" / f"metrics_epoch_{metrics['best_epoch']}.json").read_text())
    if better == "student":
        assert metrics["best_validation_f1"] == pytest.approx(kept_f1["best_validation_f1"])


def test_what_is_compared_is_what_is_predicted():
    trainer = SimpleNamespace(metric_tracker=MetricTracker("+f1"))
    metrics = {"best_validation_f1": 60.0, "best_validation_loss": 1.0, "training_f1": 99.0}
    assert self_training._score(trainer, metrics) == 60
    trainer = SimpleNamespace(metric_tracker=MetricTracker("+f1_tuned"))
    metrics["best_validation_f1_tuned"] = 65.0
    assert self_training._score(trainer, metrics) == 65
    assert self_training._score(trainer, {**metrics, "best_validation_f1_decided": 70.0}) == 60


@pytest.mark.parametrize("more, inputs", [(False, 5), (True, 11)])
def test_a_distilled_net_learns_from_the_inputs_of_the_training_data(tmp_path, unlabelled, monkeypatch, more, inputs):
    scores = iter([2.0, 1.0])
    monkeypatch.setattr(self_training, "_score", lambda trainer, metrics: next(scores))
    run = settings(unlabelled, epochs=2)
    run["trainer"]["self_training"] = {"distil": True, **({"unlabelled": unlabelled} if more else {})}
    trainer = trained(run, tmp_path / "run")
    report = json.loads((tmp_path / "run" / "self_training.json").read_text())
    # It is kept, though the teacher is better.
    assert report == {"inputs": inputs, "teacher": 2.0, "student": 1.0, "kept": "student"}
    student = torch.load(tmp_path / "run" / "student" / "best.th")
    assert same(weights(trainer.model), student) and same(torch.load(tmp_path / "run" / "best.th"), student)


def test_draws_are_made_anew_in_each_pass(tmp_path, unlabelled):
    model = build(settings(unlabelled), tmp_path).model
    labelled = list(build(settings(unlabelled), tmp_path / "other").data_loader.iter_instances())
    one = next(instance for instance in labelled if model.takes_pseudo_labels(instance))
    length = len(one["tokens"])
    outputs = torch.tensor([[0] * length, [0] * length, [1] * length, [2] * length], dtype=torch.int16)
    both = PseudoLabelledInstances(model, labelled, [one], [outputs])
    assert len(both) == len(labelled) + 1 == len(list(both))
    torch.manual_seed(0)
    passes = [list(both) for _ in range(400)]
    assert all(first is second for instances in passes for first, second in zip(instances, labelled))
    counts = Counter(instances[-1]["tags"].labels[0] for instances in passes)
    # 400 draws: a deviation of 10 at most.
    assert abs(counts[0] - 200) < 40 and abs(counts[1] - 100) < 40 and abs(counts[2] - 100) < 40
    torch.manual_seed(0)
    again = [list(both)[-1]["tags"].labels for _ in range(20)]
    assert again == [instances[-1]["tags"].labels for instances in passes[:20]]


def test_what_a_student_sees(tmp_path, unlabelled, watch):
    seen = {}

    def note(net, metadata, **_):
        if net.training:
            seen.setdefault(id(net), (net, Counter()))[1].update(tuple(entry["words"]) for entry in metadata)

    watch(SrlModel, "task_state", note)
    # A file that has the training sentences, too: these are left out.
    with open(unlabelled, "a", encoding="utf-8") as file:
        file.write(json.dumps({"words": "The cook didn't cut it .".split(), "frames": []}) + "\n")
    trainer = build(settings(unlabelled, epochs=2), tmp_path / "run")
    labelled = Counter(tuple(instance["metadata"]["words"]) for instance in trainer.data_loader.iter_instances())
    trainer.train()
    (_, teacher), (_, student) = seen.values()
    assert teacher == Counter({words: 2 * count for words, count in labelled.items()})
    new = {words for words in student if words not in labelled}
    assert len(new) == 6 and all(student[words] == 2 for words in new)
    # 8 instances with gold and 6 without: once each.
    assert all(student[words] == 2 * count for words, count in labelled.items())


def test_a_long_input_pads_no_others(tmp_path, monkeypatch, watch):
    monkeypatch.setattr(length_groups, "MOST_WORDS", 24)
    shapes = []
    watch(SrlModel, "pseudo_labels", lambda net, batch, draws: shapes.append(tuple(batch["predicate"].shape)))
    build(settings(inputs(tmp_path / "inputs.jsonl", count=40), epochs=1), tmp_path / "run").train()
    assert sum(rows for rows, _ in shapes) == 40 and max(words for _, words in shapes) == 43
    assert all(rows * words <= 24 or rows == 1 for rows, words in shapes)


def test_labelled_instances_are_repeated_up_to_their_share(tmp_path, watch):
    lengths = []

    def note(made, model, gold, inputs, outputs):
        lengths.append((len(gold), len(inputs)))

    watch(PseudoLabelledInstances, "__init__", note)
    path = inputs(tmp_path / "inputs.jsonl", count=40)
    for share in (0.5, 0.8, 0.01):
        run = settings(path, epochs=1)
        run["trainer"]["self_training"]["labelled_share"] = share
        build(run, tmp_path / str(share)).train()
    assert lengths == [(40, 40), (160, 40), (8, 40)]


@TrainerCallback.register("kill_student")
class KillStudent(TrainerCallback):
    """Ends the run in the student's training, or with `student` false in the teacher's, after so many updates."""

    at = None

    def on_start(self, trainer, *args, **kwargs):
        self._kill(trainer, 0)

    def on_batch(self, trainer, *args, is_training=True, **kwargs):
        if is_training:
            self._kill(trainer, trainer._total_batches_completed)

    def _kill(self, trainer, updates):
        student = trainer._serialization_dir.rstrip("/").endswith("student")
        if (student, updates) == KillStudent.at:
            KillStudent.at = None
            raise Killed()


def check_killed(run, tmp_path, at):
    """A run that is killed in its student's training, and goes on, ends as one that was not."""
    whole = build(run, tmp_path / "whole")
    metrics = comparable(whole.train())
    KillStudent.at = at
    with pytest.raises(Killed):
        build(run, tmp_path / "killed").train()
    assert KillStudent.at is None
    elsewhere()
    trainer = build(run, tmp_path / "killed")
    assert comparable(trainer.train()) == metrics
    assert same(weights(trainer.model), weights(whole.model))


@pytest.mark.slow
@pytest.mark.parametrize("structure", [False, True])
@pytest.mark.parametrize("at", [(False, 7), (True, 0), (True, 3), (True, 20)])
def test_a_killed_run_ends_as_one_that_was_not(tmp_path, unlabelled, at, structure):
    more = {"model__structure": {"type": "tags"}, "trainer__folds": 2} if structure else {}
    run = settings(
        unlabelled,
        method="nce",
        epochs=3,
        trainer__callbacks=[{"type": "kill_student"}],
        trainer__checkpointer={"save_every_num_batches": 1},
        **more,
    )
    check_killed(run, tmp_path, at)
    reports = [(tmp_path / name / "self_training.json").read_text() for name in ("whole", "killed")]
    assert reports[0] == reports[1]
    # Whichever of the two was kept.
    assert same(*(torch.load(tmp_path / name / "student" / "best.th") for name in ("whole", "killed")))


def test_a_finished_run_that_is_started_again_stays_as_it_is(tmp_path, unlabelled):
    run = settings(unlabelled)
    first = build(run, tmp_path / "run")
    first.train()
    report = (tmp_path / "run" / "self_training.json").read_text()
    again = build(run, tmp_path / "run")
    again.train()
    assert same(weights(again.model), weights(first.model))
    assert (tmp_path / "run" / "self_training.json").read_text() == report


@pytest.mark.parametrize(
    "more, named",
    [
        ({"validation_data_path": ..., "trainer__validation_metric": ...}, "validation_data_path"),
        ({"trainer__self_training__num_samples": 0}, "self_training.num_samples"),
        ({"trainer__self_training__labelled_share": 1.0}, "self_training.labelled_share"),
        ({"data_loader__max_instances_in_memory": 4}, "memory"),
        ({"unlabelled": str(DATA)}, "self_training.unlabelled"),
    ],
)
def test_settings_that_cannot_work(tmp_path, unlabelled, more, named):
    with pytest.raises(ConfigurationError, match=named):
        build(settings(**{"unlabelled": unlabelled, **more}), tmp_path / "run")


@pytest.mark.parametrize("found", [[1, 2], []])
def test_plain_text_whose_predicates_the_teacher_finds(tmp_path, monkeypatch, caplog, found):
    monkeypatch.setattr(SrlModel, "expansions", lambda self, batch: [found] * len(batch["predicate"]))
    text = tmp_path / "text.txt"
    text.write_text("the cook gave her bread\nit is easy\npeople say it\n", encoding="utf-8")
    run = settings(str(text), trainer__callbacks=[{"type": "kill_student"}])
    run["trainer"]["self_training"]["plain_text"] = True
    whole = build(run, tmp_path / "whole")
    whole.train()
    if not found:
        assert "No student is trained: the teacher finds no predicate" in caplog.text
        assert same(weights(whole.model), teacher_weights(run, tmp_path / "alone"))
        return
    answers = json.loads((tmp_path / "whole" / "student" / "expansions.json").read_text())
    report = json.loads((tmp_path / "whole" / "self_training.json").read_text())
    assert answers == [found] * 3 and report["inputs"] == 6
    KillStudent.at = (True, 5)
    with pytest.raises(Killed):
        build(run, tmp_path / "killed").train()
    elsewhere()
    again = build(run, tmp_path / "killed")
    again.train()
    assert same(weights(again.model), weights(whole.model))


# Self-training of feature vectors: what the student sees, that labels of the inputs are not read, kills.


NEW = [f"{i},0,{i / 4},0,0,{-i}" for i in range(4, 10)]
TASK_NET = {"encoder": {"type": "feature_mlp", "hidden_dim": 4, "num_layers": 1, "dropout": [0.2]}, "bias": False}


def settings_of_rows(folder, labels=(0, 0, 0), structure=False, data_loader=None, **trainer):
    """A run on `ROWS`, and a file of these and of six others, whose labels are as given."""
    data = write_data(folder)
    inputs = write_data(folder, [*ROWS, *((features, labels) for features in NEW)], "inputs.arff")["path"]
    parts = {"task_net": TASK_NET, **({"structure": {"type": "label_sets"}} if structure else {})}
    return run_settings(
        data,
        parts,
        data_loader or {"batch_size": 2, "shuffle": True, "batches_per_epoch": 5},
        num_epochs=3,
        validation_metric="+f1",
        task_net={"optimizer": {"type": "fused_adamw", "lr": 0.05}},
        self_training={"unlabelled": inputs},
        **({"folds": 2} if structure else {}),
        **trainer,
    )


def test_rows_of_gold_and_rows_that_are_labelled(tmp_path):
    data = write_data(tmp_path)
    reader = MultilabelReader(label_xml=data["reader"]["label_xml"], missing="zero")
    loader = TensorLoader(reader, data["path"], batch_size=3)
    loader.index_with(vocabulary())
    gold, _ = loader.table_and_rows()
    other = write_data(tmp_path, [(features, (0, 0, 0)) for features in NEW], "inputs.arff")
    table = reader.read_inputs(other["path"])
    table.index_with(vocabulary())
    inputs = UnlabelledRows([(gold, numpy.array([2])), (table, numpy.array([1, 3]))])
    own, labelled = [[0, 0, 1]] * 4, [[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]]
    outputs = torch.tensor([own, labelled, [[0, 1, 0]] * 4], dtype=torch.int16)
    table = PseudoLabelledTable(gold, numpy.array([0, 4, 0, 4]), inputs, outputs)
    labelled = loader.with_table(table)
    assert labelled.num_rows == 7 and len(labelled) == 3
    torch.manual_seed(0)
    counts = Counter()
    for _ in range(400):
        batches = list(labelled)
        features = torch.cat([batch["features"] for batch in batches])
        labels = torch.cat([batch["labels"] for batch in batches])
        assert labels[:4].tolist() == [list(ROWS[row][1]) for row in (0, 4, 0, 4)]
        assert features[:, 0].tolist() == [1, 3, 1, 3, 2, 5, 7]
        assert labels[4].tolist() == [0, 0, 1] and labels[6].tolist() == [0, 1, 0]
        counts[tuple(labels[5].tolist())] += 1
    # 400 draws: a deviation of 10 at most.
    assert abs(counts[1, 0, 0] - 200) < 40 and abs(counts[0, 1, 1] - 100) < 40 and abs(counts[0, 0, 0] - 100) < 40
    # Rows of both kinds in one batch, in any order.
    mixed = table.batch(numpy.array([6, 0, 4]))
    assert mixed["features"][:, 0].tolist() == [1, 2, 7]
    assert mixed["labels"].tolist() == [list(ROWS[0][1]), [0, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("structure", [False, True])
def test_labels_of_the_inputs_are_not_read_and_known_rows_are_left_out(tmp_path, watch, structure):
    seen = []

    def note(net, features, labels=None, metadata=None):
        if not net.training and labels is None:
            seen.append(features)

    watch(MultilabelModel, "task_state", note)
    found = []
    for number, labels in enumerate([(0, 0, 0), (1, 0, 1)]):
        run = settings_of_rows(tmp_path, labels, structure)
        trainer = build(run, tmp_path / str(number))
        metrics = comparable(trainer.train())
        found.append((metrics, weights(trainer.model), torch.load(tmp_path / str(number) / "student" / "best.th")))
    assert torch.cat(seen)[:, 0].tolist() == [4, 5, 6, 7, 8, 9] * 2
    assert found[0][0] == found[1][0] and same(found[0][1], found[1][1]) and same(found[0][2], found[1][2])
    report = json.loads((tmp_path / "0" / "self_training.json").read_text())
    assert report["inputs"] == 6
    kept = found[0][2] if report["kept"] == "student" else torch.load(tmp_path / "0" / "best.th")
    assert all(torch.equal(found[0][1][name], kept[name]) for name in kept if name.startswith("task_net"))


@pytest.mark.parametrize("at", [(False, 7), (True, 8)])
def test_a_killed_run_ends_as_one_that_was_not_of_rows(tmp_path, at):
    run = settings_of_rows(tmp_path, callbacks=[{"type": "kill_student"}], checkpointer={"save_every_num_batches": 1})
    check_killed(run, tmp_path, at)


def test_a_distilled_net_predicts_alone(tmp_path):
    run = settings_of_rows(tmp_path, structure=True)
    run["trainer"]["self_training"] = {"distil": True}
    trainer = trained(run, tmp_path / "run")
    report = json.loads((tmp_path / "run" / "self_training.json").read_text())
    # The inputs of the training data.
    assert report["inputs"] == 5 and report["kept"] == "student"
    structure = trainer.model.structure
    # Whatever there is to gain.
    assert structure.is_shut and structure.is_fitted and not any(map(structure.is_followed, structure.chosen))
    kept, student = torch.load(tmp_path / "run" / "best.th"), torch.load(tmp_path / "run" / "student" / "best.th")
    assert all(torch.equal(kept[name], student[name]) for name in student if name.startswith("task_net"))


def test_settings_that_cannot_work_of_rows(tmp_path):
    run = settings_of_rows(tmp_path)
    own = run["train_data_path"]
    for changed, loader, named in (
        ({"plain_text": True}, {}, "self_training.unlabelled"),
        ({"unlabelled": own, "plain_text": True}, {}, "self_training.plain_text"),
        ({"unlabelled": own}, {}, "self_training.unlabelled"),
        ({"unlabelled": own}, {"type": "multiprocess", "batch_size": 2}, "data_loader.type"),
    ):
        wrong = json.loads(json.dumps(run))
        wrong["trainer"]["self_training"] = changed
        wrong["data_loader"] = loader or {"type": "tensors", "batch_size": 2}
        with pytest.raises(ConfigurationError, match=named):
            build(wrong, tmp_path / "run")
