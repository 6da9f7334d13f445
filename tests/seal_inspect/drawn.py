"""Access to the figures that a function has drawn."""

from contextlib import contextmanager

from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser


@contextmanager
def saved_figures(monkeypatch):
    """A list to which each figure is added when it is saved."""
    figures, original = [], Figure.savefig

    def savefig(self, *arguments, **settings):
        figures.append(self)
        return original(self, *arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(Figure, "savefig", savefig)
        yield figures


@contextmanager
def parsed_formulas(monkeypatch):
    """A list to which each text is added that matplotlib reads as TeX."""
    formulas, original = [], MathTextParser.parse

    def parse(self, text, *arguments, **settings):
        formulas.append(text)
        return original(self, text, *arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(MathTextParser, "parse", parse)
        yield formulas
