import pytest


@pytest.fixture
def any_frozen_loss_net(monkeypatch):
    """Lets a loss-net be frozen as it is constructed, which is refused otherwise."""
    monkeypatch.setattr("seal.training.players.check_frozen_loss_net", lambda model, players: None)


@pytest.fixture
def watch(monkeypatch):
    """`watch(owner, name, see)`: `see` is given the arguments of each call of the owner's method, before it."""

    def begin(owner, name, see):
        original = getattr(owner, name)

        def watched(*args, **named):
            see(*args, **named)
            return original(*args, **named)

        monkeypatch.setattr(owner, name, watched)

    return begin
