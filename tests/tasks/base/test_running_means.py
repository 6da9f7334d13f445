import torch

from seal.tasks.base import RunningMeans
from tests.training.runs import on_workers


def test_means():
    monitors = RunningMeans()
    for value in (1.0, 2.0, 6.0):
        monitors.add("loss", value)
    monitors.add("norm", 5.0)
    assert monitors.means() == {"loss": 3.0, "norm": 5.0}
    assert monitors.means(reset=True) == {"loss": 3.0, "norm": 5.0}
    assert monitors.means(reset=True) == {}


def test_state_goes_round():
    monitors, other = RunningMeans(), RunningMeans()
    monitors.add("loss", 1.0)
    other.load_state_dict(monitors.state_dict())
    monitors.add("loss", 100.0)
    other.add("loss", 2.0)
    assert other.means() == {"loss": 1.5}


def test_workers_need_not_report_the_same(tmp_path):
    def work(rank):
        monitors = RunningMeans()
        monitors.add("loss", rank + 2.0)
        if rank == 1:
            monitors.add("predicate_loss", 7.0)
            monitors.add("loss", 7.0)
        return monitors.means(), monitors.means(reset=True), monitors.means(reset=True)

    (mine, both, after), (theirs, all_of_it, _) = on_workers(work, tmp_path)
    assert mine == {"loss": 2.0} and theirs == {"loss": 5.0, "predicate_loss": 7.0}
    assert both == all_of_it == {"loss": 4.0, "predicate_loss": 7.0}
    assert after == {}


def test_tensors_count_as_numbers():
    monitors, numbers = RunningMeans(), RunningMeans()
    for value in (1.5, 2.25, 6.0):
        monitors.add("loss", torch.tensor(value, requires_grad=True))
        monitors.add("energy", torch.tensor(value, dtype=torch.double))
        numbers.add("loss", value)
        numbers.add("energy", value)
    assert monitors.means() == numbers.means() and monitors.state_dict() == numbers.state_dict()


def test_what_waits_is_read_together(monkeypatch):
    read = []
    stack = torch.stack
    monkeypatch.setattr(torch, "stack", lambda values: read.append(len(values)) or stack(values))
    monitors = RunningMeans()
    for _ in range(250):
        monitors.add("loss", torch.tensor(2.0))
    assert monitors.means() == {"loss": 2.0} and read == [100, 100, 50]
    monitors.add("loss", torch.tensor(3.0))
    monitors.load_state_dict({})
    assert monitors.means() == {}


def test_a_tensor_counts_as_it_is_when_it_is_added():
    monitors, scale = RunningMeans(), torch.nn.Parameter(torch.tensor(2.0))
    monitors.add("scale", scale)
    with torch.no_grad():
        scale.zero_()
    assert monitors.means() == {"scale": 2.0}
