"""
The sub-commands `structure learn` and `structure apply`: `StructuredTagger` from files, for taggers in any programming
language or framework. They do not need AllenNLP.
"""

import argparse
import json
import sys
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy

from seal.common.setting_checks import abbreviate, check_range, check_that, suggest
from seal.files.atomic_files import atomic_write
from seal.files.records import read_json
from seal.files.text_lines import text_lines
from seal.registry import ConfigurationError
from seal.tagger import Candidate, StructuredTagger
from seal.tagger.data import ENCODINGS

FILES = """\
SCORES is a file of NumPy (np.savez), without pickles:

  emissions    (tokens, tags), sentence after sentence, or padded (sentences, tokens, tags)
  lengths      (sentences,), how many tokens each sentence has
  labels       (tags,), the names of the tags
  transitions, start_transitions, end_transitions    of a CRF, where there is one

A line of GOLD is the list of a sentence's tags, or an object with

  tags         ["B-A", "O"]
  words        ["Anna", "came"], by which the energy also sees between which words a span stands, and knows names
  key          "come", what a frame is about, such as its predicate's word
  predicate    1, the place of a frame's predicate among the words, from 0

Of the last three all lines have the same. What was learned with is then given for what is predicted: by --inputs, a
file of such lines, whose tags do not count.

example:
  seal structure learn scores.npz gold.jsonl --out tagger
  seal structure apply tagger scores.npz --inputs words.jsonl > predicted.jsonl
"""


#: The keys of a line, by the argument of `StructuredTagger.fit`, and the types of their values.
_ARGUMENTS = {"gold": "tags", "words": "words", "keys": "key", "predicates": "predicate"}
_KINDS = {"tags": list, "words": list, "key": str, "predicate": int}


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """
    Adds the sub-command, which learns from a tagger's scores and gold to choose among its best tag sequences, and
    applies this to other scores.
    """
    summary = "Choose among the best tag sequences of any tagger, by its scores in a file."
    parser = subparsers.add_parser("structure", description=summary, help=summary)
    _add_parts(parser)
    return parser


def _add_parts(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(title="parts", metavar="learn|apply", required=True)
    style = argparse.RawDescriptionHelpFormatter
    text = "Learn from held-out scores, those of a tagger that has not seen the sentence, and write a folder."
    learning = parts.add_parser("learn", description=text, help=text, epilog=FILES, formatter_class=style)
    learning.add_argument("scores", metavar="SCORES", help="a file of NumPy, see below")
    learning.add_argument("gold", metavar="GOLD", help="a file of JSON lines, see below")
    learning.add_argument("--out", required=True, metavar="FOLDER", help="the folder for what is learned")
    encodings = [name or "none" for name in ENCODINGS]
    learning.add_argument("--encoding", choices=encodings, default="BIO", help="of the tags")
    learning.add_argument("--score", default="f1", help="f1, accuracy or exact_match")
    learning.add_argument("--valid-scores", metavar="FILE", help="scores of the final tagger, by which to choose")
    learning.add_argument(
        "--valid-gold", metavar="FILE", help="their gold; without, a quarter of the sentences chooses"
    )
    learning.add_argument(
        "--settings", default="{}", metavar="JSON", help='such as {"energies": ["role_counts"], "num_candidates": 10}'
    )
    learning.set_defaults(func=learn)
    text = "Predict by what was learned: a line of JSON for each sentence."
    applying = parts.add_parser("apply", description=text, help=text, epilog=FILES, formatter_class=style)
    applying.add_argument("folder", metavar="FOLDER", help="what learn wrote")
    applying.add_argument("scores", metavar="SCORES", help="a file of NumPy, see below")
    applying.add_argument(
        "--inputs",
        "--keys",
        metavar="FILE",
        help="a file of JSON lines, where words, keys or predicates were learned with",
    )
    applying.add_argument("--k", type=int, help="also the K likeliest sequences, with probabilities and energy")
    applying.add_argument("--out", metavar="FILE", help="a file in place of standard output")
    applying.set_defaults(func=apply)


def learn(args: argparse.Namespace) -> None:
    """Learns a structure, saves it, and prints the scores by which its gate chose."""
    settings = read_json(args.settings, "--settings is not JSON")
    if not isinstance(settings, dict) or set(settings) - {"energies", "constraints", "num_candidates"}:
        raise ConfigurationError(
            f"--settings: an object of energies, constraints, num_candidates is needed, found {abbreviate(settings)}."
        )
    labels, emissions, transitions = _scores(args.scores)
    given: dict[str, Any] = _lines(args.gold, ["tags"])
    encoding = None if args.encoding == "none" else args.encoding
    tagger = StructuredTagger(labels, encoding, transitions, score=args.score, **settings)
    valid: Any = 0.25
    if (args.valid_scores is None) != (args.valid_gold is None):
        raise ConfigurationError("--valid-scores and --valid-gold: both are needed, or neither.")
    if args.valid_scores is not None:
        names, chosen_by, _ = _scores(args.valid_scores)
        check_that(names == labels, "--valid-scores: the labels", f"those of {args.scores}", names)
        valid = {"emissions": chosen_by, **_lines(args.valid_gold, ["tags"])}
        for name, found in given.items():
            if found is not None and valid[name] is None:
                raise ConfigurationError(
                    f"{args.valid_gold}: there is no '{_ARGUMENTS[name]}', and {args.gold} has it."
                )
    tagger.fit(emissions, **given, valid=valid)
    tagger.save(args.out)
    for score, found in tagger.report_["decisions"].items():
        own, chosen = (100 * found["values"][option] for option in ("own", found["option"]))
        print(f"{score} of what chooses: {own:.2f} own, {chosen:.2f} chosen; {found['told']}")


def apply(args: argparse.Namespace) -> None:
    """Predicts with a learned structure, and writes a line of JSON for each sentence."""
    tagger = StructuredTagger.load(args.folder)
    labels, emissions, _ = _scores(args.scores)
    wanted_labels = f"those that {args.folder} has learned with"
    check_that(labels == tagger.labels, f"{args.scores}: the labels", wanted_labels, labels)
    wanted = [_ARGUMENTS[name] for name in tagger.needs]
    if wanted and args.inputs is None:
        raise ConfigurationError(f"--inputs: {args.folder} has learned with '{wanted[0]}'; give a file that has it.")
    given: dict[str, Any] = {} if args.inputs is None else _lines(args.inputs, wanted)
    given.pop("gold", None)
    if args.k is None:
        records: list[dict[str, Any]] = [{"tags": tags} for tags in tagger.predict(emissions, **given)]
    else:
        check_range("--k", args.k, least=1)
        records = [_with_candidates(found, args.k) for found in tagger.predict_k(emissions, **given)]
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    if args.out is None:
        sys.stdout.write(text)
        return
    with atomic_write(args.out) as draft, open(draft, "w", encoding="utf-8") as file:
        file.write(text)


def _with_candidates(found: list[Candidate], k: int) -> dict[str, Any]:
    names = ("tags", "log_prob", "energy", "terms", "joint")
    candidates = [{name: getattr(one, name) for name in names} for one in found[:k]]
    return {"tags": next((one.tags for one in found if one.chosen), []), "candidates": candidates}


def _scores(path: str) -> tuple[list[str], Any, dict[str, numpy.ndarray] | None]:
    """Reads the labels, the emissions of each sentence, and a CRF's transitions from a NumPy file."""
    try:
        with numpy.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read ({error.strerror or error}).") from error
    except (ValueError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise ConfigurationError(
            f"{path} is no file of np.savez without pickles; name SCORES before GOLD, and write labels as "
            "numpy.array(labels, dtype=str)."
        ) from error
    for name in ("emissions", "labels"):
        if name not in arrays:
            raise ConfigurationError(f"{path}: there is no array '{name}'; it has {', '.join(sorted(arrays))}.")
    emissions, lengths = arrays["emissions"], arrays.get("lengths")
    fits = emissions.ndim == 3 or (emissions.ndim == 2 and lengths is not None)
    wanted = "(tokens, tags) with lengths, or (sentences, tokens, tags)"
    check_that(fits, f"{path}: emissions", wanted, emissions.shape)
    counts = [] if lengths is None else [int(length) for length in lengths.ravel()]
    if emissions.ndim == 2:
        fits = min(counts, default=0) >= 0 and sum(counts) == len(emissions)
        check_that(fits, f"{path}: the sum of lengths", f"{len(emissions)}, the number of tokens", sum(counts))
        emissions = numpy.split(emissions, numpy.cumsum(counts)[:-1]) if counts else []
    elif lengths is not None:
        fits = len(counts) == len(emissions) and all(0 <= count <= emissions.shape[1] for count in counts)
        check_that(fits, f"{path}: lengths", f"{len(emissions)} numbers, 0 to {emissions.shape[1]}", counts)
        emissions = [rows[:length] for rows, length in zip(emissions, counts)]
    pairs = {name: arrays[name] for name in ("transitions", "start_transitions", "end_transitions") if name in arrays}
    return [str(label) for label in arrays["labels"]], emissions, pairs or None


def _lines(path: str, wanted: Sequence[str]) -> dict[str, list[Any] | None]:
    """
    Reads a file of JSON lines. Returns a list with a value for each sentence, by the argument of
    `StructuredTagger.fit`; `None` for an argument that no line has. Each line must have the keys `wanted`.
    """
    found: dict[str, list[Any]] = {name: [] for name in _ARGUMENTS}
    for number, line in text_lines(path):
        record = read_json(line, "it is not JSON", f"{path}:{number}")
        record = {"tags": record} if isinstance(record, list) else record
        if not isinstance(record, dict) or not set(wanted) <= set(record):
            missing = "', '".join(name for name in wanted if not isinstance(record, dict) or name not in record)
            raise ConfigurationError(
                f"{path}:{number}: an object with '{missing}' is needed, found {abbreviate(record)}."
            )
        for name in record:
            if name not in _ARGUMENTS.values():
                told = suggest(name, _ARGUMENTS.values())
                raise ConfigurationError(f"{path}:{number}: the key '{name}' is not known{told}")
        for argument, name in _ARGUMENTS.items():
            value = record.get(name)
            fits = value is None or isinstance(value, _KINDS[name])
            check_that(fits, f"{path}:{number}: '{name}'", "as --help says", value)
            found[argument].append(value)
    for argument, values in found.items():
        without = sum(value is None for value in values)
        if 0 < without < len(values):
            raise ConfigurationError(
                f"{path}:{values.index(None) + 1}: there is no '{_ARGUMENTS[argument]}', and other lines have one."
            )
    return {argument: None if None in values else values for argument, values in found.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command in an environment without AllenNLP; returns its exit status."""
    parser = argparse.ArgumentParser(prog="seal structure", description=__doc__)
    _add_parts(parser)
    args = parser.parse_args(arguments)
    try:
        args.func(args)
    except ConfigurationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
