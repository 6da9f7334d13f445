"""The jsonnet libraries check what an experiment is given: names, needed fields, and that functions were called."""

import json
from pathlib import Path

import _jsonnet
import pytest

from tests.experiments import expression

LIBRARIES = Path(__file__).parents[2] / "training_configs" / "lib"
EXPERIMENTS = {
    "multilabel": "lib.experiment(lib.data.sample, method=lib.method.nce(), training={ %s: 9 })",
    "segmentation": "lib.experiment(lib.data.shapes, method=lib.method.nce(), training={ %s: 9 })",
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
    "tagging": ["train", "dev"],
    "text": ["train", "dev", "reader"],
    "srl": ["train", "dev"],
}
OF_SENTENCES = "lib.experiment(lib.data.sample, lib.encoder.bilstm(), lib.method.nce(), %s)"
SETTINGS = {
    "multilabel": "lib.experiment(lib.data.sample, method=lib.method.nce(), training=%s)",
    "segmentation": "lib.experiment(lib.data.shapes, method=lib.method.nce(), training=%s)",
    **dict.fromkeys(NEEDED, OF_SENTENCES),
    "citation_tagging": "lib.semi_supervised(labelled=5, training=%s)",
}


@pytest.mark.parametrize("library", SETTINGS)
@pytest.mark.parametrize("given", ["3", "'tuned'", "null", "[1]"])
def test_settings_that_are_no_object(library, given):
    with pytest.raises(RuntimeError) as error:
        evaluated(library, SETTINGS[library] % given)
    found = given.replace("'", '"')
    assert str(error.value).startswith(f"RUNTIME ERROR: training: this must be an object, found {found}\n")


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
        ("task_net_optimizer+: { lr: 1 }", "set 'task_net_lr', not an 'lr' of the optimizer"),
        ("loss_net_optimizer+: { lr: 1 }", "set 'loss_net_lr', not an 'lr' of the optimizer"),
        ("scheduler: {}", "'scheduler' must have a 'type'; null is none"),
        ("warmup_epochs: -1", "'warmup_epochs' must be a number that is at least 0"),
        ("warmup_epochs: 1.5", "'warmup_epochs' must be a whole number, not 1.5"),
    ],
)
def test_settings_of_training(library, setting, told):
    with pytest.raises(RuntimeError, match=f"RUNTIME ERROR: training: {told}\n"):
        evaluated(library, OF_SENTENCES % f"lib.training.sample {{ {setting} }}")


@pytest.mark.parametrize(
    "library, method", [("tagging", "cross_entropy"), ("tagging", "spen"), ("text", "cross_entropy")]
)
def test_a_warm_up_needs_both_nets(library, method):
    experiment = f"lib.experiment(lib.data.sample, lib.encoder.bilstm(), lib.method.{method}(), lib.training.sample %s)"
    with pytest.raises(RuntimeError, match="'warmup_epochs' changes nothing without both a task-net and a loss-net"):
        evaluated(library, experiment % "{ warmup_epochs: 2 }")


@pytest.mark.parametrize(
    "data, reader, space",
    [
        ("", None, "auto"),
        ("reader: { separator: 'tab' }", None, "auto"),
        ("reader: { encoding: 'BIO' }", "BIO", "BIO"),
        ("reader: { encoding: null }", None, None),
        ("encoding: 'BIOES'", "BIOES", "BIOES"),
        ("reader: { encoding: 'BIO' }, encoding: 'BIO'", "BIO", "BIO"),
        ("reader: { encoding: 'IOB1' }", "IOB1 to BIO", "BIO"),
        ("encoding: 'IOB1'", "IOB1 to BIO", "BIO"),
        ("reader: { encoding: 'IOB1', target_encoding: 'BIOES' }, encoding: 'BIOES'", "IOB1 to BIOES", "BIOES"),
        ("reader: { target_encoding: 'BIOES' }", "None to BIOES", "BIOES"),
    ],
)
def test_the_encoding_of_tags_is_asked_for_once(data, reader, space):
    experiment = f"lib.experiment({{ train: 'x', dev: 'y', {data} }}, lib.encoder.bilstm(), lib.method.nce())"
    built = json.loads(evaluated("tagging", experiment))
    found = built["dataset_reader"]
    target = f" to {found['target_encoding']}" if "target_encoding" in found else ""
    assert f"{found.get('encoding')}{target}" == str(reader) and built["model"]["output_space"]["encoding"] == space


@pytest.mark.parametrize(
    "data, told",
    [
        ("encoding: 'BIO', reader: { encoding: 'IOB1', target_encoding: 'BIOES' }", "tags are BIOES, .* is BIO"),
        ("encoding: 'BIOES', reader: { encoding: 'BIO' }", "tags are BIO, .* is BIOES"),
        ("reader: { type: 'mine' }", "set 'encoding'"),
    ],
)
def test_two_encodings_or_none_of_a_reader_that_cannot_tell(data, told):
    with pytest.raises(RuntimeError, match=f"ERROR: data: .*{told}"):
        evaluated(
            "tagging", f"lib.experiment({{ train: 'x', dev: 'y', {data} }}, lib.encoder.bilstm(), lib.method.nce())"
        )


def test_restarts_that_are_none():
    with pytest.raises(RuntimeError, match="settings: 'restarts' must be a number that is at least 1"):
        evaluated("multilabel", expression("multilabel", "sample", "spen", "restarts=0"))


@pytest.mark.parametrize("method", ["margin", "margin_rescaled", "spen", "compound_shared"])
def test_a_cost_is_a_name(method):
    experiment = f"lib.experiment(lib.data.sample, lib.encoder.bilstm(), lib.method.{method}(cost=%s))"
    assert '"type": "hamming"' in evaluated("tagging", experiment % "'hamming'")
    with pytest.raises(RuntimeError, match="ERROR: cost: this must be a name, such as 'l1', found null\n"):
        evaluated("tagging", experiment % "null")


METHODS_OVER_OTHERS = {
    "srl": ("crf", "legal", "structured", "self_training", "distilled", "structured_tuning"),
    "tagging": ("crf", "structured", "self_training"),
    "text": ("structured", "self_training", "distilled"),
    "parsing": ("structured",),
    "multilabel": ("self_training",),
}
NO_METHODS = [("'nce'", "nce"), ("lib.method.cross_entropy", "cross_entropy"), ("3", "cross_entropy")]


@pytest.mark.parametrize(
    "library, method, given, call",
    [
        (library, method, *none)
        for library, methods in METHODS_OVER_OTHERS.items()
        for method in methods
        for none in NO_METHODS
        # There a method may be named.
        if (library, none[0]) != ("multilabel", "'nce'")
    ],
)
def test_what_a_method_is_over_is_named_where_it_is_none(library, method, given, call):
    encoder = "" if library == "multilabel" else "encoder=lib.encoder.bilstm(), "
    with pytest.raises(RuntimeError) as error:
        evaluated(library, f"lib.experiment(lib.data.sample, {encoder}method=lib.method.{method}(over={given}))")
    told = f"over: not a method; call one, such as 'method.{call}()' with its parentheses"
    assert str(error.value).splitlines()[0] == f"RUNTIME ERROR: {told}"


@pytest.mark.parametrize("name, owner", [("energy_weight", "method"), ("dropout", "encoder"), ("patterns", "energies")])
def test_training_has_none_of_the_others_arguments(name, owner):
    with pytest.raises(RuntimeError, match=f"training: '{name}' is an argument of the {owner}"):
        evaluated("multilabel", EXPERIMENTS["multilabel"] % name)


# Settings that a method does not read.
DATASET = {"multilabel": "sample", "segmentation": "shapes"}


@pytest.mark.parametrize(
    "library, method, given, idle, read",
    [
        ("multilabel", "spen", "energy_weight=3", "energy_weight", "step_size"),
        ("multilabel", "cross_entropy", "patience=7,loss_net_lr=3,epochs=2", "loss_net_lr", "task_net_lr"),
        ("multilabel", "margin", "num_samples=5", "num_samples", "energy_weight"),
        ("segmentation", "nce", "solver_steps=9", "solver_steps", "num_fields"),
        ("segmentation", "cross_entropy", "crops=false,loss_net_lr=0.5", "loss_net_lr", "crops"),
    ],
)
def test_a_setting_that_the_method_does_not_read_is_refused(library, method, given, idle, read):
    with pytest.raises(RuntimeError) as error:
        evaluated(library, expression(library, DATASET[library], method, given))
    told, _, names = str(error.value).splitlines()[0].partition(": leave it out; what is read there: ")
    assert told == f"RUNTIME ERROR: settings: '{idle}' changes nothing for '{method}'"
    assert read in names.split(", ") and "seed" in names.split(", ") and idle not in names.split(", ")


@pytest.mark.parametrize(
    "library, method, given",
    [
        ("multilabel", "spen", "energy_weight=1,num_samples=20"),  # The default's values.
        ("multilabel", "dvn", "prediction_steps=20"),  # As many as without it.
        # Each is read, though beside the second one the first one has no effect.
        ("multilabel", "static_margin", "loss_net_epochs=5,loss_net_from='x'"),
        ("multilabel", "nce_energy", "inference_steps=30,prediction_steps=40"),
        ("segmentation", "nce_independent", "num_fields=10"),
        ("segmentation", "regression_anchored", "anchors=false"),
    ],
)
def test_a_setting_without_effect_that_is_no_mistake(library, method, given):
    evaluated(library, expression(library, DATASET[library], method, given))


def test_what_a_data_set_lacks_is_not_asked_for():
    mine = "lib.experiment({ train: 'a', valid: 'b', size: 32 }, method=lib.method.nce(%s), training={ crops: %s })"
    assert '"size": 32' in evaluated("segmentation", mine % ("", "false"))
    with pytest.raises(RuntimeError, match="'damping' changes nothing for 'nce'.* crops, .* mirror, "):
        evaluated("segmentation", mine % ("damping=3", "false"))
    with pytest.raises(RuntimeError, match="training: the data have no 'crop', so 'crops' must be false"):
        evaluated("segmentation", mine % ("", "true"))


@pytest.mark.parametrize("library, dataset", [("multilabel", "sample"), ("segmentation", "shapes")])
def test_what_a_method_reads_of_settings_for_several(library, dataset):
    given = "{ energy_weight: 2, epochs: 3, num_samples: 7, patience: 20, solver_steps: 8 }"
    methods = ["cross_entropy", "regression", "nce", "implicit_cd"]
    found = json.loads(
        evaluated(library, f"{{ [method]: lib.used('{dataset}', method, {given}) for method in {methods} }}")
    )
    always = {"epochs": 3, "patience": 20}
    assert found["cross_entropy"] == always
    assert found["regression"] == {**always, "energy_weight": 2}
    assert found["nce"] == {**always, "energy_weight": 2, "num_samples": 7}
    assert found["implicit_cd"] == {**found["nce"], "solver_steps": 8}
    with pytest.raises(RuntimeError, match="settings: there is no 'ephocs'"):
        evaluated(library, f"lib.used('{dataset}', 'nce', {{ ephocs: 3 }})")


@pytest.mark.parametrize(
    "kind, unread, read",
    [("supervised", "num_unlabelled", "batches_per_epoch"), ("semi_supervised", "batches_per_epoch", "num_unlabelled")],
)
def test_settings_of_citations_that_a_kind_does_not_read(kind, unread, read):
    called = f"lib.{kind}(labelled=5, method=lib.method.%s(), training=lib.training + {{ %s }})"
    method = "cross_entropy" if kind == "supervised" else "rewarded_cd"
    for name in (unread, "batch_size"):
        with pytest.raises(RuntimeError, match=f"training: '{name}' changes nothing in '{kind}'; leave it out"):
            evaluated("citation_tagging", called % (method, f"{name}: 7"))
    # One object of settings may be for several methods.
    assert evaluated("citation_tagging", called % (method, f"{read}: 7, loss_net_lr: 1"))


@pytest.mark.parametrize(
    "method, name",
    [("compound_separated", "lambda"), ("compound_stacked", "lambda"), ("dvn", "num_steps"), ("spen", "optimizer")],
)
def test_a_method_has_one_name_for_an_argument(method, name):
    with pytest.raises(RuntimeError, match=f"function has no parameter {name}"):
        evaluated("tagging", f"lib.method.{method}({name}=1)")


def test_citations_without_tags():
    more = "{ unlabelled: 'raw.txt', plain_text: true }"
    called = f"lib.%s(data=lib.data.cora + {more}, labelled=5, method=lib.method.%s())"
    rewarded = json.loads(evaluated("citation_tagging", called % ("semi_supervised", "rewarded_cd")))
    taught = json.loads(evaluated("citation_tagging", called % ("supervised", "self_training")))
    expected = {"unlabelled": "raw.txt", "plain_text": True}
    assert expected.items() <= rewarded["dataset_reader"].items()
    assert expected.items() <= taught["trainer"]["self_training"].items()
    for config in (rewarded, taught):
        assert "unlabelled" not in config["validation_dataset_reader"]
    assert "unlabelled" not in taught["dataset_reader"] and "self_training" not in rewarded["trainer"]


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


@pytest.mark.parametrize("library", [*NEEDED, "parsing"])
@pytest.mark.parametrize("given", ["null", "lib.energies", "{ type: 'local' }"])
def test_energies_are_a_list(library, given):
    told = f"energies: this must be a list; call {library}.energies(...), with what it is to add"
    with pytest.raises(RuntimeError) as error:
        evaluated(library, f"lib.experiment(lib.data.sample, lib.encoder.bilstm(), lib.method.nce(), energies={given})")
    assert str(error.value).splitlines()[0] == f"RUNTIME ERROR: {told}"


@pytest.mark.parametrize("library", [*NEEDED, "parsing", "multilabel", "segmentation"])
def test_an_experiment_needs_data_and_a_method(library):
    sample = "shapes" if library == "segmentation" else "sample"
    with pytest.raises(RuntimeError, match=f"ERROR: set data: {library}.data.{sample} or {{ train, "):
        evaluated(library, "lib.experiment()")
    with pytest.raises(RuntimeError, match=rf"ERROR: set method: {library}.method.\w+\(\) or another"):
        evaluated(library, f"lib.experiment(lib.data.{sample}, lib.encoder[std.objectFields(lib.encoder)[0]]())")


@pytest.mark.parametrize("library", NEEDED)
def test_a_function_that_was_not_called(library):
    with pytest.raises(RuntimeError, match="encoder: not an encoder; call one"):
        evaluated(library, "lib.experiment(lib.data.sample, lib.encoder.bilstm, lib.method.nce())")
    with pytest.raises(RuntimeError, match="method: not a method; call one"):
        evaluated(library, "lib.experiment(lib.data.sample, lib.encoder.bilstm(), lib.method.cross_entropy)")
    # A method is told from the function that gives it by its two parameters.
    parameters = json.loads(
        evaluated(library, "{ [name]: std.length(lib.method[name]) for name in std.objectFields(lib.method) }")
    )
    assert parameters["cross_entropy"] == 0 and 2 not in parameters.values()


@pytest.mark.parametrize("tuned", ["false", "true"])
@pytest.mark.parametrize(
    "ablation, method",
    [
        ("nce_no_ce", "nce"),
        ("margin_no_ce", "margin"),
        *((name, "cross_entropy") for name in ("task_net_ranking", "structured", "distilled", "self_training")),
    ],
)
def test_a_method_has_the_settings_of_what_it_changes(ablation, method, tuned):
    found = [
        json.loads(evaluated("multilabel", f"lib.settings('bibtex', '{name}', {tuned})")) for name in (ablation, method)
    ]
    if ablation.endswith("_no_ce"):
        assert found[0].pop("energy_weight") == 1 and found[1].pop("energy_weight") != 1
    assert found[0] == found[1]
