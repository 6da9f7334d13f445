"""
The parts of a report that are about examples: scores by label, mistakes, and where an energy errs.
"""

from seal.commands.findings import NOTHING, Example, Findings
from seal.commands.report_page import NONE, Report, escaped, table

_LONGEST = 300
_LABELS = 50


def add_scores_by_label(report: Report, found: dict[str, Findings]) -> None:
    """
    Precision, recall and F1 of each label or role, with its counts: side by side of runs that were seen on the same
    examples, and otherwise a table for each run.

    # Parameters

    found : `dict[str, Findings]`
        By the names of runs.
    """
    found = {name: findings for name, findings in found.items() if findings.unit}
    same = len({(findings.unit, *findings.keys) for findings in found.values()}) == 1
    if same and len(found) > 1:
        first = next(iter(found.values()))
        counts = {name: findings.by_label() for name, findings in found.items()}
        labels = list(dict.fromkeys(label for of_run in counts.values() for label in of_run))
        labels.sort(key=lambda label: -max(of_run[label].gold for of_run in counts.values() if label in of_run))
        header = [first.unit, "in gold", *(f"{what} {name}" for what in ("predicted by", "F1 of") for name in found)]
        rows = []
        for label in labels:
            of_runs = [of_run.get(label) for of_run in counts.values()]
            predicted = [one.predicted if one else 0 for one in of_runs]
            f1 = [one.f1 if one else NONE for one in of_runs]
            rows.append([label, max(one.gold for one in of_runs if one), *predicted, *f1])
        _add_labels(report, "", first, header, rows)
        return
    for name, findings in found.items():
        header = [findings.unit, "in gold", "predicted", "right", "precision", "recall", "F1"]
        rows = [
            [label, one.gold, one.predicted, one.correct, one.precision, one.recall, one.f1]
            for label, one in findings.by_label().items()
        ]
        _add_labels(report, "" if len(found) == 1 else f"{escaped(name)}: ", findings, header, rows)


def _add_labels(report: Report, start: str, findings: Findings, header: list[str], rows: list[list]) -> None:
    some = f", {_LABELS} of {len(rows)}" if len(rows) > _LABELS else ""
    report.add(
        f"## {start}Scores of each {findings.unit}",
        f"In the {len(findings.keys)} examples that were looked at; in percent, the most frequent in gold first{some}.",
        table(header, rows[:_LABELS]),
    )


def add_examples(report: Report, start: str, findings: Findings, most: int) -> None:
    """What is confused with what, and examples of mistakes, at most `most` of a kind."""
    confusions = findings.confusions.most_common(most)
    if confusions:
        rows = [[gold, predicted, count] for (gold, predicted), count in confusions]
        more = f"'{NOTHING}' stands for what the other side lacks."
        report.add(f"## {start}What is confused", more, table(["gold", "predicted", "times"], rows))
    hardest = findings.hardest(most)
    if hardest:
        report.add(f"## {start}Examples with the largest loss", _examples(hardest))
    misjudged = findings.misjudged(most)
    if misjudged:
        wrong = [one for one in findings.examples if not one.right and one.energy_of_gold is not None]
        all_misjudged = len(findings.misjudged(len(wrong)))
        report.add(
            f"## {start}Where the energy errs",
            f"Of {len(wrong)} wrong predictions, {all_misjudged} have a lower energy than gold: there the loss-net "
            "agrees with the mistake. Low is good.",
            _examples(misjudged),
        )


def _examples(examples: list[Example]) -> str:
    with_text = any(example.text for example in examples)
    with_energy = any(example.energy_of_gold is not None for example in examples)
    header = ["gold", "predicted", "loss", *["energy of gold", "of prediction"] * with_energy, "from"]
    rows = [
        [
            _cut(example.gold),
            "as gold" if example.right else _cut(example.predicted),
            NONE if example.loss is None else example.loss,
            *[example.energy_of_gold, example.energy_of_predicted] * with_energy,
            example.source,
        ]
        for example in examples
    ]
    if with_text:
        header, rows = ["text", *header], [[_cut(example.text), *row] for example, row in zip(examples, rows)]
    return table(header, rows)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
