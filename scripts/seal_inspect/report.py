"""The sub-command `report`: writes a page about one run, or about several side by side."""

import argparse
import os
from typing import Any, Optional

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.models.archival import load_archive

from seal.cli.models import write
from seal.common.setting_checks import check_range
from seal.files.runs import Run, read_run
from seal_inspect.components import escaped
from seal_inspect.examples import examine
from seal_inspect.findings import Findings
from seal_inspect.report_examples import add_examples, add_scores_by_label
from seal_inspect.report_page import Report, as_html, table
from seal_inspect.run_figures import as_svg, curves, masks, trust
from seal_inspect.runs import names_of
from seal_inspect.significance import compared

_ENDINGS = (".html", ".md")


@Subcommand.register("report")
class ReportCommand(Subcommand):
    """
    Writes one page about a run, or about several side by side: the losses of both players, energies and gradient norms
    over epochs; the scores, also by label or role; the significance of differences; the calibration of probabilities;
    confusions, and the examples with the largest losses; the settings and their differences; commit, versions and
    machine. The page is one HTML file, which needs no network, or a Markdown file (a model card) with figures in SVG
    files.
    """

    def add_subparser(self, parser: Any) -> argparse.ArgumentParser:
        subparser = parser.add_parser(
            self.name,
            description="Write a page about one run, or about several side by side.",
            help="Write a page about a run, or about several.",
        )
        subparser.add_argument("runs", nargs="+", metavar="RUN", help="the folder of a run, as `train -s` leaves it")
        subparser.add_argument("--out", required=True, metavar="FILE", help="the page: FILE.html or FILE.md")
        subparser.add_argument(
            "--examples", type=int, default=10, help="how many examples of a kind are shown; 0 loads no model"
        )
        subparser.add_argument("--data", metavar="FILE", help="data of the examples (else a run's validation data)")
        subparser.add_argument(
            "--instances", type=int, default=1000, help="how many instances are looked at, from all of the data"
        )
        subparser.add_argument("--cuda-device", type=int, default=-1, help="id of the GPU to use, if any")
        subparser.set_defaults(func=report_from_args)
        return subparser


def report_from_args(args: argparse.Namespace) -> str:
    """Writes the page, and returns its Markdown."""
    _check(args)
    runs = [read_run(path, name) for path, name in zip(args.runs, names_of(args.runs))]
    kinds = {run.config["model"]["type"]: run.name for run in runs}
    if len(kinds) > 1:
        told = ", ".join(f"{name} is a '{kind}'" for kind, name in kinds.items())
        raise ConfigurationError(f"the runs are of different tasks: {told}; name runs of one task.")
    figures = _Figures(args.out)
    report = Report(runs)
    report.add_summary()
    alone = any(run.has_own_scores for run in runs)
    report.add_figure("Curves", f"A dot marks the best epoch.{_ALONE * alone}", figures.add(curves(runs), "curves"))
    report.add_scores()
    found, missing = _findings(runs, args)
    if found:
        add_scores_by_label(report, found)
        drawn = figures.add(trust(found), "trust")
        report.add_figure("Can the probabilities be trusted?", _CALIBRATION, drawn)
    elif any(run.config["model"]["type"] != "seal_segmentation" for run in runs):
        report.add("## Scores of each label or role", _NOT_COUNTED)
    if len(runs) > 1 and args.examples:
        _add_significance(report, runs, found)
    for number, (name, findings) in enumerate(found.items()):
        start = "" if len(runs) == 1 else f"{escaped(name)}: "
        if findings.pictures:
            drawn = figures.add(masks(findings.pictures), f"masks_{number}")
            report.add_figure(f"{start}The worst masks", _MASKS, drawn)
        if findings.preferred:
            drawn = figures.add(masks(findings.preferred), f"liked_{number}")
            report.add_figure(f"{start}Masks that the loss-net prefers to gold", _LIKED, drawn)
        add_examples(report, start, findings, args.examples)
    for name, reason in missing.items():
        report.add("## Examples" if len(runs) == 1 else f"## Examples of {escaped(name)}", f"None: {escaped(reason)}")
    report.add_settings()
    report.add_environment()
    report.add_more()
    text = report.text()
    figures.write(args.out, text)
    print(f"{args.out}: {len(runs)} run{'s' * (len(runs) > 1)}, {len(figures.drawn)} figures")
    return text


def _check(args: argparse.Namespace) -> None:
    check_range("--examples", args.examples, least=0)
    check_range("--instances", args.instances, least=1)
    check_for_gpu(args.cuda_device)
    folder = os.path.dirname(args.out)
    if os.path.splitext(os.path.basename(args.out))[1] not in _ENDINGS:
        raise ConfigurationError(f"--out: '{args.out}' must end in .html or .md.")
    if not os.path.isdir(folder or "."):
        raise ConfigurationError(f"--out: there is no folder '{folder}'; make it first.")


class _Figures:
    """The figures of a page, by the names of their files."""

    def __init__(self, page: str) -> None:
        self._stem = os.path.splitext(os.path.basename(page))[0]
        self.drawn: dict[str, str] = {}

    def add(self, drawing: Any, kind: str) -> str:
        """Adds a figure, and returns its name."""
        name = f"{self._stem}_{kind}.svg"
        self.drawn[name] = as_svg(drawing, kind)
        return name

    def write(self, page: str, text: str) -> None:
        """Writes the page. HTML contains the figures; Markdown has them in files."""
        if page.endswith(".html"):
            write(page, as_html(text, self.drawn))
            return
        write(page, text)
        for name, figure in self.drawn.items():
            write(os.path.join(os.path.dirname(page), name), figure)


def card(folder: str) -> str:
    """The report of a run without figures and examples, in Markdown: the model card of its archive."""
    report = Report([read_run(folder, *names_of([folder]))])
    report.add_summary(archived=True)
    report.add_scores()
    report.add_environment()
    report.add_settings()
    report.add_more()
    return report.text()


def _add_significance(report: Report, runs: list[Run], found: dict[str, Findings]) -> None:
    """Adds the significance of each run's difference from the first run."""
    first, rows, why_not = runs[0].name, [], []
    for run in runs[1:]:
        one, other = found.get(first), found.get(run.name)
        if one is None or other is None:
            why_not.append(f"{run.name} is not compared with {first}: no examples of one of them were looked at.")
        elif one.keys != other.keys or one.statistics.keys() != other.statistics.keys():
            why_not.append(f"{run.name} is not compared with {first}: their data differ; --data names a file for both.")
        elif one.keys:
            for name, statistic in one.statistics.items():
                of_first, of_run, (difference, p_value) = compared(one.counts, other.counts, statistic)
                rows.append([name, f"{run.name} – {first}", of_run, of_first, difference, f"{p_value:.4f}"])
    report.add("## Is the difference more than chance?")
    if rows:
        header = ["score", "runs", "the one", "the other", "difference", "p"]
        report.add(f"{_CHANCE} {len(found[first].keys)} examples.", table(header, rows))
    report.add(*map(escaped, why_not))


_CHANCE = (
    "A small p (below 0.05, say) tells that other examples would hardly turn the difference round. It says nothing of "
    "other seeds, for which several runs of each are needed (scripts/reproduce.py). Paired bootstrap over"
)
_ALONE = " A structure is learned after the last epoch: here are the scores of the task-net alone."
_NOT_COUNTED = "Not known: they are counted in the examples, of which none were looked at."
_CALIBRATION = (
    "Of decisions with a probability of 0.8, eight of ten should be right: on the grey line. A decision is a whole tag "
    "sequence or tree, or one label or pixel; the error is the mean distance from the line (ECE)."
)
_MASKS = "Gold is outlined in white, the prediction in orange. The IoU, intersection over union, is in percent."
_LIKED = f"Those whose energy is the furthest below gold's; low is good. {_MASKS}"


def _findings(runs: list[Run], args: argparse.Namespace):
    """The findings of `examine` for each run, and the reasons for missing ones, by the runs' names."""
    found: dict[str, Findings] = {}
    missing: dict[str, str] = {}
    for run in runs if args.examples else ():
        path: Optional[str] = args.data or run.config.get("validation_data_path")
        if not run.has_archive:
            missing[run.name] = "the run has no model.tar.gz yet."
        elif path is None:
            missing[run.name] = "the run had no validation data; name some with --data."
        elif args.data is None and not os.path.exists(str(path).partition("#")[0]):
            missing[run.name] = f"the validation data '{path}' are not here; name them with --data."
        else:
            try:
                archive = load_archive(run.archive, cuda_device=args.cuda_device)
                found[run.name] = examine(archive, path, args.instances)
            except ConfigurationError as error:
                # A wrong --data is an error of this command. Other files may have been deleted since the run.
                if args.data is not None and args.data in str(error):
                    raise
                missing[run.name] = str(error)
    return found, missing
