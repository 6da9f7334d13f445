"""The figures that a function has drawn, to be looked into."""

from contextlib import contextmanager

from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser


@contextmanager
def saved_figures(monkeypatch):
    """A list that each figure joins where it is saved."""
    figures, original = [], Figure.savefig

    def savefig(self, *arguments, **settings):
        figures.append(self)
        return original(self, *arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(Figure, "savefig", savefig)
        yield figures


@contextmanager
def parsed_formulas(monkeypatch):
    """A list that each text joins which is read as TeX."""
    formulas, original = [], MathTextParser.parse

    def parse(self, text, *arguments, **settings):
        formulas.append(text)
        return original(self, text, *arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(MathTextParser, "parse", parse)
        yield formulas
