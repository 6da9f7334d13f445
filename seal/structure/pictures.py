"""Draws candidates of a sentence as SVG, without a plotting library."""

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

BLUE, ORANGE, GREEN, GREY, INK = "#0072b2", "#d55e00", "#00795a", "#666666", "#222222"
COLOURS = {"ARG0": "#cfe5f5", "ARG1": "#fde3c0", "ARG2": "#e6d5ef", "V": "#dddddd"}
_OTHER = "#d3eedf"
# The width of a letter of a monospaced font, as a share of the font's size.
_LETTER = 0.6


class Drawing:
    """An SVG document on a white background, which keeps its text legible on a dark page."""

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
        """Adds a text; `more` are attributes of the element, with `_` in place of `-`."""
        attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
        start = f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}"{attributes}>'
        self._parts.append(f"{start}{escape(text)}</text>")

    def box(self, x: float, y: float, width: float, height: float, fill: str, stroke: str = "none") -> None:
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="{fill}" stroke="{stroke}"/>'
        )

    def named(self, x: float, y: float, width: float, lines: Sequence[str], stroke: str = GREY, fill: str = "#f7f7f7"):
        """Adds a box with centred lines of text, the first one bold."""
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


def two_outputs(record: dict[str, Any], caption: str, names: Sequence[tuple[str, str]], title: str = "Outputs") -> str:
    """
    A picture, as SVG, of a sentence and two candidates with their numbers. The chosen candidate is marked, and so are
    labels that a candidate has twice.

    # Parameters

    record : `dict[str, Any]`
        `words`, and two `frames`, each with its `spans` (`(label, first, last)`), its `probability` under the task-net,
        its `energy`, its `joint` probability, and whether it is `chosen`.
    caption : `str`
    names : `Sequence[tuple[str, str]]`
        The names of the two candidates, in two lines each.
    title : `str`, optional (default = `"Outputs"`)
        The kind of the candidates, for the title.
    """
    words = record["words"]
    # Long sentences move the columns of numbers to the right.
    more = max(0.0, _width(" ".join(words), 15) - 420)
    drawing = Drawing(round(880 + more), 292, f"{title} that compete for: {' '.join(words)}")
    drawing.text(20, 34, "Sentence", 13, GREY)
    drawing.text(130, 34, " ".join(words), 17, font_family="monospace")
    for x, name in ((612, "probability"), (702, "energy"), (782, "chosen by")):
        drawing.text(x + more, 70, name, 12, GREY)
    drawing.text(782 + more, 84, "both together", 12, GREY)
    for number, frame in enumerate(record["frames"]):
        y = 100 + 78 * number
        if frame["chosen"]:
            drawing.box(12, y - 6, 856 + more, 66, "#f0f8f3", GREEN)
        drawing.text(20, y + 20, names[number][0], 13, GREY)
        drawing.text(20, y + 38, names[number][1], 13, GREY)
        _spans(drawing, 160, y, words, frame["spans"])
        best = max(record["frames"], key=lambda one: one["probability"]) is frame
        drawing.text(620 + more, y + 30, f"{frame['probability']:.2f}", 17, font_weight="bold" if best else "normal")
        low = min(record["frames"], key=lambda one: one["energy"]) is frame
        drawing.text(702 + more, y + 30, f"{frame['energy']:.1f}", 17, font_weight="bold" if low else "normal")
        mark, colour = (" ✓", GREEN) if frame["chosen"] else ("", INK)
        drawing.text(782 + more, y + 30, f"{frame['joint']:.2f}{mark}", 17, colour)
    drawing.text(20, 274, caption, 13, GREY)
    return drawing.end()


def _spans(drawing: Drawing, x: float, y: float, words: list[str], spans: list[tuple[str, int, int]]) -> None:
    size = 15
    starts, position = [], x
    for word in words:
        starts.append(position)
        position += _width(word + " ", size)
    ends = [start + _width(word, size) for start, word in zip(starts, words)]
    twice = {role for role, _, _ in spans if sum(other == role for other, _, _ in spans) > 1}
    for role, first, last in spans:
        left, width = starts[first] - 3, ends[last] - starts[first] + 6
        drawing.box(left, y + 2, width, 50, COLOURS.get(role, _OTHER), ORANGE if role in twice else "none")
        drawing.text(left + width / 2, y + 46, role.removeprefix("ARGM-"), 10, text_anchor="middle", font_weight="bold")
    for start, end, word in zip(starts, ends, words):
        # Browsers have different monospaced fonts, so the width is set.
        drawing.text(start, y + 24, word, size, font_family="monospace", textLength=f"{end - start:g}")


def _width(text: str, size: int) -> float:
    """The width of a text in a monospaced font of this size."""
    return len(text) * size * _LETTER
