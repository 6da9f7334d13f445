"""The figures that a function has drawn, to be looked into."""

from contextlib import contextmanager

from matplotlib.figure import Figure


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
