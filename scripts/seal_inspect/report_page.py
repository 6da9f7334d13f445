"""Writes the text of a report in Markdown, and converts it to HTML."""

import json
import re
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any, Optional

from seal.files.runs import Run
from seal.tasks.base import OTHER_OUTPUTS, metrics_of_prediction
from seal.version import VERSION
from seal_inspect.components import escaped
from seal_inspect.runs import MISSING, differences, durations, settings

#: The entry for a missing value.
NONE = "–"

#: The most characters of a table cell without line breaks.
_SHORT = 20
#: The most characters of a word without breaks.
_LONG_WORD = 30
#: The headings of long sections, which a page shows folded. The name of a run may precede them.
_FOLDED = re.compile("(^|: )(Examples|Settings|Environment|More)")
_PAGE = Path(__file__).with_name("report_page.html")


class Report:
    """Collects the sections of a report."""

    def __init__(self, runs: list[Run]) -> None:
        self._runs = runs
        self._parts: list[str] = []

    def text(self) -> str:
        """All sections so far, in Markdown."""
        return "\n\n".join(self._parts) + "\n"

    def add(self, *parts: str) -> None:
        self._parts += parts

    def add_summary(self, archived: bool = False) -> None:
        """Adds the runs with their durations and best scores. `archived` is True for a model card."""
        runs = self._runs
        title = f"Run {runs[0].name}" if len(runs) == 1 else f"Runs {', '.join(run.name for run in runs)}"
        self.add(f"# {escaped(title)}")
        metrics = dict.fromkeys(run.validation_metric for run in runs)
        rows: dict[str, list[Any]] = {
            "model": [f"{_at(run, 'model.type')} on {_at(run, 'train_data_path')}" for run in runs],
            "trainer": [_at(run, "trainer.type", "gradient_descent") for run in runs],
            "epochs": [_epochs(run, archived) for run in runs],
            "best epoch": [f"{run.best_epoch + 1}, by {run.validation_metric} on validation data" for run in runs],
        }
        for metric in metrics:
            # Another run's best epoch need not be the best by this metric.
            rows[f"best {metric}" if len(metrics) == 1 else f"{metric} of the best epoch"] = _validation(runs, metric)
            own = _validation(runs, f"{metric}_own")
            if set(own) != {NONE}:
                rows[f"{metric} of the task-net's own output"] = own
        rows["time of training"] = [_time(run) for run in runs]
        self.add(self._table("", rows))
        for run in runs:
            gap = _energy_gap(run)
            if gap is not None:
                start = "" if len(runs) == 1 else f"{escaped(run.name)}: "
                self.add(start + gap)

    def add_scores(self) -> None:
        """Adds the scores of the best epoch, with a separate table for labels or roles."""
        for data in ("validation", "test"):
            names = dict.fromkeys(
                name.removeprefix(f"{data}_") for run in self._runs for name in run.scores if name.startswith(data)
            )
            values = {name: [run.scores.get(f"{data}_{name}", NONE) for run in self._runs] for name in names}
            of_all = {name: row for name, row in values.items() if not name.startswith("f1-")}
            of_one = {name.removeprefix("f1-"): row for name, row in values.items() if name.startswith("f1-")}
            others = [what for end, what in OTHER_OUTPUTS.items() if any(name.endswith(end) for name in of_all)]
            if of_all and not others:
                self.add(f"## Scores on {data} data", "Of the best epoch.", self._table("score", of_all))
            elif of_all:
                predicted = {name: of_all[name] for name in metrics_of_prediction(of_all)}
                rest = {name: row for name, row in of_all.items() if name not in predicted}
                self.add(f"## Scores on {data} data", "Of what the model of the best epoch predicts.")
                self.add(self._table("score", predicted), f"And of {'; '.join(others)}; losses, where there are some.")
                self.add(self._table("score", rest))
            if of_one:
                self.add(f"### F1 of each label, on {data} data", self._table("label", of_one))

    def add_figure(self, heading: str, caption: str, name: str) -> None:
        """Adds a figure from a file. `as_html` replaces it by SVG."""
        self.add(f"## {heading}", caption, f"![{heading}]({name})")

    def add_settings(self) -> None:
        """Adds the settings in which runs differ, and all settings of each run."""
        if len(self._runs) > 1:
            rows = differences(self._runs)
            self.add("## Settings that differ")
            texts = {key: [NONE if v is MISSING else json.dumps(v) for v in values] for key, values in rows.items()}
            self.add(self._table("setting", texts) if rows else "None.")
        for run in self._runs:
            name = "" if len(self._runs) == 1 else f" of {escaped(run.name)}"
            rows = ([key, json.dumps(value)] for key, value in settings(run.config))
            self.add(f"## Settings{name}", table(["setting", "value"], rows))

    def add_environment(self) -> None:
        """Adds the commit, the versions and the machine of each run."""
        self.add("## Environment")
        last = [run.trainings[-1] if run.trainings else {} for run in self._runs]
        keys = dict.fromkeys(key for record in last for key in record)
        if not keys:
            self.add("Not recorded: the run is older than these records.")
            return
        rows: dict[str, list[Any]] = {key: [record.get(key, NONE) for record in last] for key in keys}
        rows["trainings"] = [
            f"{len(run.trainings)}: continued with --recover" if len(run.trainings) > 1 else len(run.trainings)
            for run in self._runs
        ]
        self.add(self._table("", rows))

    def add_more(self) -> None:
        """Adds the command of this report, and links."""
        folders = " ".join(run.folder for run in self._runs)
        self.add(
            "## More",
            "Names of metrics: docs/glossary.md. Single batches: `tensorboard --logdir RUN/log`, where "
            '`trainer.callbacks` has `"tensorboard"`, from the extra `viewer`; `"wandb"` sends them to W&B.',
            f"Written by seal {VERSION}:",
            _code(f"seal report {folders} --out report.html"),
        )

    def _table(self, corner: str, rows: dict[str, list[Any]]) -> str:
        return table([corner, *(run.name for run in self._runs)], ([name, *values] for name, values in rows.items()))


def table(header: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    """A table in Markdown. Fractions have four digits or two decimals."""
    header = [escaped(cell) for cell in header]
    lines = [header, ["---"] * len(header), *([escaped(shown(value)) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def as_html(text: str, figures: dict[str, str]) -> str:
    """
    Converts a report to one HTML page, which needs no other file and no network. `figures` has the SVG element for each
    address of an image.
    """
    from jinja2 import Template
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    def image(renderer, tokens, place, options, environment):
        return figures[tokens[place].attrs["src"]]

    def cell(renderer, tokens, place, options, environment):
        # Labels and pairs of numbers have no line breaks; long keys and paths may break anywhere.
        text = tokens[place + 1].content
        if len(text) <= _SHORT:
            return '<td class="short">'
        return '<td class="long">' if max(map(len, text.split())) > _LONG_WORD else "<td>"

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("image", image)
    reader.add_render_rule("td_open", cell)
    page = Template(_PAGE.read_text(encoding="utf-8"), autoescape=True, keep_trailing_newline=True)
    sections = [
        {
            "name": f"section-{number}" if number else "",
            "title": _plain(tokens[1].content),
            "open": _FOLDED.search(tokens[1].content) is None,
            "heading": Markup(reader.renderer.render(tokens[: 3 * bool(number)], reader.options, {})),
            "body": Markup(reader.renderer.render(tokens[3 * bool(number) :], reader.options, {})),
        }
        for number, tokens in enumerate(_sections(reader.parse(text)))
    ]
    return page.render(title=sections[0]["title"], sections=sections)


def _sections(tokens: list[Any]) -> list[list[Any]]:
    """Splits the tokens of a text into its beginning and its sections. A heading has three tokens."""
    starts = [place for place, token in enumerate(tokens) if token.type == "heading_open" and token.tag in ("h1", "h2")]
    return [tokens[start:end] for start, end in zip(starts, [*starts[1:], len(tokens)])]


def _plain(text: str) -> str:
    """Removes the backslashes of Markdown from a heading."""
    return re.sub(r"\\(.)", r"\1", text)


def shown(value: Any) -> Any:
    """Formats a value of a table: a fraction has four digits or two decimals; other values are unchanged."""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.2f}" if abs(value) >= 10 else f"{value:.4g}"
    return int(value) if isinstance(value, float) else value


def _code(text: str, language: str = "") -> str:
    """A block of code in Markdown, for any text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _at(run: Run, path: str, default: Any = NONE) -> Any:
    found: Any = run.config
    for key in path.split("."):
        found = found.get(key, default) if isinstance(found, dict) else default
    return found


def _validation(runs: list[Run], metric: str) -> list[Any]:
    return [run.scores.get(f"validation_{metric}", NONE) for run in runs]


def _epochs(run: Run, archived: bool) -> str:
    wanted = _at(run, "trainer.num_epochs", len(run.epochs))
    ended = f"{len(run.epochs)} of {wanted}"
    if run.has_ended:
        return ended
    return f"{ended}; " + ("stopped before its end" if archived else "in progress, or killed: no model.tar.gz yet")


def _time(run: Run) -> str:
    """The durations of a run and of the trainings inside it, in whole seconds."""
    of_run, inside = durations(run)
    if of_run is None:
        return NONE
    others = [f"{_whole(duration)} of {name}" for name, duration in inside.items()]
    total = _whole(sum(inside.values(), of_run))
    return f"{total}, with {' and '.join(others)}" if others else total


def _whole(duration: timedelta) -> str:
    return str(timedelta(seconds=int(duration.total_seconds())))


def _energy_gap(run: Run) -> Optional[str]:
    """A sentence about the preference of the loss-net after the last epoch."""
    last = run.epochs[-1]
    gold, predicted = last.get("training_energy_gold"), last.get("training_energy_prediction")
    if gold is None or predicted is None:
        return None
    better, worse = ("gold", "the task-net's output") if gold < predicted else ("the task-net's output", "gold")
    return (
        f"In the last epoch the mean energy of gold was {gold:.2f}, that of the task-net's output {predicted:.2f}: the "
        f"loss-net preferred {better} to {worse}."
    )
