"""The jsonnet libraries check what an experiment is given: names, needed fields, and that functions were called."""

import json
from pathlib import Path

import _jsonnet
import pytest

from tests.experiments import expression

LIBRARIES = Path(__file__).parents[2] / "training_configs" / "lib"
#: A sample with an encoder, a method and settings of training.
OF_SENTENCES = "lib.experiment(lib.data.sample, lib.encoder.bilstm(), lib.method.nce(), %s)"
SENTENCES = ("tagging", "text", "srl")
EXPERIMENTS = {
    "multilabel": "lib.experiment(lib.data.sample, method=lib.method.nce(), training=%s)",
    "segmentation": "lib.experiment(lib.data.shapes, method=lib.method.nce(), training=%s)",
    **dict.fromkeys(SENTENCES, OF_SENTENCES),
    "citation_tagging": "lib.semi_supervised(labelled=5, training=%s)",
}
#: What a method is over.
OVER = {
    "srl": ("crf", "legal", "structured", "self_training", "distilled", "structured_tuning", "uncrossed"),
    "tagging": ("crf", "structured", "self_training"),
    "text": ("structured", "self_training", "distilled"),
    "parsing": ("structured",),
    "multilabel": ("self_training",),
}


def evaluated(library, expression):
    source = f"local lib = import '{(LIBRARIES / library).as_posix()}.libsonnet';\n{expression}"
    return _jsonnet.evaluate_snippet("test", source)


def mistakes():
    """The library, an expression and what its error must name."""
    for library, call in EXPERIMENTS.items():
        wrong = "{ task_net_LR: 9 }" if library in ("multilabel", "segmentation") else "lib.training { task_net_LR: 9 }"
        wrong = wrong.replace("lib.training ", "lib.training.sample ") if library in SENTENCES else wrong
        yield library, call % wrong, "'task_net_LR'.* task_net_lr, "
        yield library, call % "3", "training: .*3"
    for library in SENTENCES:
        yield library, "lib.experiment('x', lib.encoder.bilstm(), lib.method.nce())", 'data: .*"x"'
        yield library, OF_SENTENCES.replace("lib.data.sample", "lib.data.sample { raeder: {} }") % "{}", "'raeder'"
        data = {"train": "'a'", "dev": "'b'", "reader": "{}"}
        for name in ("train", "dev"):
            fields = ", ".join(f"{other}: {value}" for other, value in data.items() if other != name)
            yield library, f"lib.experiment({{ {fields} }}, lib.encoder.bilstm(), lib.method.nce())", f"data: '{name}'"
        yield library, OF_SENTENCES.replace("bilstm()", "bilstm") % "{}", "encoder: "
        yield library, OF_SENTENCES.replace("nce()", "nce") % "{}", "method: "
        yield library, OF_SENTENCES % "{}, energies=lib.energies", f"energies: .*{library}.energies"
        for setting, named in (
            ("task_net_optimizer: 'sgd'", "'task_net_optimizer'"),
            ("loss_net_optimizer+: { lr: 1 }", "'loss_net_lr'"),
            ("scheduler: {}", "'scheduler'"),
            ("warmup_epochs: -1", "'warmup_epochs'"),
            ("warmup_epochs: 1.5", "'warmup_epochs'"),
        ):
            yield library, OF_SENTENCES % f"lib.training.sample {{ {setting} }}", f"training: .*{named}"


def more_mistakes():
    for library, method in (("tagging", "cross_entropy"), ("tagging", "spen"), ("text", "cross_entropy")):
        call = OF_SENTENCES.replace("nce", method) % "lib.training.sample { warmup_epochs: 2 }"
        yield library, call, "'warmup_epochs'"
    for method in ("margin", "margin_rescaled", "spen", "compound_shared"):
        yield "tagging", OF_SENTENCES.replace("nce()", f"{method}(cost=null)") % "{}", "cost: "
    for library, methods in OVER.items():
        encoder = "" if library == "multilabel" else "encoder=lib.encoder.bilstm(), "
        for method in methods:
            over = f"lib.experiment(lib.data.sample, {encoder}method=lib.method.{method}(over=%s))"
            yield library, over % "lib.method.cross_entropy", r"over: .*method.cross_entropy\(\)"
            yield library, over % "3", "over: "
    for library in (*SENTENCES, "parsing", "multilabel", "segmentation"):
        sample = "shapes" if library == "segmentation" else "sample"
        yield library, "lib.experiment()", f"data: {library}.data.{sample}"
        encoder = "lib.encoder[std.objectFields(lib.encoder)[0]]()"
        yield library, f"lib.experiment(lib.data.{sample}, {encoder})", f"method: {library}.method."
    for name, owner in (("energy_weight", "method"), ("dropout", "encoder"), ("patterns", "energies")):
        yield "multilabel", EXPERIMENTS["multilabel"] % f"{{ {name}: 9 }}", f"'{name}'.* {owner}"


def mistakes_in_tags():
    for data in (
        "encoding: 'BIO', reader: { encoding: 'IOB1', target_encoding: 'BIOES' }",
        "encoding: 'BIOES', reader: { encoding: 'BIO' }",
        "reader: { type: 'mine' }",
    ):
        call = f"lib.experiment({{ train: 'x', dev: 'y', {data} }}, lib.encoder.bilstm(), lib.method.nce())"
        yield "tagging", call, "data: .*encoding|data: .*BIO"
    for method, name in (("compound_stacked", "lambda"), ("dvn", "num_steps"), ("spen", "optimizer")):
        yield "tagging", f"lib.method.{method}({name}=1)", name
    yield "tagging", OF_SENTENCES % "lib.training.sample { num_labelled: 9 }", "'num_labelled'"
    margin = OF_SENTENCES.replace("nce()", "margin_rescaled(fine_tune_epochs=10)")
    yield "tagging", margin % "lib.training.sample", "fine_tune_epochs"
    yield "tagging", OF_SENTENCES % "lib.training.sample, lib.energies('ge_b')", "energies: .*ge_b"
    yield "tagging", OF_SENTENCES.replace("nce()", "compound_stacked(steps=0)") % "{}", "'steps'"
    yield "tagging", OF_SENTENCES.replace("bilstm()", "bilstm(characters=-3)") % "{}", "'characters'"
    yield "tagging", "lib.encoder.bilstm(trainable=false)", "vectors"
    shared = OF_SENTENCES.replace("nce()", "compound_shared()")
    yield "tagging", shared % "lib.training.default { map_lr: 0.5 }", "'map_lr'"
    for method, named in (("cross_entropy()", "loss-net"), ("structured(over=lib.method.nce())", "structure")):
        tuned = OF_SENTENCES.replace("nce()", method, 1) % "{}"
        yield "tagging", f"lib.fine_tuned({tuned}, 'runs/it', 'words')", f"fine_tuned: .*{named}"
    for library in SENTENCES:
        yield library, OF_SENTENCES.replace("nce", "self_training") % "{}", "'unlabelled'"


@pytest.mark.parametrize("library, call, named", [*mistakes(), *more_mistakes(), *mistakes_in_tags()])
def test_a_mistake_is_named(library, call, named):
    with pytest.raises(RuntimeError, match=named):
        evaluated(library, call)


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
    with pytest.raises(RuntimeError, match=f"'{idle}'.*'{method}'.* {read}, "):
        evaluated(library, expression(library, DATASET[library], method, given))


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
    with pytest.raises(RuntimeError, match="'damping'.* crops, .* mirror, "):
        evaluated("segmentation", mine % ("damping=3", "false"))
    with pytest.raises(RuntimeError, match="'crops'"):
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
    with pytest.raises(RuntimeError, match="'ephocs'"):
        evaluated(library, f"lib.used('{dataset}', 'nce', {{ ephocs: 3 }})")


@pytest.mark.parametrize(
    "kind, unread, read",
    [("supervised", "num_unlabelled", "batches_per_epoch"), ("semi_supervised", "batches_per_epoch", "num_unlabelled")],
)
def test_settings_of_citations_that_a_kind_does_not_read(kind, unread, read):
    method = "cross_entropy" if kind == "supervised" else "rewarded_cd"
    called = f"lib.{kind}(labelled=5, method=lib.method.{method}(), training=lib.training + {{ %s: 7 }})"
    for name in (unread, "batch_size"):
        with pytest.raises(RuntimeError, match=f"'{name}'"):
            evaluated("citation_tagging", called % name)
    assert evaluated("citation_tagging", called % read)


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
