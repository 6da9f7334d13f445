"""scripts/structure.py: label sets with structure, on top of scikit-learn's classifiers."""

import numpy
import pandas
import pytest
from scipy import sparse

from scripts import structure
from scripts.measure import classifiers, structure_tables
from scripts.measure.files import read_json


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A run on the sample with one seed, and the arguments that repeat it."""
    out = tmp_path_factory.mktemp("structure") / "out"
    nets = classifiers.TASK_NETS
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(nets, "random forest", (lambda leaf, seed: nets_forest(leaf, seed), (1,)))
        arguments = ["--data", "sample", "--task-nets", "random forest", "--seeds", "1", "--out", str(out)]
        assert structure.main(arguments) == 0
    return out, arguments


def nets_forest(leaf, seed):
    return classifiers.forest(leaf, seed).set_params(n_estimators=10)


def test_its_scores_are_those_of_its_rows(small):
    out, _ = small
    folder = out / "runs" / "sample-random_forest"
    found = read_json(folder / "1.json")
    assert found["report"]["size"] == [1100, 400, 30] and 0.5 < found["report"]["test_gold_competes"] < 1
    table = pandas.read_csv(out / "results.csv").set_index("score")
    for score in structure_tables.SCORES:
        for kind in ("own", "structured"):
            rows = numpy.asarray(found["rows"][f"{kind} {score}"])
            assert len(rows) == 400
            assert table.loc[score, kind] == pytest.approx(100 * rows[:, 0].sum() / rows[:, 1].sum(), abs=0.005)
        gain = table.loc[score, "structured"] - table.loc[score, "own"]
        assert table.loc[score, "gain"] == pytest.approx(gain, abs=0.02)
    # Labels of the sample depend on each other.
    assert table.loc["subset_accuracy", "gain"] > 5 and table.loc["subset_accuracy", "p_holm"] < 0.05
    page = (out / "results.md").read_text(encoding="utf-8")
    assert "## random forest" in page and "Significantly worse: none." in page


def test_what_is_measured_is_not_measured_again(small, monkeypatch):
    out, arguments = small
    before = (out / "results.csv").read_bytes()
    monkeypatch.setattr(classifiers, "read", lambda name: pytest.fail("read again"))
    assert structure.main(arguments) == 0
    assert (out / "results.csv").read_bytes() == before


def test_each_seed_has_a_split_of_all_rows():
    x, gold = numpy.arange(30.0).reshape(10, 3), numpy.arange(20).reshape(10, 2) % 3 == 0
    data = classifiers.Data(x[:7], gold[:7], x[7:], gold[7:])
    for seed in (1, 2):
        found = data.shuffled(seed)
        rows, labels = (numpy.concatenate([found[place], found[place + 2]]) for place in (0, 1))
        assert len(found.train) == 7 and len(found.test_gold) == 3
        order = rows[:, 0].argsort()
        assert (rows[order] == x).all() and (labels[order] == gold).all()
    assert not numpy.array_equal(data.shuffled(1).test, found.test)
    twice = classifiers.Data(x[[0, 0, 1, 2]], gold[[0, 0, 1, 2]], x[[0, 1]], gold[[0, 1]])
    for seed in range(5):
        found = twice.shuffled(seed)
        assert not {tuple(row) for row in found.train} & {tuple(row) for row in found.test}
        assert len(found.train) <= 4 and len(found.train) + len(found.test) == 6
    found = data.shuffled(2)
    sparsely = data._replace(train=sparse.csr_matrix(data.train), test=sparse.csr_matrix(data.test)).shuffled(2)
    assert (sparsely.test.toarray() == found.test).all()


def test_holm():
    found = structure_tables.holm(numpy.array([0.04, 0.01, 0.03, 0.5]))
    assert found == pytest.approx([0.09, 0.04, 0.09, 0.5])


def test_texts_are_weighted_words_with_the_labels_of_training():
    data = classifiers.read("text:sample")
    assert data.train.shape[0] == len(data.train_gold) == 650 and data.test.shape[0] == len(data.test_gold) == 200
    assert data.train.shape[1] == data.test.shape[1] and data.train_gold.shape[1] == data.test_gold.shape[1] == 24
    assert data.train_gold.any(axis=1).all() and data.test_gold.any(axis=1).all()


def test_folders_of_ones_own(tmp_path):
    """Vectors are standardised by the training data, and any file of texts is read."""
    for name in ("train", "valid", "test"):
        values = [(1000 + 10 * row, row % 2, (row // 2) % 2) for row in range(8)]
        lines = ["@relation r", "@attribute x numeric", "@attribute a {0,1}", "@attribute b {0,1}", "@data"]
        text = "\n".join([*lines, *(",".join(map(str, row)) for row in values)])
        (tmp_path / f"{name}.arff").write_text(text + "\n")
    (tmp_path / "labels.xml").write_text('<labels><label name="a"></label><label name="b"></label></labels>')
    data = classifiers.read(f"folder:{tmp_path}")
    assert data.train.shape == (16, 1) and data.train_gold.shape == (16, 2) and data.test.shape == (8, 1)
    assert data.train.mean() == pytest.approx(0, abs=1e-5) and data.train.std() == pytest.approx(1, abs=1e-4)
    texts = tmp_path / "texts"
    texts.mkdir()
    for name in ("train", "dev", "test"):
        rows = ['{"text": "dogs bark", "labels": ["a"]}', '{"text": "dogs and cats", "labels": ["a", "b"]}'] * 2
        (texts / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    data = classifiers.read(f"texts:{texts}")
    assert data.train.shape[0] == 8 and data.train_gold.sum() == 12 and data.test_gold.shape == (4, 2)


def test_rivals_stand_beside_the_structure(small, tmp_path):
    rng = numpy.random.default_rng(0)
    x, gold = rng.standard_normal((80, 3)), rng.random((80, 3)) < 0.4
    data = classifiers.Data(x[:60], gold[:60], x[60:], gold[60:])
    found = classifiers.others(data, lambda seed: classifiers.logistic_regression(1.0, seed), 1)
    assert list(found)[:3] == ["classifier chain", "ensemble of 10 chains", "label powerset"]
    assert numpy.shape(found["label powerset"]["f1"]) == (20, 2)
    assert all(min(rival["seconds"]) > 0 for rival in found.values())


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--data", "sample", "--task-nets", "forest"], "--task-nets"),
        (["--data", "sample", "--seeds", "0"], "--seeds"),
        ([], "--data"),
        (["--data", "texts:nope"], "nope"),
        (["--data", "text:nope"], "text:nope"),
        (["--data", "folder:nope"], "data/nope"),
    ],
)
def test_mistakes(arguments, message, capsys, tmp_path):
    assert structure.main([*arguments, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
