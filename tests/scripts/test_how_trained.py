"""What a page says of the settings of its runs: as they were asked for, from the configs that were written."""

import json
from types import SimpleNamespace

import pytest

from scripts.measure import configs, how_trained, provenance
from scripts.measure.how_trained import Trained, lines, warnings
from scripts.measure.stored_configs import given
from scripts.measure.suite import Settings, all_suites

SUITES = all_suites()
MADE_UP = {name: SimpleNamespace(baseline="cross_entropy") for name in ("one", "two")}
# Commas, brackets and quotes of all kinds.
VALUES = ["3", "[1, 2]", "{ a: 'x, y}', b: [\"(\", 1] }", "'it\\'s, [so'", "null", "1 + 2"]
OVERRIDES = {
    "trainer.patience": 2,
    "trainer.callbacks": ["a", {"b": 1}],
    "model.sampler.num_samples": None,
    "model.h-i.j": {"k": "l, }"},
    "distributed": {"cuda_devices": [0, 1]},
}


def methods():
    """Of one data set of each family."""
    suites = {suite.family or suite.name: suite for suite in SUITES.values()}.values()
    return [pytest.param(suite, name, id=f"{suite.name}-{name}") for suite in suites for name in suite.methods]


def written(suite, method, seed=5, encoder=None, fraction=1.0, more=(), overrides=None):
    settings = Settings("lib", seed, 7, fraction, encoder, tuple(more))
    text = f"// {suite.name}: {method}, seed {seed}. Written.\n" + suite.methods[method].write(settings)
    return configs.with_overrides(text, overrides or {})


@pytest.mark.parametrize("suite, method", methods())
def test_the_settings_of_a_config_are_those_asked_for(suite, method):
    names = suite.setting_names(method) if suite.setting_names else []
    # Of the names, those that this encoder takes.
    with_bilstm = [name for name in names if name not in ("pooling", "adapters", "frozen")]
    more = {name: VALUES[index % len(VALUES)] for index, name in enumerate(with_bilstm)}
    config = written(suite, method, more=more.items(), overrides=OVERRIDES)
    asked = {name: json.dumps(value) for name, value in OVERRIDES.items()}
    assert given(suite.methods[method], config) == {"epochs": "7", **more, **asked}


@pytest.mark.parametrize("suite, method", methods())
def test_an_ordinary_config_has_its_epochs_alone_whatever_its_seed(suite, method):
    encoder = "a/b" if suite.encoder else None
    for seed in (1, 30):
        found = given(suite.methods[method], written(suite, method, seed, encoder))
        assert found == {"epochs": "7", **({"encoder": '"a/b"'} if encoder else {})}


@pytest.mark.parametrize(
    "name, method", [("srl_sample", "nce"), ("tagging_conll2003", "ge_a"), ("text_reuters", "nce")]
)
def test_the_encoder_is_the_one_asked_for(name, method):
    suite = SUITES[name]
    more = [("max_length", "64")] if name == "text_reuters" else []
    found = given(suite.methods[method], written(suite, method, encoder="a b/c", more=more))
    assert found == {"epochs": "7", "encoder": '"a b/c"', **dict(more)}


def test_a_part_of_the_sentences_is_named_without_the_labels_that_it_may_lack():
    suite = SUITES["srl_sample"]
    config = written(suite, "crf", fraction=0.25, overrides={"trainer.patience": 2})
    assert "tokens_to_add" in config
    assert given(suite.methods["crf"], config) == {"epochs": "7", "fraction": "0.25", "trainer.patience": "2"}


def test_what_is_for_one_method_is_noted(tmp_path):
    settings = configs.parse_settings("patience=3,nce:num_samples=4,crf:lambda=1")
    overrides = {"trainer.patience": 1, "nce:model.sampler.flips": 2}
    own = configs.own_names("nce", settings, overrides)
    assert own == ("num_samples", "model.sampler.flips")
    assert provenance.own_settings(tmp_path) is None
    for recover in (False, True):
        provenance.note_training(tmp_path, recover, own)
        assert provenance.own_settings(tmp_path) == list(own)
    (tmp_path / "run.json").write_text('{"trainings": [{}]}')
    assert provenance.own_settings(tmp_path) is None


# Lines and warnings.


def trained(suite, method, settings, seeds=(1, 2), own=()):
    """`settings` as in `--settings`, `None` where there is no config; `own` is `None` in older runs."""
    found = None if settings is None else configs.parse_settings(settings)
    return [Trained(suite, method, seed, found, None if own is None else list(own)) for seed in seeds]


def test_runs_with_the_same_settings_are_one_line():
    runs = trained("one", "cross_entropy", "epochs=3,a=1") + trained("two", "nce", "a=1,epochs=3")
    assert lines(runs) == ["`epochs=3, a=1`: all runs"]
    assert lines([]) == []
    long = trained("one", "nce", f"epochs=3,a=[{'1, ' * 100}]")
    assert len(lines(long)[0]) < 120 and lines(long)[0].endswith("…`: all runs")


def test_other_settings_are_another_line():
    runs = [
        *trained("one", "cross_entropy", "epochs=3"),
        *trained("one", "nce", "epochs=3"),
        *trained("one", "nce", "b='x',epochs=4", seeds=(3, 4)),
        *trained("one", "margin", "epochs=4,b='x'", own=["b"]),
        *trained("two", "cross_entropy", "epochs=3"),
        *trained("two", "nce", "epochs=3"),
        *trained("two", "margin", None, own=None),
    ]
    assert lines(runs) == [
        "`epochs=3`: cross_entropy, nce (seeds 1, 2) on one; cross_entropy, nce on two",
        "`epochs=4, b='x'`: nce (seeds 3, 4), margin on one",
        "unknown (no config.jsonnet): margin on two",
    ]
    assert lines([*runs[:2], *runs[8:10]])[0] == "`epochs=3`: all runs"
    beside = [*runs[:4], *trained("two", "nce", "epochs=9")]
    assert lines(beside) == ["`epochs=3`: all methods on one", "`epochs=9`: all methods on two"]


def sentence(whose, difference):
    why = "which may explain a difference in scores"
    return f"{whose}: trained with other settings than cross_entropy, {why}: {difference}."


@pytest.mark.parametrize(
    "base, ours, difference",
    [
        ("epochs=3", "epochs=3", ""),
        ("epochs=3", "epochs=4", "epochs 4 instead of 3"),
        ("epochs=3,a=1", "epochs=3", "a the default instead of 1"),
        ("epochs=3", "a=1,epochs=4", "epochs 4 instead of 3, a 1 instead of the default"),
        # Not known.
        (None, "epochs=3", ""),
        ("epochs=3", None, ""),
    ],
)
def test_settings_that_are_not_the_baselines_are_told(base, ours, difference):
    runs = trained("one", "cross_entropy", base) + trained("one", "nce", ours)
    assert warnings(MADE_UP, runs) == ([sentence("nce on one", difference)] if difference else [])


def test_settings_of_a_method_of_its_own_are_not_told():
    base = trained("one", "cross_entropy", "epochs=3,a=1,c=5", own=["c"])
    assert warnings(MADE_UP, base + trained("one", "nce", "epochs=3,a=2,b=1", own=["a", "b"])) == []
    found = warnings(MADE_UP, base + trained("one", "nce", "epochs=3,a=2,b=1", own=["b"]))
    assert found == [sentence("nce on one", "a 2 instead of 1")]


def test_what_an_older_run_alone_was_given_is_taken_for_its_methods_own():
    base = trained("one", "cross_entropy", "epochs=3,a=1", own=None)
    assert warnings(MADE_UP, base + trained("one", "nce", "epochs=3,a=1,b=1", own=None)) == []
    found = warnings(MADE_UP, base + trained("one", "nce", "epochs=4,b=1,encoder='x'", own=None))
    told = "epochs 4 instead of 3, a the default instead of 1, encoder 'x' instead of the default"
    assert found == [sentence("nce on one", told)]


def test_a_difference_of_several_methods_is_one_sentence():
    runs = trained("one", "cross_entropy", "epochs=3") + trained("one", "nce", "epochs=4")
    runs += trained("one", "margin", "epochs=4") + trained("two", "nce", "epochs=9")
    runs += trained("two", "cross_entropy", "epochs=3") + trained("two", "margin", "epochs=4")
    assert warnings(MADE_UP, runs) == [
        sentence("nce, margin on one; margin on two", "epochs 4 instead of 3"),
        sentence("nce on two", "epochs 9 instead of 3"),
    ]


def test_seeds_are_compared_together():
    runs = [*trained("one", "cross_entropy", "epochs=3"), *trained("one", "cross_entropy", "epochs=4", seeds=(3,))]
    same = [*trained("one", "nce", "epochs=3"), *trained("one", "nce", "epochs=4", seeds=(3,))]
    assert warnings(MADE_UP, runs + same) == []
    found = warnings(MADE_UP, runs + trained("one", "nce", "epochs=3"))
    assert found == [sentence("nce on one", "epochs 3 instead of 3 or 4")]
