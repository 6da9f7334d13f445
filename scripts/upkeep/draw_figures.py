"""
Draws the figures of README and docs/ as SVG: two frames that compete, a training step, and measurements, whose numbers
are those of the pages in docs/results.

    python scripts/upkeep/draw_figures.py --out docs/figures
    # also asks the model for the example's numbers:
    python scripts/upkeep/draw_figures.py --out docs/figures --run runs/structured
    # also runs the program of docs/taggers.md for its picture:
    python scripts/upkeep/draw_figures.py --out docs/figures --tagger
    # also asks english-srl for the record in README:
    python scripts/upkeep/draw_figures.py --out docs/figures --english

What the pictures of outputs show is in `docs/figures/example.json`, `tagger.json` and `record.json`.
"""

import argparse
import csv
import json
import re
import sys
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from seal.common.setting_checks import require
from seal.structure.pictures import BLUE, GREEN, GREY, ORANGE, Drawing, two_outputs
from seal.tasks.base.records import svg_of

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "figures" / "example.json"
TAGGER = ROOT / "docs" / "figures" / "tagger.json"
RECORD = ROOT / "docs" / "figures" / "record.json"
RESULTS = ROOT / "docs" / "results"
LABEL_SETS = tuple(RESULTS / f"{name}.csv" for name in ("label_sets", "label_sets_large", "label_sets_more"))
# An unseen sentence of the sample's test data, whose best path of the CRF has a role twice.
SENTENCE = "Who will Bruno escort to the library ?"


def example(record: dict[str, Any]) -> str:
    """The frames that compete for a sentence."""
    caption = "The energy is low where an output looks like gold of the training data: no role twice."
    names = (("The task-net's best", "alone"), ("Another of its best", "20 outputs"))
    return two_outputs(record, caption, names, "Frames")


def tagger(record: dict[str, Any]) -> str:
    """The entities that compete for a sentence in docs/taggers.md."""
    caption = "The energy is low where an output looks like gold of the training data: its entities, and their order."
    names = (("The tagger's best", "alone"), ("Another of its best", "20 outputs"))
    return two_outputs(record, caption, names, "Entities")


def ask_english() -> dict[str, Any]:
    """The record of the sentence in README."""
    import seal

    (sentence,) = re.findall(r'\nsrl\("([^"]+)"\)', (ROOT / "README.md").read_text(encoding="utf-8"))
    return seal.load("english-srl")(sentence)


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
        # Pages of before name it by the threshold, which none of their methods had otherwise.
        found_in = re.search(r"### test: Example F1 (at 0.5|as predicted)\n(.*?)(\n#|$)", text, flags=re.DOTALL)
        table = found_in[2] if found_in else ""
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

    import seal.plugin  # noqa: F401
    from seal.common.tag_encodings import tags_to_spans
    from seal.structure.tag_paths import TagPaths
    from seal_inspect.archives import tensors_of

    archive = load_archive(str(run / "model.tar.gz"))
    model, reader, words = archive.model.eval(), archive.validation_dataset_reader, SENTENCE.split()
    verb = words.index("escort")
    instance = reader.text_to_instance(words, verb, ["O"] * len(words))
    with torch.no_grad():
        candidates = model.structure.candidates(TagPaths(**model.held_out(tensors_of(model, reader, [instance]))))
        joint = model.structure.joint
        scores, q = joint(candidates)[0], joint.probabilities(candidates)[0]
        energies = joint.scale * candidates.log_prob[0] - scores
    frames = []
    for place in (0, int(q.argmax())):
        tags = [model.output_space.labels[tag] for tag in candidates.tags[0, place].tolist()]
        frames.append(
            {
                "spans": tags_to_spans(tags),
                "probability": round(float(candidates.log_prob[0, place].exp()), 4),
                "energy": round(float(energies[place]), 4),
                "joint": round(float(q[place]), 4),
                "chosen": place == int(q.argmax()),
            }
        )
    return {"words": words, "frames": frames}


def ask_tagger() -> dict[str, Any]:
    """What the program of docs/taggers.md explains."""
    page = (ROOT / "docs" / "taggers.md").read_text(encoding="utf-8")
    program = max(re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL), key=len)
    names: dict[str, Any] = {}
    with chdir(ROOT):
        exec(compile(program, "taggers.md", "exec"), names)
    return rounded(names["explained"].two())


def rounded(value: Any) -> Any:
    """Plain values with numbers of four decimals."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(part) for part in value]
    return round(value, 4) if isinstance(value, float) else value


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description="Draws the figures of README and docs/.")
    made.add_argument("--out", type=Path, required=True, help="the folder for the figures")
    made.add_argument("--run", type=Path, help="the folder of a run of srl_structured, whose numbers the example shows")
    made.add_argument("--english", action="store_true", help="ask english-srl for the record in README")
    made.add_argument("--tagger", action="store_true", help="run the program of docs/taggers.md for its picture")
    return made


def main(arguments: Optional[list[str]] = None) -> int:
    given = parser().parse_args(arguments)
    if given.run is not None:
        EXAMPLE.write_text(json.dumps(ask(given.run), indent=1) + "\n", encoding="utf-8")
    if given.english:
        RECORD.write_text(json.dumps(ask_english(), indent=1) + "\n", encoding="utf-8")
    if given.tagger:
        TAGGER.write_text(json.dumps(ask_tagger(), indent=1) + "\n", encoding="utf-8")
    figures = {
        "example": example(json.loads(EXAMPLE.read_text(encoding="utf-8"))),
        "tagger": tagger(json.loads(TAGGER.read_text(encoding="utf-8"))),
        "record": require(svg_of(json.loads(RECORD.read_text(encoding="utf-8"))), "a picture"),
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
