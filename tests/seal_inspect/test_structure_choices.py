"""What a learned structure made of the task-net's own outputs: against the model's own metrics, and by hand."""

from types import SimpleNamespace

import numpy
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models.archival import load_archive

from seal.tasks.multilabel import MultilabelReader
from seal_inspect.examples import examine
from seal_inspect.findings import Choice, Example, Findings
from seal_inspect.report_examples import add_examples
from seal_inspect.report_page import Report
from tests import multilabel, trees
from tests.training.runs import DATA, config


def score_of(found, name, own=False):
    statistic = found.statistics[name]
    counts = found.own_counts if own else found.counts
    return float(statistic.of(numpy.sum([[row[key] for key in statistic.columns] for row in counts], axis=0)))


def choose_by_random_energies(model):
    """So that other outputs are chosen than the task-net's own: those of the least energy."""
    torch.manual_seed(0)
    model.structure.joint.scale.data.fill_(0.0)
    for parameter in model.structure.joint.energies.parameters():
        parameter.data.normal_()


@pytest.fixture(scope="module")
def structured(tmp_path_factory):
    """A model of roles whose structure chooses."""
    folder = tmp_path_factory.mktemp("structured") / "run"
    settings = config(method="cross_entropy", epochs=3, model__structure="tags", trainer__folds=0)
    train_model(Params(settings), str(folder))
    archive = load_archive(folder / "model.tar.gz")
    archive.model.structure.chosen["f1"] = "likeliest"
    return archive


def test_frames(structured):
    model = structured.model.eval()
    choose_by_random_energies(model)
    found = examine(structured, str(DATA), 100)
    metrics = model.get_metrics(reset=True)
    assert score_of(found, "f1") == pytest.approx(metrics["f1"])
    assert score_of(found, "f1", own=True) == pytest.approx(metrics["f1_own"])
    assert score_of(found, "exact_match", own=True) == pytest.approx(metrics["exact_match_own"])
    assert found.changed() and "likeliest output" in found.why
    for example in found.examples:
        choice = example.choice
        assert choice.energy_of_predicted <= choice.energy_of_own + 1e-4
        assert (choice.own == example.predicted) == (choice.energy_of_own == choice.energy_of_predicted)
        if example.right:
            assert choice.score == 100 and choice.energy_of_gold == pytest.approx(choice.energy_of_predicted, abs=1e-4)
        if choice.competes:
            assert choice.energy_of_predicted <= choice.energy_of_gold + 1e-4


def test_a_structure_that_is_not_followed_changes_nothing(structured):
    before = structured.model.structure.chosen["f1"]
    structured.model.structure.chosen["f1"] = "own"
    found = examine(structured, str(DATA), 100)
    structured.model.structure.chosen["f1"] = before
    assert not found.changed() and "The task-net predicts alone" in found.why
    report = Report([])
    add_examples(report, "", found, 3)
    assert "It changed 0 of 5 outputs" in report.text() and "own | chosen" not in report.text()


def test_trees(widths):
    model = trees.model_of(beam=3, structure={"type": "trees", "num_candidates": 4}).eval()
    record = model.held_out(trees.batch_of())
    model.fit_structure([record], [record])
    model.structure.chosen = {"f1": "likeliest", "exact_match": "likeliest"}
    choose_by_random_energies(model)
    reader = SimpleNamespace(read=lambda path: iter(trees.instances_of()), apply_token_indexers=lambda instance: None)
    widths.clear()
    found = examine(SimpleNamespace(model=model, validation_dataset_reader=reader), "trees", 100)
    # The task-net's own tree is that of the model's own beam.
    assert widths[0] == 4 and set(widths[1:]) == {3}
    metrics = model.get_metrics(reset=True)
    assert score_of(found, "f1") == pytest.approx(metrics["f1"])
    assert score_of(found, "f1", own=True) == pytest.approx(metrics["f1_own"])
    for example in found.examples:
        assert example.choice.energy_of_predicted <= example.choice.energy_of_own + 1e-4
        assert "XX" not in example.gold + example.choice.own


@pytest.mark.parametrize("likely", [0, 8])
def test_label_sets(likely, tmp_path):
    structure = {"type": "label_sets", "num_likely": likely}
    net = multilabel.model(task_net=multilabel.TASK_NET, structure=structure).float().eval()
    torch.manual_seed(0)
    gold = torch.tensor([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 1, 0]]).repeat(5, 1)
    net.structure.fit(torch.randn(20, 3) + gold, gold)
    net.structure.chosen["f1"] = {"option": "likeliest", "own_threshold": 0.5, "output": 1}
    data = multilabel.write_data(tmp_path)
    archive = SimpleNamespace(model=net, validation_dataset_reader=MultilabelReader(**data["reader"]))
    found = examine(archive, data["path"], 100)
    metrics = net.get_metrics(reset=True)
    assert score_of(found, "f1") == pytest.approx(metrics["f1"])
    assert score_of(found, "f1", own=True) == pytest.approx(metrics["f1_own"])
    known = {", ".join(net.output_space.labels[label] for label in numpy.flatnonzero(row)) for row in gold.numpy()}
    for example in found.examples:
        choice = example.choice
        # All eight sets are likely ones, where these compete.
        assert choice.competes == (likely > 0 or example.gold in known)
        assert (choice.energy_of_gold is not None) == choice.competes
        assert (choice.energy_of_own is not None) == (likely > 0 or choice.own in known)
        assert choice.energy_of_predicted is not None


def example(name, own, predicted, scores, energies, competes=True):
    choice = Choice(own, *scores, competes, *energies)
    return Example(name, "", "gold", predicted, predicted == "gold", choice=choice)


def test_what_a_structure_changed_and_where_it_errs():
    found = Findings()
    found.why = "Chosen is the best."
    found.examples = [
        example("a/d:1", "x", "gold", (20.0, 100.0), (-3.0, -1.0, -3.0)),
        example("a/d:2", "gold", "y", (100.0, 50.0), (-1.0, -1.0, -2.0)),
        example("a/d:3", "gold", "gold", (100.0, 100.0), (-1.0, -1.0, -1.0)),
        example("a/d:4", "z", "w", (50.0, 50.0), (-4.0, -1.0, -2.0)),
        example("a/d:5", "z", "z", (50.0, 50.0), (None, None, -2.0), competes=False),
    ]
    report = Report([])
    add_examples(report, "", found, 9)
    text = report.text()
    assert "It changed 3 of 5 outputs" in text
    assert "| gold | x | as gold | 20 → 100 | -1 → -3 | d:1 |" in text
    assert "| gold | as gold | y | 100 → 50 | -1 → -2 | d:2 |" in text
    assert text.index("helped most") < text.index("d:1 |") < text.index("harmed most") < text.index("d:2 |")
    assert "Of 3 wrong predictions, 1 have" in text
    assert "| gold | y | -1 | -2 | d:2 |" in text and "| gold | w | -4" not in text
