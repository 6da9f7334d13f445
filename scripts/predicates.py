"""
Measure what finds the predicates of a file with frames: the head of a model of roles, the verbs of a tagger, and both.
"""

import argparse
import json
import sys
from itertools import islice
from pathlib import Path
from typing import Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.measure.command import at_least_one, exit_status, mistakes_of_the_library
from scripts.measure.suite import UserError


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("model", help="the archive of a model of roles")
    result.add_argument("tagger", help="the archive of a model of parts of speech")
    result.add_argument("data", help="sentences with frames, CoNLL-2012 columns or JSON lines")
    result.add_argument("--sentences", type=int, help="how many, from the first (default: all)")
    return result


def scores(found: list[list[int]], gold: list[set[int]]) -> dict[str, float]:
    """
    Precision, recall and F1 of places, in percent; and `silent`, the percentage of sentences with a predicate in which
    nothing is found.
    """
    pairs = [(set(some), wanted) for some, wanted in zip(found, gold)]
    right = sum(len(some & wanted) for some, wanted in pairs)
    given, wanted = sum(len(some) for some, _ in pairs), sum(len(wanted) for _, wanted in pairs)
    silent = [not some for some, wanted in pairs if wanted]
    table = {
        "precision": right / max(given, 1),
        "recall": right / max(wanted, 1),
        "f1": 2 * right / max(given + wanted, 1),
        "silent": sum(silent) / max(len(silent), 1),
    }
    return {name: round(100 * value, 1) for name, value in table.items()}


def measured(model: str, tagger: str, data: str, most: Optional[int]) -> dict[str, dict[str, float]]:
    """The scores by what finds the predicates. Raises `UserError` if `model` is no model of roles."""
    from allennlp.models.archival import load_archive

    import seal  # noqa: F401
    from seal.dataset_readers.srl_files import read_srl_sentences
    from seal.models import SrlModel
    from seal.predictors.predicates import IndexedSentence, ModelPredicateFinder, PredicateFinder, TaggerPredicateFinder
    from seal.predictors.words import join_words

    class Nothing(PredicateFinder):
        def find(self, sentences: list[IndexedSentence]) -> list[list[int]]:
            return [[] for _ in sentences]

    archive = load_archive(model)
    if not isinstance(archive.model, SrlModel):
        raise UserError(f"{model} is no model of roles ('seal_srl'): name one first, and then the tagger.")
    sentences = list(islice(read_srl_sentences(data), most))
    gold = [set(sentence.predicates) for sentence in sentences]
    vocab = archive.model.eval().vocab
    indexed = [IndexedSentence(join_words(one.words), archive.dataset_reader, vocab) for one in sentences]
    head = ModelPredicateFinder(archive.model, device=-1)
    finders = {
        "the model's head": head,
        "the tagger's verbs": TaggerPredicateFinder(tagger, device=-1, beside=Nothing()),
        "both": TaggerPredicateFinder(tagger, device=-1, beside=head),
    }
    return {name: scores(finder.find(indexed), gold) for name, finder in finders.items()}


def run(arguments: argparse.Namespace) -> None:
    at_least_one(arguments, "sentences")
    with mistakes_of_the_library():
        for name, found in measured(arguments.model, arguments.tagger, arguments.data, arguments.sentences).items():
            print(json.dumps({"found by": name, **found}))


def main(argv: Optional[list[str]] = None) -> int:
    arguments = parser().parse_args(argv)
    return exit_status(lambda: run(arguments))


if __name__ == "__main__":
    sys.exit(main())
