"""scripts/stratify.py: shares of labels, and files that the reader reads."""

import numpy
import pytest
from scipy import sparse

from scripts import stratify
from seal.tasks.multilabel.data_files import read_multilabel

XML = "<labels><label name='red'/><label name='round'/></labels>"
ATTRIBUTES = "@attribute weight numeric\n@attribute red {0,1}\n@attribute round {0,1}\n"
HEADER = f"@relation fruit\n% a comment\n{ATTRIBUTES}@DATA\n"


def random_labels(rows=600, seed=0):
    """Of every rarity: the rarest have five rows."""
    random = numpy.random.default_rng(seed)
    rates = numpy.geomspace(5 / rows, 0.4, 30)
    labels = random.random((rows, 30)) < rates
    labels[:5, 0] = True
    return labels


def test_each_label_has_its_share_of_each_part():
    labels, shares = random_labels(), [0.6, 0.2, 0.2]
    part_of = stratify.iterative_stratification(sparse.csr_array(labels), shares, seed=13)
    some = labels.any(axis=1)
    assert ((part_of >= 0) == some).all()
    sizes = numpy.bincount(part_of[some], minlength=3)
    assert abs(sizes - some.sum() * numpy.array(shares)).max() <= 0.03 * some.sum()
    wanted = numpy.outer(labels.sum(axis=0), shares)
    found = numpy.stack([labels[part_of == part].sum(axis=0) for part in range(3)], axis=1)
    assert abs(found - wanted).max() <= 3
    # A random split is several times further off.
    at_random = numpy.random.default_rng(1).permutation(part_of)
    other = numpy.stack([labels[at_random == part].sum(axis=0) for part in range(3)], axis=1)
    assert abs(found - wanted).mean() < 0.3 * abs(other - wanted).mean()


def test_seeds():
    labels = sparse.csr_array(random_labels())
    one, same, other = (stratify.iterative_stratification(labels, [0.5, 0.5], seed) for seed in (1, 1, 2))
    assert (one == same).all() and (one != other).any()


def write(folder, name, rows):
    (folder / name).write_text(HEADER + rows)
    return str(folder / name)


def test_files(tmp_path, capsys):
    (tmp_path / "labels.xml").write_text(XML)
    rows = [f"{n}.5,{n % 2},{n % 3 // 2}" for n in range(1, 61)]
    inputs = [
        write(tmp_path, "a.arff", "\n".join(rows[:30]) + "\n\n% more\n"),
        write(tmp_path, "b.arff", "\n".join(rows[30:])),
    ]
    out, xml = tmp_path / "out", str(tmp_path / "labels.xml")
    assert stratify.main([*inputs, "--label-xml", xml, "--out", str(out)]) == 0
    assert "without a label, left out: 20" in capsys.readouterr().out
    found = []
    for part in stratify.PARTS:
        text = (out / f"{part}.arff").read_text()
        assert text.startswith(HEADER)
        lines = text[len(HEADER) :].splitlines()
        assert lines == sorted(lines, key=rows.index)
        data = read_multilabel(str(out / f"{part}.arff"), label_xml=xml)
        assert data.labels.shape == (len(lines), 2) and data.labels.sum(axis=1).min() >= 1
        found.append(lines)
    assert all(abs(len(lines) - share) <= 1 for lines, share in zip(found, (24, 8, 8)))
    assert sorted(sum(found, [])) == sorted(row for row in rows if not row.endswith(",0,0"))


@pytest.mark.parametrize(
    "more, told",
    [
        (["--shares", "60,40"], "--shares: three numbers above 0 that sum to 100, as 60,20,20, not '60,40'."),
        (["--shares", "60,a,b"], "--shares: three numbers"),
        (["other.arff"], "other.arff: its attributes are not those of {path}, in their order."),
        (["--label-xml", "none.xml"], "none.xml"),
    ],
)
def test_mistakes(tmp_path, monkeypatch, capsys, more, told):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, "a.arff", "1,1,0\n")
    (tmp_path / "other.arff").write_text("@relation x\n@attribute a numeric\n@data\n1\n")
    assert stratify.exit_status(lambda: stratify.main([path, *more, "--out", "out"])) == 2
    assert told.format(path=path) in capsys.readouterr().err


def test_an_input_is_never_overwritten(tmp_path, capsys):
    path = write(tmp_path, "train.arff", "1,1,0\n")
    assert stratify.exit_status(lambda: stratify.main([path, "--out", str(tmp_path)])) == 2
    assert "train.arff is an input" in capsys.readouterr().err
