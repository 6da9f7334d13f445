"""The jsonnet libraries check what an experiment is given: names, needed fields, and that functions were called."""

import json
from pathlib import Path

import _jsonnet
import pytest

LIBRARIES = Path(__file__).parents[2] / "training_configs" / "lib"
EXPERIMENTS = {
    "multilabel": "lib.experiment('sample', 'nce', settings={ %s: 9 })",
    "segmentation": "lib.experiment('shapes', 'nce', settings={ %s: 9 })",
    **dict.fromkeys(
        ("tagging", "text", "srl"),
        "lib.experiment(lib.data.sample, lib.encoder.bilstm(), lib.method.nce(), lib.training.sample { %s: 9 })",
    ),
    "citation_tagging": "lib.semi_supervised(labelled=5, training=lib.training { %s: 9 })",
}
DATA = {
    **dict.fromkeys(
        ("tagging", "text", "srl"),
        "lib.experiment(lib.data.sample { %s: {} }, lib.encoder.bilstm(), lib.method.nce())",
    ),
    "citation_tagging": "lib.semi_supervised(lib.data.cora { %s: {} }, labelled=5)",
}


def evaluated(library, expression):
    source = f"local lib = import '{(LIBRARIES / library).as_posix()}.libsonnet';\n{expression}"
    return _jsonnet.evaluate_snippet("test", source)


@pytest.mark.parametrize("library", EXPERIMENTS)
def test_a_misspelt_setting(library):
    what = "settings" if library in ("multilabel", "segmentation") else "training"
    with pytest.raises(RuntimeError, match=f"{what}: there is no 'task_net_LR'; there are .*, task_net_lr, "):
        evaluated(library, EXPERIMENTS[library] % "task_net_LR")
    assert '"lr": 9' in evaluated(library, EXPERIMENTS[library] % "task_net_lr")


NEEDED = {
    "tagging": ["train", "dev", "reader", "encoding"],
    "text": ["train", "dev", "reader"],
    "srl": ["train", "dev"],
}
OF_SENTENCES = "lib.experiment(lib.data.sample, lib.encoder.bilstm(), lib.method.nce(), %s)"
SETTINGS = {
    "multilabel": "lib.experiment('sample', 'nce', settings=%s)",
    "segmentation": "lib.experiment('shapes', 'nce', settings=%s)",
    **dict.fromkeys(NEEDED, OF_SENTENCES),
    "citation_tagging": "lib.semi_supervised(labelled=5, training=%s)",
}


@pytest.mark.parametrize("library", SETTINGS)
@pytest.mark.parametrize("given", ["3", "'tuned'", "null", "[1]"])
def test_settings_that_are_no_object(library, given):
    what = "settings" if library in ("multilabel", "segmentation") else "training"
    with pytest.raises(RuntimeError) as error:
        evaluated(library, SETTINGS[library] % given)
    found = given.replace("'", '"')
    assert str(error.value).startswith(f"RUNTIME ERROR: {what}: this must be an object, found {found}\n")


@pytest.mark.parametrize("library", NEEDED)
def test_data_that_are_no_object(library):
    with pytest.raises(RuntimeError, match='ERROR: data: this must be an object, found "x"\n'):
        evaluated(library, "lib.experiment('x', lib.encoder.bilstm(), lib.method.nce())")


@pytest.mark.parametrize("library", NEEDED)
@pytest.mark.parametrize(
    "setting, told",
    [
        ("task_net_optimizer: 'sgd'", "'task_net_optimizer': this must be an object, found \"sgd\""),
        ("loss_net_optimizer: 'sgd'", "'loss_net_optimizer': this must be an object, found \"sgd\""),
        ("scheduler: {}", "'scheduler' must have a 'type'; null is none"),
        ("warmup_epochs: -1", "'warmup_epochs' must be a number that is at least 0"),
    ],
)
def test_settings_of_training(library, setting, told):
    with pytest.raises(RuntimeError, match=f"RUNTIME ERROR: training: {told}\n"):
        evaluated(library, OF_SENTENCES % f"lib.training.sample {{ {setting} }}")


def test_tuned_is_true_or_false():
    with pytest.raises(RuntimeError, match="settings: 'tuned' must be true or false, found \"yes\""):
        evaluated("multilabel", "lib.experiment('sample', 'nce', settings={ tuned: 'yes' })")


def test_restarts_that_are_none():
    with pytest.raises(RuntimeError, match="settings: 'restarts' must be a number that is at least 1"):
        evaluated("multilabel", "lib.experiment('sample', 'spen', settings={ restarts: 0 })")


@pytest.mark.parametrize("method", ["margin", "margin_rescaled", "spen", "compound_shared"])
def test_a_cost_is_a_name(method):
    experiment = f"lib.experiment(lib.data.sample, lib.encoder.bilstm(), lib.method.{method}(cost=%s))"
    assert '"type": "hamming"' in evaluated("tagging", experiment % "'hamming'")
    with pytest.raises(RuntimeError, match="ERROR: cost: this must be a name, such as 'l1', found null\n"):
        evaluated("tagging", experiment % "null")


def test_settings_that_a_search_asks_for_are_held_to_the_same_names():
    with pytest.raises(RuntimeError, match="settings: there is no 'energy_wieght'"):
        evaluated("multilabel", "lib.settings('sample', 'nce', { energy_wieght: 1 })")


@pytest.mark.parametrize("library", DATA)
def test_misspelt_data(library):
    with pytest.raises(RuntimeError, match="data: there is no 'raeder'; there are dev, "):
        evaluated(library, DATA[library] % "raeder")


def test_what_citations_add_is_unknown_to_other_tags():
    with pytest.raises(RuntimeError, match="training: there is no 'num_labelled'"):
        evaluated("tagging", EXPERIMENTS["tagging"] % "num_labelled")


@pytest.mark.parametrize("library", NEEDED)
def test_data_without_what_is_needed(library):
    fields = {"train": "'a'", "dev": "'b'", "reader": "{}", "encoding": "null"}

    def experiment(names):
        data = ", ".join(f"{name}: {fields[name]}" for name in names)
        return f"lib.experiment({{ {data} }}, lib.encoder.bilstm(), lib.method.nce())"

    needed = NEEDED[library]
    assert '"train_data_path": "a"' in evaluated(library, experiment(needed))
    for name in needed:
        with pytest.raises(RuntimeError, match=f"data: '{name}' is missing; needed are {', '.join(needed)}"):
            evaluated(library, experiment([other for other in needed if other != name]))


@pytest.mark.parametrize("library", NEEDED)
def test_a_function_that_was_not_called(library):
    with pytest.raises(RuntimeError, match="encoder: this is none; call one"):
        evaluated(library, "lib.experiment(lib.data.sample, lib.encoder.bilstm, lib.method.nce())")
    methods = json.loads(evaluated(library, "std.objectFields(lib.method)"))
    assert "cross_entropy" in methods
    for method in methods:
        with pytest.raises(RuntimeError, match="method: this is none; call one"):
            evaluated(library, f"lib.experiment(lib.data.sample, lib.encoder.bilstm(), lib.method.{method})")


@pytest.mark.parametrize("tuned", ["false", "true"])
@pytest.mark.parametrize(
    "ablation, method",
    [("nce_no_ce", "nce"), ("margin_no_ce", "margin"), ("task_net_ranking", "cross_entropy")],
)
def test_an_ablation_has_the_settings_of_what_it_changes(ablation, method, tuned):
    found = [
        json.loads(evaluated("multilabel", f"lib.settings('bibtex', '{name}', {{ tuned: {tuned} }})"))
        for name in (ablation, method)
    ]
    if ablation.endswith("_no_ce"):
        assert found[0].pop("energy_weight") == 1 and found[1].pop("energy_weight") != 1
    assert found[0] == found[1]
