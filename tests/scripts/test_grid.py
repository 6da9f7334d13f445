"""The text of a config has the settings that its method reads, and no others: the library would refuse them."""

import pytest

from scripts.measure.grid import Grid
from scripts.measure.suite import Settings, UserError
from tests.scripts.written_configs import evaluated


def written(family, dataset, method, **more):
    settings = Settings(seed=2, epochs=5, fraction=1.0, more=tuple(more.items()))
    return Grid(family).experiment(dataset, method, settings)


@pytest.mark.parametrize("family, dataset", [("multilabel", "sample"), ("segmentation", "shapes")])
def test_a_config_has_what_its_method_reads(family, dataset):
    more = {"energy_weight": "7", "patience": "1 + 2", "solver_steps": "9"}
    for method, names in {
        "cross_entropy": ["patience"],
        "nce": ["energy_weight", "patience"],
        "implicit_cd": ["energy_weight", "patience", "solver_steps"],
    }.items():
        text = written(family, dataset, method, **more)
        arguments = ", ".join(f"{name}={more[name]}" for name in names if name != "patience")
        library = "method_for.sample" if family == "multilabel" else "method"
        assert f"  method={family}.{library}.{method}({arguments}),\n" in text
        assert "{ epochs: 5, seed: 2, patience: 1 + 2 },\n" in text and f"data={family}.data.{dataset}" in text
        config = evaluated(text)
        assert (config["trainer"]["num_epochs"], config["trainer"]["patience"], config["numpy_seed"]) == (5, 3, 2)
        assert config["model"].get("task_loss", {}).get("energy_weight") == (None if method == "cross_entropy" else 7)


def test_what_a_method_need_not_read_stays():
    # The default's value, and `tuned`, which asks for settings that a method may not have.
    text = written("multilabel", "sample", "cross_entropy", num_samples="20", tuned="true")
    assert "multilabel.tuned_for.sample.cross_entropy(num_samples=20)" in text


def test_settings_of_encoders_and_energies():
    given = {"hidden_dim": "30", "dropout": "0.25", "patterns": "9"}
    config = evaluated(written("multilabel", "bibtex", "nce", **given))
    encoder = config["model"]["loss_net"]["encoder"]
    assert (encoder["hidden_dim"], encoder["dropout"]) == (30, [0.25, 0])
    assert config["model"]["loss_net"]["energies"][1]["hidden_dim"] == 9
    given = {"dropout": "0.5", "loss_net_dropout": "0.25"}
    model = evaluated(written("segmentation", "weizmann", "nce", **given))["model"]
    assert model["task_net"]["encoder"]["dropout"] == 0.5 and model["loss_net"]["energies"][0]["dropout"] == 0.25


def test_settings_that_the_library_refuses():
    with pytest.raises(UserError, match="restarts"):
        written("multilabel", "sample", "nce", restarts="0")
