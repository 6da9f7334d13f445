import pytest


@pytest.fixture
def any_frozen_loss_net(monkeypatch):
    """Lets a loss-net be frozen as it is constructed, which is refused otherwise."""
    monkeypatch.setattr("seal.training.players.check_frozen_loss_net", lambda model, players: None)
