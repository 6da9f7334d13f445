"""The sections of a report about examples: scores by label, mistakes, and errors of an energy."""

from typing import Optional

from seal_inspect.components import escaped
from seal_inspect.findings import NOTHING, Example, Findings
from seal_inspect.report_page import NONE, Report, shown, table
from seal_inspect.significance import compared
from seal_inspect.tree_differences import differing_brackets

_LONGEST = 300
_LABELS = 50
_TREES = (
    "Only brackets that differ are shown: of gold those that another tree of the row lacks, of the others those that "
    "gold lacks. `seal predict` with `--use-dataset-reader --output-format plain` draws whole trees."
)
_P = (
    "p is of a paired bootstrap over the examples; on the validation data by which the structure was chosen, it is too "
    "hopeful."
)


def add_scores_by_label(report: Report, found: dict[str, Findings]) -> None:
    """
    Adds precision, recall and F1 of each label or role, with its counts. Runs on the same examples share a table;
    otherwise each run has its own.

    # Parameters

    found : `dict[str, Findings]`
        The findings by the names of runs.
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
    """Adds confusions and examples of mistakes, at most `most` of each kind."""
    confusions = findings.confusions.most_common(most)
    if confusions:
        rows = [[gold, predicted, count] for (gold, predicted), count in confusions]
        more = f"'{NOTHING}' stands for what the other side lacks."
        report.add(f"## {start}What is confused", more, table(["gold", "predicted", "times"], rows))
    hardest = findings.hardest(most)
    if hardest:
        report.add(
            f"## {start}Examples with the largest loss", *[_TREES] * findings.has_trees, _examples(hardest, findings)
        )
    _add_structure(report, start, findings, most)
    misjudged = findings.misjudged(most)
    if misjudged:
        wrong = [one for one in findings.examples if not one.right and one.energy_of_gold is not None]
        all_misjudged = len(findings.misjudged(len(wrong)))
        report.add(
            f"## {start}Where the energy errs",
            f"Of {len(wrong)} wrong predictions, {all_misjudged} have a lower energy than gold: there the loss-net "
            "agrees with the mistake. Low is good.",
            _examples(misjudged, findings),
        )


def _add_structure(report: Report, start: str, findings: Findings, most: int) -> None:
    """Adds the outputs that a structure changed, the effect of these changes, and errors of its energy."""
    if not findings.why:
        return
    changed, examples = findings.changed(), findings.examples
    better, worse = (
        [one for one in changed if sign * (one.choice.score - one.choice.own_score) > 0] for sign in (1, -1)
    )
    competed = sum(one.choice.competes for one in examples)
    parts = [
        f"{findings.why} It changed {len(changed)} of {len(examples)} outputs: {len(better)} are nearer to gold than "
        f"the task-net's own, {len(worse)} further from it. Gold was among the outputs that competed in {competed}; "
        f"one that did not compete has no energy ({NONE})."
    ]
    if changed:
        parts[0] += " " + _P
        rows = []
        for name, statistic in findings.statistics.items():
            own, chosen, (difference, p_value) = compared(findings.own_counts, findings.counts, statistic)
            rows.append([name, own, chosen, difference, f"{p_value:.4f}"])
        parts.append(table(["score", "the task-net's own", "chosen", "difference", "p"], rows))
    report.add(f"## {start}What the structure changed", *parts)
    for heading, some in (("helped", better), ("harmed", worse[::-1])):
        if some:
            report.add(f"### Where it {heading} most", _changes(some[:most], findings))
    _add_mistakes_of_structure(report, start, findings, most)


def _add_mistakes_of_structure(report: Report, start: str, findings: Findings, most: int) -> None:
    wrong = [one for one in findings.examples if not one.right]
    agreed = findings.misjudged_by_structure(len(wrong))
    if not wrong:
        return
    lost = sum(not one.choice.competes for one in wrong)
    text = (
        f"Of {len(wrong)} wrong predictions, {len(agreed)} have a lower energy than gold: there the structure agrees "
        f"with the mistake. In {lost} gold did not compete; in the other {len(wrong) - lost - len(agreed)} the energy "
        "does not prefer the mistake. Low is good."
    )
    report.add(f"## {start}Where the structure's energy errs", text)
    if agreed:
        header = ["gold", "predicted", "energy of gold", "of prediction", "from"]
        rows = [
            [
                *_outputs(findings, one.gold, one.predicted),
                one.choice.energy_of_gold,
                one.choice.energy_of_predicted,
                _short(one.source),
            ]
            for one in agreed[:most]
        ]
        report.add(_table_with_texts(header, rows, agreed[:most]))


def _changes(examples: list[Example], findings: Findings) -> str:
    header = ["gold", "the task-net's own", "chosen", "F1", "energy", "from"]
    rows = [
        [
            *_outputs(findings, one.gold, one.choice.own, "" if one.right else one.predicted),
            _change(one.choice.own_score, one.choice.score),
            _change(one.choice.energy_of_own, one.choice.energy_of_predicted),
            _short(one.source),
        ]
        for one in examples
    ]
    return _table_with_texts(header, rows, examples)


def _examples(examples: list[Example], findings: Findings) -> str:
    with_energy = any(example.energy_of_gold is not None for example in examples)
    with_loss = any(example.loss is not None for example in examples)
    header = ["gold", "predicted", *["loss"] * with_loss, *["energy of gold", "of prediction"] * with_energy, "from"]
    rows = [
        [
            *_outputs(findings, example.gold, "" if example.right else example.predicted),
            *[example.loss] * with_loss,
            *[example.energy_of_gold, example.energy_of_predicted] * with_energy,
            _short(example.source),
        ]
        for example in examples
    ]
    return _table_with_texts(header, rows, examples)


def _outputs(findings: Findings, gold: str, *others: str) -> list[str]:
    """The cells of one input: gold, and other outputs, which are empty if they equal gold."""
    others = tuple(other or gold for other in others)
    shown_ones = differing_brackets(gold, *others) if findings.has_trees else [gold, *others]
    first, *rest = [_cut(text) for text in shown_ones]
    return [first, *("as gold" if other == gold else text for other, text in zip(others, rest))]


def _table_with_texts(header: list[str], rows: list[list], examples: list[Example]) -> str:
    """Adds a table. Its first column has the texts of the examples, if they have any; `–` stands for `None`."""
    rows = [[NONE if cell is None else cell for cell in row] for row in rows]
    if any(example.text for example in examples):
        header, rows = ["text", *header], [[_cut(example.text), *row] for example, row in zip(examples, rows)]
    return table(header, rows)


def _change(before: Optional[float], after: Optional[float]) -> str:
    return " → ".join(NONE if value is None else str(shown(value)) for value in (before, after))


def _short(source: str) -> str:
    """`file:line` without the folder, which is the same for all examples."""
    return source.rpartition("/")[2]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
