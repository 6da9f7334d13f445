"""The page of `scripts/structure.py`."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy
import pandas

from scripts.measure import machine
from scripts.measure.cells import LEVEL, MARK, markdown_table, mean_and_deviation
from scripts.measure.files import read_json
from scripts.measure.significance import paired_bootstrap
from seal.sklearn import SCORES as OF_SCIKIT_LEARN
from seal_inspect.significance import Statistic

SCORES = {"f1": "F1", "micro_f1": "micro F1", "subset_accuracy": "exact match"}
NAMES = {ours: theirs for theirs, ours in OF_SCIKIT_LEARN.items()}
RATIO = Statistic(("numerator", "denominator"), lambda sums: 100 * sums["numerator"] / sums["denominator"])


class Page(NamedTuple):
    text: str
    table: pandas.DataFrame


def page(runs: Sequence[tuple[str, str, Path]], seeds: int, command: str, shuffled: bool = False) -> Page:
    """`runs` has the data, the classifier and the folder of each pair; if `shuffled`, each seed has another split."""
    table = pandas.concat([_pair(*run, seeds, shuffled) for run in runs], ignore_index=True)
    for (net, score), group in table.groupby(["classifier", "score"]):
        table.loc[group.index, "p_holm"] = holm(group["p"].to_numpy())
    reports = [read_json(folder / f"{seed}.json")["report"] for _, _, folder in runs for seed in range(1, seeds + 1)]
    head = [
        "# Label sets with structure, on top of scikit-learn's classifiers",
        "- commits of the runs: " + ", ".join(sorted({report["commit"] for report in reports})),
        "- machines of the runs: " + ", ".join(sorted({report["machine"] for report in reports})),
        f"- this page: commit {machine.commit()}",
        f"- command of this page: `{command}`",
        f"- test data, mean ± sample deviation over {seeds} {'splits' if shuffled else 'seeds (of folds and forest)'}, "
        f"in percent; {MARK}: the difference has p < {LEVEL} (paired bootstrap over test rows, seeds pooled, Holm over "
        "the data sets)",
    ]
    parts = ["\n".join([head[0], "", *head[1:]])]
    for net in dict.fromkeys(net for _, net, _ in runs):
        parts += [f"## {net}", _scores(table[table["classifier"] == net]), _means(table[table["classifier"] == net])]
    parts += ["## Gains, held out and on test", _held_out(table), "## What competes", _competing(runs, seeds)]
    others = _others(runs, table, seeds)
    if others:
        parts += ["## Against classifier chains, their ensemble, label powerset and RAkEL", others]
    return Page("\n\n".join(parts) + "\n", table)


def _pair(data: str, net: str, folder: Path, seeds: int, shuffled: bool) -> pandas.DataFrame:
    found = [read_json(folder / f"{seed}.json") for seed in range(1, seeds + 1)]
    rows = []
    for score in SCORES:
        counts = {
            kind: [numpy.asarray(run["rows"][f"{kind} {score}"]) for run in found] for kind in ("own", "structured")
        }
        pool = numpy.concatenate if shuffled else sum
        frames = {kind: _frame(pool(arrays)) for kind, arrays in counts.items()}
        tested = paired_bootstrap(frames["own"], frames["structured"], ["row"], RATIO)
        values = {
            kind: [100 * array[:, 0].sum() / array[:, 1].sum() for array in arrays] for kind, arrays in counts.items()
        }
        decisions = [run["report"]["decisions"][NAMES[score]] for run in found]
        options = [decision["option"] for decision in decisions]
        held_out = [one["values"][one["option"]] - one["values"]["own"] for one in decisions]
        rows.append(
            {
                "data": data,
                "classifier": net,
                "score": score,
                **{kind: mean_and_deviation(of_seeds) for kind, of_seeds in values.items()},
                "gain": float(numpy.mean(values["structured"]) - numpy.mean(values["own"])),
                "held_out_gain": 100 * float(numpy.mean(held_out)),
                "expected_gain": 100 * float(numpy.mean([decision["gain"] for decision in decisions])),
                "p": tested.p_value,
                "decision": ", ".join(dict.fromkeys(options)),
            }
        )
    return pandas.DataFrame(rows)


def _frame(counts: numpy.ndarray) -> pandas.DataFrame:
    return pandas.DataFrame({"row": numpy.arange(len(counts)), "numerator": counts[:, 0], "denominator": counts[:, 1]})


def holm(p: numpy.ndarray) -> numpy.ndarray:
    """Holm's correction: the i-th least of `n` values times `n - i + 1`, none below a lesser one's."""
    order = numpy.argsort(p)
    corrected = numpy.maximum.accumulate(p[order] * numpy.arange(len(p), 0, -1)).clip(max=1)
    result = numpy.empty_like(corrected)
    result[order] = corrected
    return result


def _scores(table: pandas.DataFrame) -> str:
    header = ["data"]
    for title in SCORES.values():
        header += [f"{title}, own", "with structure", "gain"]
    rows = []
    for data, group in table.groupby("data", sort=False):
        row = [str(data)]
        for score in SCORES:
            (found,) = group[group["score"] == score].to_dict("records")
            mark = f" {MARK}" if found["p_holm"] < LEVEL else ""
            row += [found["own"], found["structured"], f"{found['gain']:+.2f}{mark}"]
        rows.append(row)
    return markdown_table(header, rows)


def _means(table: pandas.DataFrame) -> str:
    gains = table.groupby("score", sort=False)["gain"]
    worse = table[(table["gain"] < 0) & (table["p_holm"] < LEVEL)]
    least = gains.min()
    told = ", ".join(f"{SCORES[name]} {gain:+.2f} (least {least[name]:+.2f})" for name, gain in gains.mean().items())
    lost = ", ".join(f"{SCORES[row['score']]} of {row['data']}" for row in worse.to_dict("records")) or "none"
    return f"Mean gain over the data sets: {told}. Significantly worse: {lost}."


def _held_out(table: pandas.DataFrame) -> str:
    """The gains of the gate's choices: on the held-out rows, expected by these and earlier data sets, and on test."""
    header = ["data", "classifier"]
    for title in SCORES.values():
        header += [f"{title}: held out", "expected", "test"]
    rows = []
    for (data, net), group in table.groupby(["data", "classifier"], sort=False):
        of_score = group.set_index("score")
        names = ("held_out_gain", "expected_gain", "gain")
        rows.append([data, net, *(f"{of_score.loc[score, name]:+.2f}" for score in SCORES for name in names)])
    means = table.groupby("score")[["held_out_gain", "expected_gain", "gain"]].mean()
    rows.append(["mean", "", *(f"{value:+.2f}" for score in SCORES for value in means.loc[score])])
    return markdown_table(header, rows)


def _competing(runs: Sequence[tuple[str, str, Path]], seeds: int) -> str:
    header = ["data", "classifier", "setting", "rows of train, test", "labels", "label sets", "gold competes, test"]
    header += ["first where it competes", "scale of log P", "decisions: " + ", ".join(SCORES.values())]
    header += ["training, times its own", "prediction, times its own"]
    rows: list[list[str]] = []
    for data, net, folder in runs:
        reports = [read_json(folder / f"{seed}.json")["report"] for seed in range(1, seeds + 1)]
        train, test, labels = reports[0]["size"]

        def mean(name: str, scale: float = 1.0) -> float:
            return scale * float(numpy.mean([report[name] for report in reports]))

        seconds = [report["seconds"] for report in reports]
        training = numpy.median([one["with structure"] / one["estimator"] for one in seconds])
        predicting = numpy.median([1 + one["decide"] / one["predict"] for one in seconds])
        options = [
            " or ".join(dict.fromkeys(report["decisions"][NAMES[score]]["option"] for report in reports))
            for score in SCORES
        ]
        rows.append(
            [
                *(data, net, f"{read_json(folder / 'setting.json'):g}", f"{train}, {test}", str(labels)),
                *(f"{mean('sets'):.0f}", f"{mean('test_gold_competes', 100):.1f} %"),
                *(f"{mean('gold_first_where_it_competes', 100):.1f} %", f"{mean('scale'):.2f}", "; ".join(options)),
                *(f"{training:.1f}", f"{predicting:.2f}"),
            ]
        )
    return markdown_table(header, rows)


def _others(runs: Sequence[tuple[str, str, Path]], table: pandas.DataFrame, seeds: int) -> str:
    rows, lost = [], []
    for data, net, folder in runs:
        path = folder / "others.json"
        if not path.exists():
            continue
        ours = table[(table["data"] == data) & (table["classifier"] == net)].set_index("score")
        of_seeds = [read_json(folder / f"{seed}.json") for seed in range(1, seeds + 1)]
        structured = [one["rows"] for one in of_seeds]
        took = pandas.DataFrame([one["report"]["seconds"] for one in of_seeds]).median()
        for kind, fit, predict in (
            ("own", took["estimator"], took["predict"]),
            ("structured", took["with structure"], took["predict"] + took["decide"]),
        ):
            rows.append([data, kind, *(str(ours.loc[score, kind]) for score in SCORES), *_seconds(fit, predict)])
        for name, scores in read_json(path).items():
            cells = []
            for score, title in SCORES.items():
                rival = numpy.asarray(scores[score])
                pooled = sum(numpy.asarray(run[f"structured {score}"]) for run in structured)
                tested = paired_bootstrap(_frame(rival), _frame(pooled), ["row"], RATIO)
                value = 100 * rival[:, 0].sum() / rival[:, 1].sum()
                cells.append(f"{value:.2f} ({tested.difference:+.2f}, p = {tested.p_value:.4f})")
                if tested.difference < 0 and tested.p_value < LEVEL:
                    lost.append(f"{title} of {data} against the {name}")
            rows.append([data, name, *cells, *_seconds(*scores["seconds"])])
    if not rows:
        return ""
    told = (
        "In brackets: by how much it is better with structure (all scores pooled over seeds, as above), and p of the "
        f"paired bootstrap, of each test alone. Significantly worse with structure: {', '.join(lost) or 'none'}."
    )
    header = ["data", "method", *SCORES.values(), "fit, CPU s", "prediction, CPU s"]
    return markdown_table(header, rows) + "\n\n" + told


def _seconds(*values: float) -> list[str]:
    return [f"{value:.3g}" for value in values]
