"""How far the probabilities of whole outputs can be trusted: `python scripts/structure.py calibration`."""

import argparse
import itertools
import warnings
from collections.abc import Iterator
from contextlib import chdir
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from scripts.measure.suite import ROOT, UserError

EPILOG = """\
Instances are sorted by their probability and parted into fifths. The table has in percent: how many outputs are right
as a whole; the mean probability by the task-net alone, and as `seal predict` gives it; of each fifth the mean
probability, and how many are right; and the largest difference of the two in a fifth, with its standard error where
the probabilities are right. The log-loss (nats) and the Brier score are those of "this output is right"; low is good.

With --data it is measured on scikit-learn's logistic regression under StructuredClassifier; names are those of
`structure.py --data`. The last two columns are of single labels: the log-loss of the task-net's probabilities, and of
the calibrated ones, in nats.

examples:
  python scripts/structure.py calibration runs/structured/model.tar.gz data/srl_sample/test.gold_conll
  python scripts/structure.py calibration --data folder:yeast,bibtex
"""
PARTS = 5
# A probability of 0 or 1 counts as this far from it in the log-loss.
LEAST = 1e-6


class Outputs(NamedTuple):
    """For each instance the probability that its output is right, by structure and by task-net, and if it is."""

    probability: torch.Tensor
    own: torch.Tensor
    right: torch.Tensor


def parser(prog: str) -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(prog=prog, description=__doc__, epilog=EPILOG, formatter_class=style)
    result.add_argument("model", nargs="?", metavar="MODEL", help="an archive, or the folder of a run")
    result.add_argument("file", nargs="?", metavar="FILE", help="data with gold that the model has not seen")
    result.add_argument("--data", metavar="NAMES", help="label sets, in place of a model and a file; commas between")
    return result


def run(arguments: argparse.Namespace) -> None:
    if (arguments.data is None) == (arguments.file is None):
        raise UserError("calibration: name a model and a file of data, or --data NAMES.")
    header = ["n", "right", "task-net", "probability", *(f"fifth {part + 1}" for part in range(PARTS))]
    header += ["largest", "log-loss", "Brier"]
    names = ["data", *header, "labels, task-net", "labels"] if arguments.data else ["model", *header]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    if arguments.data is None:
        print(row(arguments.model, of_model(arguments.model, arguments.file)))
        return
    warnings.filterwarnings("ignore", message="Label .* is present in all")
    for name in arguments.data.split(","):
        with chdir(ROOT):
            for score, outputs, losses in of_label_sets(name):
                print(row(f"{name}, {score}", outputs, *(f"{loss:.3f}" for loss in losses)), flush=True)


def row(name: str, outputs: Outputs, *more: str) -> str:
    """A row of the table."""
    probability, right = outputs.probability.double(), outputs.right.double()
    parts = [(probability[part], right[part]) for part in fifths(probability)]
    means = [(float(of_part.mean()), float(right_of_part.mean())) for of_part, right_of_part in parts]
    far, place = max((abs(mean - share), place) for place, (mean, share) in enumerate(means))
    error = float((parts[place][0] * (1 - parts[place][0])).mean() / len(parts[place][0])) ** 0.5
    log_loss = F.binary_cross_entropy(probability.clamp(LEAST, 1 - LEAST), right)
    cells = [
        name,
        str(len(right)),
        *(f"{100 * float(v.double().mean()):.1f}" for v in (right, outputs.own, probability)),
    ]
    cells += [f"{100 * mean:.1f} / {100 * share:.1f}" for mean, share in means]
    cells += [f"{100 * far:.1f} ± {100 * error:.1f}", f"{log_loss:.3f}", f"{(probability - right).square().mean():.3f}"]
    cells += more
    return f"| {' | '.join(cells)} |"


def fifths(probability: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The places of each fifth, the least probable ones first."""
    if len(probability) < PARTS:
        raise UserError(f"calibration: at least {PARTS} outputs are needed, found {len(probability)}.")
    return probability.argsort(stable=True).tensor_split(PARTS)


def of_model(archive_file: str, path: str) -> Outputs:
    """The outputs of a trained model on data with gold."""
    from allennlp.models.archival import load_archive

    import seal.plugin  # noqa: F401
    from seal_inspect.archives import tensors_of

    archive = load_archive(archive_file)
    model, reader = archive.model.eval(), archive.validation_dataset_reader
    model.with_probability = True
    instances, found = iter(reader.read(path)), []
    while batch := list(itertools.islice(instances, 64)):
        with torch.no_grad():
            found.extend(_of_batch(model, tensors_of(model, reader, batch)))
    if not found:
        raise UserError(f"{path}: there is no output with gold.")
    return Outputs(*(torch.tensor(column) for column in zip(*found)))


def _of_batch(model: Any, batch: dict[str, Any]) -> Iterator[tuple[float, float, bool]]:
    from seal.tasks.multilabel import MultilabelModel
    from seal.tasks.parsing import ParsingModel, bracket_counts
    from seal.tasks.srl import SrlModel
    from seal.tasks.srl.srl_score import frame_counts

    output, metadata = model(**batch), batch["metadata"]
    rows = range(len(metadata))
    if isinstance(model, MultilabelModel):
        predicted, own = output["predicted"], output["probabilities"].double()
        unknown = model.unknown_gold.names_of(metadata) or [[] for _ in metadata]
        right = [bool((predicted[row] == batch["labels"][row].bool()).all()) and not unknown[row] for row in rows]
        alone = torch.where(predicted, own, 1 - own).prod(dim=1)
    else:
        named = model.make_output_human_readable(dict(output))
        if isinstance(model, ParsingModel):
            found = zip(named["symbols"], metadata)
            right = [bracket_counts(tree, item["symbols"], item["tags"]).exact for tree, item in found]
        elif isinstance(model, SrlModel):
            rows = batch["predicate"].any(dim=1).nonzero().squeeze(1).tolist()
            found = zip(named["tags"], metadata)
            right = [frame_counts(tags[: len(item["words"])], item["tags"]).exact for tags, item in found]
        else:
            right = [tags == list(item["tags"]) for tags, item in zip(named["tags"], metadata)]
        alone = output["log_prob"].double().clamp(max=0).exp()
    both = output.get("probability", alone)
    for place in rows:
        yield float(both[place]), float(alone[place]), right[place]


def of_label_sets(name: str) -> Iterator[tuple[str, Outputs, tuple[float, float]]]:
    """
    The outputs of a classifier with structure on test data for two scores, and the log-loss of single labels by its own
    and by calibrated probabilities.
    """
    from sklearn.linear_model import LogisticRegression

    from scripts.measure.classifiers import read
    from seal.sklearn import StructuredClassifier

    data = read(name)
    fitted = StructuredClassifier(LogisticRegression(max_iter=300)).fit(data.train, data.train_gold.astype(int))
    structure, scores, gold = fitted.structure_, fitted.scores(data.test), torch.from_numpy(data.test_gold).bool()
    of_labels = scores.logits.sigmoid(), structure.marginals(scores, calibrated=True)
    losses = [float(F.binary_cross_entropy(each.double(), gold.double())) for each in of_labels]
    for score in ("f1", "subset_accuracy"):
        labels = structure.decide(scores, score)
        alone = torch.where(labels, of_labels[0].double(), 1 - of_labels[0].double()).prod(dim=1)
        right = (labels == gold).all(dim=1)
        yield score, Outputs(structure.probability_of(scores, labels), alone, right), (losses[0], losses[1])
