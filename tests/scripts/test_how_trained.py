"""What a page says about the settings of its runs: those that were asked for, and those of the written configs."""

from types import SimpleNamespace

from scripts.measure import configs, provenance
from scripts.measure.how_trained import Trained, lines, warnings
from scripts.measure.suite import Settings

MADE_UP = {name: SimpleNamespace(baseline="cross_entropy") for name in ("one", "two")}


def test_what_a_command_says_of_a_run_is_noted(tmp_path):
    overrides = {"trainer.patience": 2, "nce:model.sampler.num_samples": None, "crf:trainer.patience": 3}
    plain = configs.given_of("nce", Settings(5, 7, 1.0), {})
    asked = Settings(5, 7, 0.25, "a b/c", (("tau", "'it\\'s'"), ("weights", "{ a: 1 }")))
    found = configs.given_of("nce", asked, overrides)
    assert plain == {"epochs": "7"}
    assert found == {
        "epochs": "7", "fraction": "0.25", "encoder": '"a b/c"', "tau": "'it\\'s'", "weights": "{ a: 1 }",
        "trainer.patience": "2", "model.sampler.num_samples": "null",
    }  # fmt: skip
    provenance.note_training(tmp_path, False, found, ["tau"])
    provenance.note_training(tmp_path, True, found, ["tau"])
    assert provenance.given(tmp_path) == (found, ["tau"]) and len(provenance.trainings(tmp_path)) == 2
    (tmp_path / "run.json").write_text('{"trainings": [{}]}')
    assert provenance.given(tmp_path) == (None, [])


# Lines and warnings.


def trained(suite, method, settings, seeds=(1, 2), own=()):
    """`settings` as in `--settings`, `None` of older runs."""
    found = None if settings is None else configs.parse_settings(settings)
    return [Trained(suite, method, seed, found, list(own)) for seed in seeds]


def test_other_settings_are_another_line():
    runs = [
        *trained("one", "cross_entropy", "epochs=3"),
        *trained("one", "nce", "epochs=3"),
        *trained("one", "nce", "b='x',epochs=4", seeds=(3, 4)),
        *trained("one", "margin", "epochs=4,b='x'", own=["b"]),
        *trained("two", "cross_entropy", "epochs=3"),
        *trained("two", "nce", "epochs=3"),
        *trained("two", "margin", None),
    ]
    assert lines(runs) == [
        "`epochs=3`: cross_entropy, nce (seeds 1, 2) on one; cross_entropy, nce on two",
        "`epochs=4, b='x'`: nce (seeds 3, 4), margin on one",
        "unknown, of runs from before they were noted: margin on two",
    ]
    assert lines([*runs[:2], *runs[8:10]])[0] == "`epochs=3`: all runs"
    beside = [*runs[:4], *trained("two", "nce", "epochs=9")]
    assert lines(beside) == ["`epochs=3`: all methods on one", "`epochs=9`: all methods on two"]


def sentence(whose, difference):
    why = "which may explain a difference in scores"
    return f"{whose}: trained with other settings than cross_entropy, {why}: {difference}."


def test_settings_of_a_method_of_its_own_are_not_told():
    base = trained("one", "cross_entropy", "epochs=3,a=1,c=5", own=["c"])
    assert warnings(MADE_UP, base + trained("one", "nce", "epochs=3,a=2,b=1", own=["a", "b"])) == []
    found = warnings(MADE_UP, base + trained("one", "nce", "epochs=3,a=2,b=1", own=["b"]))
    assert found == [sentence("nce on one", "a 2 instead of 1")]


def test_seeds_are_compared_together():
    runs = [*trained("one", "cross_entropy", "epochs=3"), *trained("one", "cross_entropy", "epochs=4", seeds=(3,))]
    same = [*trained("one", "nce", "epochs=3"), *trained("one", "nce", "epochs=4", seeds=(3,))]
    assert warnings(MADE_UP, runs + same) == []
    found = warnings(MADE_UP, runs + trained("one", "nce", "epochs=3"))
    assert found == [sentence("nce on one", "epochs 3 instead of 3 or 4")]
