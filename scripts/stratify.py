"""Split a multi-label data set in ARFF into train, valid and test, by iterative stratification."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

import numpy
from scipy import sparse

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.measure.command import exit_status, make_folder, mistakes_of_the_library
from scripts.measure.files import atomic_write
from scripts.measure.user_error import UserError

PARTS = ("train", "valid", "test")
EPILOG = """\
Each label has about its share of rows in every part, the rarest labels first (Sechidis, Tsoumakas & Vlahavas 2011).
The rows of each part are in their order. Rows without a label are left out, as in the papers' evaluation. Equal inputs
and seeds give equal files.

examples:
  python scripts/stratify.py data/bibtex/bibtex.arff --label-xml data/bibtex/bibtex.xml --out data/bibtex
  python scripts/stratify.py mine-train.arff mine-test.arff --label-xml mine.xml --shares 80,10,10 --out data/mine
"""


def parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=style)
    add = result.add_argument
    add("inputs", nargs="+", metavar="ARFF", help="files with the same attributes in the same order")
    add("--out", type=Path, required=True, metavar="FOLDER", help="gets train.arff, valid.arff and test.arff")
    add("--label-xml", metavar="XML", help="Mulan's list of labels, where the files do not say which they are")
    add("--shares", default="60,20,20", help="percent of train, valid and test (default: %(default)s)")
    add("--seed", type=int, default=13, help="(default: %(default)s)")
    return result


def iterative_stratification(labels: "sparse.csr_array", shares: Sequence[float], seed: int) -> numpy.ndarray:
    """
    Assigns rows to parts (Sechidis, Tsoumakas & Vlahavas 2011, Algorithm 1): of the labels with rows that are left, the
    one with the fewest is next; each of its rows goes to the part that lacks most rows of the label, if parts tie to
    the one that lacks most rows, and if these tie to a random one.

    # Parameters

    labels : `scipy.sparse.csr_array`
        Boolean, shape (rows, labels).
    shares : `Sequence[float]`
        Of the parts; they sum to 1.
    seed : `int`

    # Returns

    `numpy.ndarray`, shape (rows,): the index of a part, or -1 for a row without a label.
    """
    random = numpy.random.default_rng(seed)
    by_label = labels.tocsc()
    left = numpy.diff(by_label.indptr)
    lacks = numpy.count_nonzero(numpy.diff(labels.indptr)) * numpy.array(shares)
    lacks_of_label = numpy.outer(left, shares)
    part_of = numpy.full(labels.shape[0], -1)
    while left.any():
        label = int(numpy.where(left > 0, left, left.max() + 1).argmin())
        rows = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
        for row in random.permutation(rows[part_of[rows] < 0]):
            wanted = lacks_of_label[label]
            best = numpy.flatnonzero(wanted == wanted.max())
            best = best[lacks[best] == lacks[best].max()]
            part = part_of[row] = random.choice(best)
            of_row = labels.indices[labels.indptr[row] : labels.indptr[row + 1]]
            lacks_of_label[of_row, part] -= 1
            lacks[part] -= 1
            left[of_row] -= 1
    return part_of


def shares_of(source: str) -> list[float]:
    """The shares of `--shares`, which sum to 1."""
    try:
        percent = [float(number) for number in source.split(",")]
    except ValueError:
        percent = []
    if len(percent) != len(PARTS) or min(percent) <= 0 or abs(sum(percent) - 100) > 1e-6:
        raise UserError(f"--shares: three numbers above 0 that sum to 100, as 60,20,20, not '{source}'.")
    return [number / 100 for number in percent]


def split(inputs: Sequence[str], out: Path, label_xml: Optional[str], shares: Sequence[float], seed: int) -> list[int]:
    """Writes the parts; returns the number of rows of each, and of those without a label, which are in none."""
    from seal.tasks.multilabel.arff import read_header
    from seal.tasks.multilabel.data_files import read_multilabel

    make_folder("out", out)
    paths = {part: out / f"{part}.arff" for part in PARTS}
    for path in paths.values():
        if any(path.exists() and Path(file).exists() and path.samefile(file) for file in inputs):
            raise UserError(f"--out: {path} is an input; name another folder.")
    with mistakes_of_the_library():
        names = [[attribute.name for attribute in read_header(file, "number").attributes] for file in inputs]
        for file, found in zip(inputs, names):
            if found != names[0]:
                raise UserError(f"{file}: its attributes are not those of {inputs[0]}, in their order.")
        data = read_multilabel(inputs, label_xml=label_xml, missing="zero", repeated_names="number")
        header, rows = _lines(inputs, set(data.source[:]))
    part_of = iterative_stratification(data.labels, shares, seed)
    for number, part in enumerate(PARTS):
        with atomic_write(paths[part]) as draft, open(draft, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in header)
            file.writelines(f"{rows[data.source[int(row)]]}\n" for row in numpy.flatnonzero(part_of == number))
    return [int((part_of == number).sum()) for number in (*range(len(PARTS)), -1)]


def _lines(inputs: Sequence[str], wanted: set[str]) -> tuple[list[str], dict[str, str]]:
    """The header of the first file, `@data` included, and the lines of `wanted` places, `file:line`, by these."""
    from seal.files.text_lines import text_lines

    header: list[str] = []
    rows: dict[str, str] = {}
    for file in inputs:
        in_header = file == inputs[0]
        for number, line in text_lines(file, "ARFF"):
            if in_header:
                header.append(line.rstrip())
                in_header = not line.strip().lower().startswith("@data")
            elif f"{file}:{number}" in wanted:
                rows[f"{file}:{number}"] = line.strip()
    return header, rows


def main(argv: Optional[list[str]] = None) -> int:
    arguments = parser().parse_args(argv)
    shares = shares_of(arguments.shares)
    *found, without = split(arguments.inputs, arguments.out, arguments.label_xml, shares, arguments.seed)
    numbers = ", ".join(f"{number:,} of {part}" for number, part in zip(found, PARTS))
    print(f"{arguments.out}: rows: {numbers}; without a label, left out: {without:,}")
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
