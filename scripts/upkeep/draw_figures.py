"""
Draws the figures of README and docs/ as SVG: two frames that compete, a training step, and measurements, whose numbers
are those of the pages in docs/results.

    python scripts/upkeep/draw_figures.py --out docs/figures
    # also asks the model for the example's numbers:
    python scripts/upkeep/draw_figures.py --out docs/figures --run runs/structured

What the first one shows is in `docs/figures/example.json`.
"""

import argparse
import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "figures" / "example.json"
RESULTS = ROOT / "docs" / "results"
LABEL_SETS = tuple(RESULTS / f"{name}.csv" for name in ("label_sets", "label_sets_more"))
# An unseen sentence of the sample's test data, whose best path of the CRF has a role twice.
SENTENCE = "Who will Bruno escort to the library ?"

BLUE, ORANGE, GREEN, GREY, INK = "#0072b2", "#d55e00", "#00795a", "#666666", "#222222"
COLOURS = {"ARG0": "#cfe5f5", "ARG1": "#fde3c0", "ARG2": "#e6d5ef", "V": "#dddddd"}
_OTHER = "#d3eedf"
#: The width of a letter of a monospaced font, in parts of its size.
_LETTER = 0.6


class Drawing:
    """An SVG of a given size, on white: a page in dark mode must not swallow its text."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="system-ui, Helvetica, Arial, sans-serif">',
            f"<title>{escape(title)}</title>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{GREY}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="white"/>',
        ]

    def text(self, x: float, y: float, text: str, size: int = 14, colour: str = INK, **more: Any) -> None:
        """`more` are attributes of the element, `_` for `-`."""
        attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
        start = f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}"{attributes}>'
        self._parts.append(f"{start}{escape(text)}</text>")

    def box(self, x: float, y: float, width: float, height: float, fill: str, stroke: str = "none") -> None:
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="{fill}" stroke="{stroke}"/>'
        )

    def named(self, x: float, y: float, width: float, lines: Sequence[str], stroke: str = GREY, fill: str = "#f7f7f7"):
        """A box with centred lines of text, the first of them bold."""
        self.box(x, y, width, 16 + 18 * len(lines), fill, stroke)
        for number, line in enumerate(lines):
            weight = "bold" if number == 0 else "normal"
            self.text(x + width / 2, y + 22 + 18 * number, line, 13, text_anchor="middle", font_weight=weight)

    def arrow(self, *points: tuple[float, float], dashed: bool = False) -> None:
        path = " L".join(f"{x:g} {y:g}" for x, y in points)
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self._parts.append(
            f'<path d="M{path}" fill="none" stroke="{GREY}" stroke-width="1.5"{dashes} marker-end="url(#head)"/>'
        )

    def circle(self, x: float, y: float, colour: str, filled: bool = True) -> None:
        fill = colour if filled else "white"
        self._parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="5" fill="{fill}" stroke="{colour}" stroke-width="2"/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = "#dddddd", width: float = 1) -> None:
        self._parts.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}" stroke-width="{width:g}"/>'
        )

    def end(self) -> str:
        return "\n".join([*self._parts, "</svg>"]) + "\n"


def example(record: dict[str, Any]) -> str:
    """A sentence and the frames that compete for it, with their numbers; the chosen one is marked."""
    drawing = Drawing(880, 292, f"Frames that compete for: {' '.join(record['words'])}")
    drawing.text(20, 34, "Sentence", 13, GREY)
    drawing.text(130, 34, " ".join(record["words"]), 17, font_family="monospace")
    for x, name in ((612, "probability"), (702, "energy"), (782, "chosen by")):
        drawing.text(x, 70, name, 12, GREY)
    drawing.text(782, 84, "both together", 12, GREY)
    for number, frame in enumerate(record["frames"]):
        y = 100 + 78 * number
        if frame["chosen"]:
            drawing.box(12, y - 6, 856, 66, "#f0f8f3", GREEN)
        drawing.text(20, y + 20, ("The task-net's best", "Another of its best")[number], 13, GREY)
        drawing.text(20, y + 38, ("alone", "20 outputs")[number], 13, GREY)
        _spans(drawing, 160, y, record["words"], frame["spans"])
        best = max(record["frames"], key=lambda one: one["probability"]) is frame
        drawing.text(620, y + 30, f"{frame['probability']:.2f}", 17, font_weight="bold" if best else "normal")
        low = min(record["frames"], key=lambda one: one["energy"]) is frame
        drawing.text(702, y + 30, f"{frame['energy']:.1f}", 17, font_weight="bold" if low else "normal")
        mark, colour = (" ✓", GREEN) if frame["chosen"] else ("", INK)
        drawing.text(782, y + 30, f"{frame['joint']:.2f}{mark}", 17, colour)
    caption = "The energy is low where an output looks like gold of the training data: no role twice."
    drawing.text(20, 274, caption, 13, GREY)
    return drawing.end()


def _spans(drawing: Drawing, x: float, y: float, words: list[str], spans: list[tuple[str, int, int]]) -> None:
    size = 15
    starts, position = [], x
    for word in words:
        starts.append(position)
        position += (len(word) + 1) * size * _LETTER
    ends = [start + len(word) * size * _LETTER for start, word in zip(starts, words)]
    twice = {role for role, _, _ in spans if sum(other == role for other, _, _ in spans) > 1}
    for role, first, last in spans:
        left, width = starts[first] - 3, ends[last] - starts[first] + 6
        drawing.box(left, y + 2, width, 50, COLOURS.get(role, _OTHER), ORANGE if role in twice else "none")
        drawing.text(left + width / 2, y + 46, role.removeprefix("ARGM-"), 10, text_anchor="middle", font_weight="bold")
    for start, end, word in zip(starts, ends, words):
        # The width is told, since browsers have different monospaced fonts.
        drawing.text(start, y + 24, word, size, font_family="monospace", textLength=f"{end - start:g}")


def step() -> str:
    """A training step of SEAL-dynamic."""
    drawing = Drawing(880, 392, "A training step")
    drawing.named(20, 40, 100, ["batch", "x, gold y"])
    drawing.named(170, 40, 150, ["task-net", "F(x)"], BLUE, "#eaf3fa")
    drawing.named(390, 40, 120, ["logits"])
    drawing.named(590, 40, 270, ["L_F = w_e · energy + w_ce · CE", "trains the task-net only"], BLUE, "#eaf3fa")
    drawing.named(375, 160, 150, ["sampler", "candidates,", "log P(candidates)"])
    drawing.named(20, 300, 220, ["loss-net", "reads x once for all outputs"], ORANGE, "#fbeee6")
    drawing.named(340, 300, 210, ["energies", "of gold and of candidates"], ORANGE, "#fbeee6")
    drawing.named(620, 300, 240, ["L_E: gold below candidates", "trains the loss-net only"], ORANGE, "#fbeee6")
    drawing.arrow((120, 66), (168, 66))
    drawing.arrow((320, 66), (388, 66))
    drawing.arrow((510, 66), (588, 66))
    drawing.arrow((450, 74), (450, 158), dashed=True)
    drawing.text(460, 122, "as constants", 12, GREY)
    drawing.arrow((450, 230), (450, 298))
    drawing.arrow((70, 92), (70, 298))
    drawing.arrow((240, 326), (338, 326))
    drawing.arrow((550, 326), (618, 326))
    drawing.arrow((740, 298), (740, 94), dashed=True)
    for number, line in enumerate(("energy of the task-net's", "output, under the", "updated loss-net")):
        drawing.text(730, 186 + 16 * number, line, 12, GREY, text_anchor="end")
    caption = "On each batch the loss-net is updated first (below), then the task-net (above), which predicts alone."
    drawing.text(20, 380, caption, 13, GREY)
    return drawing.end()


#: The data sets of the figure of results, by their names in the table.
_DATA = {
    "sample": "sample (features)",
    "text:sample": "sample (texts)",
    "genbase": "genbase",
    "bibtex": "bibtex",
    "text:reuters": "Reuters-21578",
    "text:goemotions": "GoEmotions",
    "folder:medical": "medical",
    "folder:enron": "enron",
    "folder:yeast": "yeast",
    "folder:corel5k": "corel5k",
}
_SCORES = (("subset_accuracy", "Exact label sets, %"), ("f1", "F1 (mean of rows), %"))


def results(paths: Sequence[Path] = LABEL_SETS) -> str:
    """Label sets on logistic regression: with its best threshold, and with structure on top."""
    tables = [csv.DictReader(path.read_text(encoding="utf-8").splitlines()) for path in paths]
    rows = [row for table in tables for row in table if row["classifier"] == "logistic regression"]
    bottom = 76 + 28 * len(_DATA)
    drawing = Drawing(880, bottom + 30, "Label sets with and without structure")
    drawing.circle(150, 22, GREY, filled=False)
    drawing.text(162, 27, "logistic regression with its best threshold", 13)
    drawing.circle(470, 22, BLUE)
    drawing.text(482, 27, "the same with structure on top (StructuredClassifier)", 13)
    for left, (score, title) in zip((150, 530), _SCORES):
        drawing.text(left, 58, title, 14, font_weight="bold")
        for tick in range(0, 101, 20):
            x = left + 3.2 * tick
            drawing.line(x, 70, x, bottom)
            drawing.text(x, bottom + 16, str(tick), 11, GREY, text_anchor="middle")
        for number, (data, name) in enumerate(_DATA.items()):
            (row,) = [row for row in rows if row["data"] == data and row["score"] == score]
            y = 86 + 28 * number
            own, ours = (left + 3.2 * float(row[key].partition(" ")[0]) for key in ("own", "structured"))
            drawing.line(own, y, ours, y, BLUE, 2)
            drawing.circle(own, y, GREY, filled=False)
            drawing.circle(ours, y, BLUE)
            if left == 150:
                drawing.text(138, y + 4, name, 12, text_anchor="end")
    return drawing.end()


#: Losses of the loss-net, as the pages call them, and their colours.
_LOSSES = {"margin": BLUE, "regression": ORANGE, "NCE": GREEN}
_SETS = ("bibtex", "expr_fun", "spo_fun", "genbase", "delicious")
#: The pages of each group of methods; of a data set that two of them have, the first one counts. The pages that are
#: not here have other settings, and some rows of `multilabel` are of earlier ones.
_STATIC = ("multilabel_static", "multilabel_delicious_static", "multilabel_dvn", "multilabel")
_DYNAMIC = ("multilabel_seeds", "multilabel_seeds_bibtex", "multilabel")
_ALONE = {
    "SPEN": ("multilabel_energy_only",),
    "DVN": ("multilabel_dvn", "multilabel_energy_only", "multilabel"),
    "NCE": ("multilabel_nce_energy_genbase", "multilabel_nce_energy", "multilabel"),
}


def f1_of(pages: Sequence[str], group: str, method: str) -> dict[str, float]:
    """F1 on test at 0.5 of a method, a mean over seeds, in percent, by data set: of the first page that has the set."""
    found: dict[str, float] = {}
    for page in pages:
        text = (RESULTS / f"{page}.md").read_text(encoding="utf-8")
        table = text.partition("### test: Example F1 at 0.5\n")[2].partition("\n#")[0]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "|" in line]
        of_group = ""
        for name, *cells in rows[2:]:
            if name.startswith("**"):
                of_group = name.strip("*")
            elif (of_group, name) == (group, method):
                for data, cell in zip(rows[0][1:], cells):
                    if data in _SETS and re.match(r"\d", cell):
                        found.setdefault(data, float(re.split("[ †]", cell)[0]))
    return found


def without_cross_entropy() -> str:
    """Cross-entropy, and what loss-nets alone teach the task-net (figure 2a of the first SEAL paper)."""
    pages = ("multilabel_ablations",)
    bars = {"cross-entropy": (GREY, f1_of(pages, "Feed-forward", "cross-entropy"))}
    for loss, colour in _LOSSES.items():
        bars[f"{loss}, no cross-entropy"] = (colour, f1_of(pages, "Ablations", f"{loss}, no cross-entropy"))
    return _bars("F1 with and without cross-entropy, %", bars)


def static_to_dynamic() -> str:
    """What F1 gains where the loss-net moves with the task-net (figure 2b of the first SEAL paper)."""
    bars = {}
    for loss, colour in _LOSSES.items():
        before, after = f1_of(_STATIC, "SEAL-static", f"static {loss}"), f1_of(_DYNAMIC, "SEAL-dynamic", loss)
        bars[loss] = (colour, {data: after[data] - before[data] for data in before if data in after})
    return _bars("F1 with a loss-net that moves, less that with a static one, points", bars)


def energy_and_loss() -> str:
    """The same losses where the energy predicts, and where it is the loss of a task-net."""
    bars: dict[str, tuple[str, dict[str, float]]] = {}
    pale = dict(zip(_LOSSES, ("#a9cce3", "#f0bfa0", "#9fd0c2")))
    for (loss, colour), (alone, pages) in zip(_LOSSES.items(), _ALONE.items()):
        predicts = f1_of(pages, "Energy only, gradient-based inference", alone)
        teaches = f1_of(_DYNAMIC, "SEAL-dynamic", loss)
        for name, shade, values in ((f"{alone} predicts", pale[loss], predicts), (f"SEAL {loss}", colour, teaches)):
            bars[name] = (shade, {data: values[data] for data in predicts if data in teaches})
    return _bars("F1 of an energy that predicts, and of a task-net that it teaches, %", bars)


def _bars(title: str, bars: dict[str, tuple[str, dict[str, float]]]) -> str:
    """A group of bars for each data set; each bar has a name, a colour and values by data set, which stand at it."""
    sets = [data for data in _SETS if any(data in values for _, values in bars.values())]
    found = [value for _, values in bars.values() for value in values.values()]
    low, high = min(0.0, *found), max(0.0, *found)
    drawing = Drawing(880, 330, title)
    drawing.text(20, 26, title, 14, font_weight="bold")
    x = 20.0
    for name, (colour, _) in bars.items():
        drawing.box(x, 40, 12, 12, colour)
        drawing.text(x + 18, 51, name, 12)
        x += 40 + 7 * len(name)
    top, bottom, wide = 84, 272, 840
    step = min(48.0, (wide - 20 * len(sets)) / len(found))
    gap = (wide - step * len(found)) / len(sets)
    scale = (bottom - top) / (high - low)
    zero = bottom + low * scale
    left = 20 + gap / 2
    for data in sets:
        here = [(colour, values[data]) for colour, values in bars.values() if data in values]
        middle = left + step * len(here) / 2
        drawing.text(middle, 312, data, 12, text_anchor="middle", font_weight="bold")
        for colour, value in here:
            drawing.box(left + 2, zero - max(0, value) * scale, step - 4, abs(value) * scale, colour)
            y = zero - value * scale + (-5 if value >= 0 else 14)
            text = f"{value:+.1f}" if low < 0 else f"{value:.1f}"
            drawing.text(left + step / 2, y, text, 11, text_anchor="middle")
            left += step
        left += gap
    drawing.line(20, zero, 20 + wide, zero, GREY)
    return drawing.end()


def ask(run: Path) -> dict[str, Any]:
    """What the model of a run of `srl_structured` says of `SENTENCE`: its own best frame, and the likeliest in all."""
    import torch
    from allennlp.models.archival import load_archive

    import seal  # noqa: F401
    from seal.common.tag_encodings import tags_to_spans
    from seal.structure.tag_structure import TagPaths
    from seal_inspect.archives import tensors_of

    archive = load_archive(str(run / "model.tar.gz"))
    model, reader, words = archive.model.eval(), archive.validation_dataset_reader, SENTENCE.split()
    verb = words.index("escort")
    instance = reader.text_to_instance(words, verb, ["O"] * len(words))
    with torch.no_grad():
        competing = TagPaths(**model.held_out(tensors_of(model, reader, [instance]))).competing(model.structure.scheme)
        joint = model.structure.joint
        scores, q = joint(competing)[0], joint.probabilities(competing)[0]
        energies = joint.scale * competing.log_prob[0] - scores
    frames = []
    for place in (0, int(q.argmax())):
        tags = [model.output_space.labels[tag] for tag in competing.tags[0, place].tolist()]
        frames.append(
            {
                "spans": tags_to_spans(tags),
                "probability": round(float(competing.log_prob[0, place].exp()), 4),
                "energy": round(float(energies[place]), 4),
                "joint": round(float(q[place]), 4),
                "chosen": place == int(q.argmax()),
            }
        )
    return {"words": words, "frames": frames}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description="Draws the figures of README and docs/.")
    made.add_argument("--out", type=Path, required=True, help="the folder for the figures")
    made.add_argument("--run", type=Path, help="the folder of a run of srl_structured, whose numbers the example shows")
    return made


def main(arguments: Optional[list[str]] = None) -> int:
    given = parser().parse_args(arguments)
    if given.run is not None:
        EXAMPLE.write_text(json.dumps(ask(given.run), indent=1) + "\n", encoding="utf-8")
    record = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    figures = {
        "example": example(record),
        "step": step(),
        "results": results(),
        "without_cross_entropy": without_cross_entropy(),
        "static_to_dynamic": static_to_dynamic(),
        "energy_and_loss": energy_and_loss(),
    }
    for name, drawn in figures.items():
        (given.out / f"{name}.svg").write_text(drawn, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
