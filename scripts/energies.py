"""Compare the energies of a structure of tags on what a finished run's folds have kept: seconds a comparison."""

import argparse
import dataclasses
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.measure.command import exit_status
from scripts.measure.suite import UserError

EPILOG = """\
The energies are learned on all folds but the last. Of the last one, whose net has not seen it either, every second
batch chooses the L2 penalty, and the others are measured. Neither dev nor test data are touched.

For each list of energies the table has, in percent: F1 of the outputs of the best expected F1; UCR of these (frames
with a core role more than once); exact match of the likeliest outputs; in how many of the instances whose gold competes
it comes first. Then the scale of the log-probability, the penalty, and CPU seconds: of learning, and of choosing by
both.

example:
  python scripts/energies.py runs/structured
"""


def parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=style)
    add = result.add_argument
    add("run", type=Path, metavar="RUN", help="a folder of `seal train` with folds/ of tags")
    add("--candidates", type=int, default=20, help="so many compete, at most those of the run (default: %(default)s)")
    add(
        "--energies",
        metavar="JSON",
        help="a list as in a config; by default those that a structure has by default, those of roles and keys among "
        "these, with each of the others, and all but each",
    )
    return result


class Folds:
    """What a run's folds have kept: the parts to learn from, to choose by, and to measure."""

    def __init__(self, folder: Path, candidates: int) -> None:
        import torch

        from seal.structure import TagPaths

        files = sorted(folder.glob("folds/*/held_out.pt"))
        if len(files) < 2:
            raise UserError(
                f"{folder}: two folds are needed that were scored (folds/*/held_out.pt), found {len(files)}."
            )
        parts = [[TagPaths(**record) for record in torch.load(file) if len(record["tags"])] for file in files]
        parts = [[_first(paths, candidates) for paths in part] for part in parts]
        self.training = [paths for part in parts[:-1] for paths in part]
        self.choosing, self.measured = parts[-1][::2], parts[-1][1::2]
        model = json.loads((folder / "config.json").read_text(encoding="utf-8"))["model"]
        space = model["output_space"]
        names = folder / "vocabulary" / f"{space.get('namespace', 'tags')}.txt"
        self.tags = names.read_text(encoding="utf-8").splitlines()
        self.encoding, self.keyed = space.get("encoding", "BIO"), model["type"] == "seal_srl"
        if self.encoding == "auto":
            from allennlp.data import Vocabulary

            from seal.output_spaces import TagSequence

            self.encoding = TagSequence(Vocabulary.from_files(str(folder / "vocabulary")), encoding="auto").encoding


def _first(paths: Any, candidates: int) -> Any:
    scores = paths.token_log_prob
    return dataclasses.replace(
        paths,
        tags=paths.tags[:, :candidates],
        log_prob=paths.log_prob[:, :candidates],
        token_log_prob=None if scores is None else scores[:, :candidates],
    )


def lists(folds: Folds) -> dict[str, Optional[list[Any]]]:
    """By their names the lists of energies that are compared."""
    from seal.structure.tag_structure import DEFAULT_ENERGIES

    every = DEFAULT_ENERGIES[folds.encoding is not None, folds.keyed]
    of_roles, further = [[one for one in every if _sees_words(one) is seen] for seen in (False, True)]
    found = {"roles and keys alone": of_roles, **{f"and {_name(one)}": [*of_roles, one] for one in further}}
    found["all"] = every
    return found | {f"all but {_name(one)}": [other for other in every if other is not one] for one in every}


def _name(energy: Any) -> str:
    return energy if isinstance(energy, str) else energy["type"]


def _sees_words(energy: Any) -> bool:
    return _name(energy).startswith(("span_", "token_"))


def row(folds: Folds, name: str, energies: Optional[list[Any]], own: bool = False) -> str:
    """A row of the table."""
    import torch

    from seal.structure import Ratio, TagStructure
    from seal.structure.energies.roles import CORE_ROLES

    structure = TagStructure(folds.tags, folds.encoding, folds.keyed, energies)
    start = time.process_time()
    report = {} if own else structure.fit(folds.training, folds.choosing)
    learned = time.process_time()
    structure.chosen = {"f1": "own"} if own else {"f1": "expected_score"}
    best = [structure.decide(paths, "f1")[0] for paths in folds.measured]
    structure.chosen = {"f1": "own"} if own else {"f1": "likeliest"}
    likeliest = [structure.decide(paths, "f1")[0] for paths in folds.measured]
    chosen = time.process_time()
    core = torch.tensor([role in CORE_ROLES for role in structure.scheme.roles])
    scores: dict[str, list[Any]] = {"f1": [], "ucr": [], "exact": [], "first": []}
    for one, other, paths in zip(best, likeliest, folds.measured):
        gold = paths.gold.long()
        scores["f1"].append(structure.scorer.f1(one, gold, paths.mask))
        counts = structure.scheme.spans(one.unsqueeze(1), paths.mask).role_counts()
        twice = (counts[:, 0, core] > 1).any(dim=1)
        scores["ucr"].append(Ratio(twice.double(), torch.ones(len(twice))))
        scores["exact"].append(structure.scorer.exact_match(other, gold, paths.mask))
        competes = ((paths.tags == gold.unsqueeze(1)) | ~paths.mask.unsqueeze(1)).all(dim=2).any(dim=1)
        right = ((other == gold) | ~paths.mask).all(dim=1)
        scores["first"].append(Ratio(right * competes, competes.double()))
    cells = [name]
    for ratios in scores.values():
        joined = Ratio(*(torch.cat([getattr(r, side) for r in ratios]) for side in ("numerators", "denominators")))
        cells.append(f"{100 * joined.value:.2f}")
    if not own:
        cells += [f"{report['scale']:.2f}", f"{report['l2']:g}", f"{learned - start:.0f}, {chosen - learned:.1f}"]
    return "| " + " | ".join(cells + [""] * (8 - len(cells))) + " |"


def run(arguments: argparse.Namespace) -> None:
    folds = Folds(arguments.run, arguments.candidates)
    print("| energies | F1 | UCR | exact match | gold first | scale | L2 | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    print(row(folds, "the task-net's own", None, own=True), flush=True)
    if arguments.energies is not None:
        print(row(folds, arguments.energies, json.loads(arguments.energies)))
        return
    for name, energies in lists(folds).items():
        print(row(folds, name, energies), flush=True)


def main(argv: Optional[list[str]] = None) -> int:
    # Set before torch is imported.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    arguments = parser().parse_args(argv)
    return exit_status(lambda: run(arguments))


if __name__ == "__main__":
    sys.exit(main())
