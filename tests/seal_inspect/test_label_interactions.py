"""The sub-command as a user runs it: on a model of features with a taxonomy-less data set, and on one of texts."""

import json
from pathlib import Path

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive
from matplotlib.figure import Figure

from seal.energies import LabelInteractionEnergy
from seal.tasks.text.reader import TextMultilabelReader
from seal_inspect.archives import loader_of
from tests.seal_inspect.conftest import trained
from tests.seal_inspect.written import rows_of

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "data" / "text_sample"
TABLES = ("label_sets", "labels", "co_occurrence", "pointwise_mutual_information", "negative_hessian", "pair_gradients")
FIGURES = ("label_sets", "interactions", "pair_gradients")


def matrix_of(path):
    head, *rows = rows_of(path)
    assert head[1:] == [row[0] for row in rows]
    return head[1:], numpy.array([[float(cell or "nan") for cell in row[1:]] for row in rows])


def closed_forms(path, data, rows):
    """
    Of `E_global = v^T softplus(M y + c)`: minus the mean Hessian at what the model predicts for the first rows, its
    diagonal 0, and the gradient as a function of `y`.
    """
    archive = load_archive(str(path))
    with torch.no_grad():
        batches = loader_of(archive, str(data), in_order=True)
        outputs = torch.cat([archive.model.eval()(**batch)["probabilities"] for batch in batches]).double().numpy()
    (energy,) = [energy for energy in archive.model.loss_net.energies if isinstance(energy, LabelInteractionEnergy)]
    layers = energy.patterns.weight, energy.patterns.bias, energy.weights.weight[0]
    m, c, v = (parameter.detach().double().numpy() for parameter in layers)

    def share(y):
        return 1 / (1 + numpy.exp(-(m @ y + c)))

    hessian = -sum(m.T * (v * share(y) * (1 - share(y))) @ m for y in outputs[:rows]) / rows
    numpy.fill_diagonal(hessian, 0)
    return hessian, lambda y: m.T @ (v * share(y))


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    path = tmp_path_factory.mktemp("few") / "few.jsonl"
    path.write_text("".join((SAMPLE / "train.jsonl").read_text().splitlines(keepends=True)[:60]))
    return path


@pytest.mark.slow
def test_texts_with_a_taxonomy(few, tmp_path, run, monkeypatch, allennlp_logging):
    monkeypatch.chdir(ROOT)
    archive = trained("text_nce", tmp_path / "run", few)
    # The 40 rows come from batches of 16.
    smaller = json.dumps({"validation_data_loader.batch_sampler.batch_size": 16})
    options = ("--grid", 5, "--labels", 8, "--instances", 40, "-o", smaller)
    run("label-interactions", archive, few, "--output", tmp_path / "out", *options)
    for name in TABLES:
        assert (tmp_path / "out" / f"{name}.csv").is_file()
    for name in FIGURES:
        assert (tmp_path / "out" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    reader = TextMultilabelReader(taxonomy=str(SAMPLE / "taxonomy.tsv"), ancestors=True)
    sets = [set(instance["labels"].labels) for instance in reader.read(str(few))]
    names, together = matrix_of(tmp_path / "out" / "co_occurrence.csv")
    assert set(names) == set().union(*sets)
    for i, one in enumerate(names):
        for k, other in enumerate(names):
            expected = 0 if i == k else sum({one, other} <= found for found in sets) / len(sets)
            assert together[i, k] == pytest.approx(expected, abs=1e-5)
    _, hessian = matrix_of(tmp_path / "out" / "negative_hessian.csv")
    expected, slope = closed_forms(archive, few, rows=40)
    assert numpy.allclose(hessian, expected, rtol=1e-3, atol=1e-6) and abs(hessian).max() > 1e-4
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    child, parent = summary["pairs"]["related"]
    assert parent in reader.taxonomy().ancestors(child)
    assert -1 <= summary["spearman"]["co_occurrence"] <= 1
    head, *rows = rows_of(tmp_path / "out" / "pair_gradients.csv")
    assert len(rows) == 3 * 5 * 5
    # Each panel of the figure, in its order.
    assert list(dict.fromkeys(row[0] for row in rows)) == ["cross-entropy", "related", "unrelated"]
    for row in rows[:25]:
        assert row[1:3] == ["any label", "the true label"]
        assert float(row[5]) == pytest.approx(-1 / max(float(row[4]), 0.05), rel=1e-4)
    # With all other labels at 0.
    for _, first, second, one, other, gradient in rows[25:]:
        outputs = numpy.zeros(len(names))
        outputs[[names.index(first), names.index(second)]] = float(one), float(other)
        assert float(gradient) == pytest.approx(slope(outputs)[names.index(second)], rel=1e-3, abs=1e-6)
    assert summary["label_sets"]["rows"] == 60

    # The other runs are asked for numbers; each would draw for a second and a half.
    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)

    def asked(folder, *options, data=few):
        run("label-interactions", archive, data, "--output", tmp_path / folder, "--grid", 3, *options)

    def pairs_of(folder):
        return json.loads((tmp_path / folder / "summary.json").read_text())["pairs"]

    unrelated = ("--unrelated", "snow", "bins")
    pairs = ("--related", "rats", "bins", *unrelated)
    asked("asked", "--others", "means", *pairs)
    assert pairs_of("asked") == {"related": ["rats", "bins"], "unrelated": ["snow", "bins"]}
    asked("half", *unrelated)
    assert pairs_of("half") == {"related": [child, parent], "unrelated": ["snow", "bins"]}
    # For a file with the first row alone, the mean labels are the labels of that row.
    one = tmp_path / "one.jsonl"
    one.write_text(few.read_text().splitlines(keepends=True)[0])
    asked("gold", "--others", "gold", *pairs)
    asked("mean", "--others", "means", *pairs, data=one)
    of_gold, of_mean, of_all = (
        [float(row[-1]) for row in rows_of(tmp_path / name / "pair_gradients.csv")[1:]]
        for name in ("gold", "mean", "asked")
    )
    assert of_gold == pytest.approx(of_mean, rel=1e-4) and of_gold != pytest.approx(of_all, rel=1e-4)
    # A child that has all rows of its parent still comes first.
    equal = tmp_path / "equal.jsonl"
    equal.write_text("".join(json.dumps({"text": "a", "labels": labels}) + "\n" for labels in 2 * [["rats"], []]))
    asked("equal", data=equal)
    assert pairs_of("equal") == {"related": ["rats", "waste"]}
    # `--instances` takes the first rows of the file, whatever their lengths.
    ten = tmp_path / "ten.jsonl"
    ten.write_text("".join(few.read_text().splitlines(keepends=True)[:10]))
    for data in (few, ten):
        asked(data.stem, "--instances", 10, data=data)
    found, expected = (matrix_of(tmp_path / name / "negative_hessian.csv")[1] for name in ("few", "ten"))
    assert numpy.allclose(found, expected, rtol=1e-3, atol=1e-8)
    with pytest.raises(ConfigurationError, match="'cats'"):
        asked("bad", "--related", "cats", "bins")
    for option in ("--related", "--unrelated"):
        with pytest.raises(ConfigurationError, match="'bins'"):
            asked("bad", option, "bins", "bins")
    # The error comes before anything is computed.
    assert not list((tmp_path / "bad").iterdir())
    with pytest.raises(ConfigurationError, match="--grid"):
        asked("bad", "--grid", 1)


def test_features_without_a_loss_net(tmp_path, run, monkeypatch, allennlp_logging):
    monkeypatch.chdir(ROOT)
    data = ROOT / "data" / "multilabel_sample" / "valid.arff"
    archive = trained("multilabel_cross_entropy", tmp_path / "run", data)
    run("label-interactions", archive, data, "--output", tmp_path / "out")
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert "negative_hessian.csv" not in found and {"label_sets.csv", "interactions.png", "summary.json"} <= found
