import pytest

from scripts.measure.idle_settings import another, changes, idle_setting
from scripts.measure.suite import UserError


def write(given):
    """A config that reads `rate`, refuses more than 10 `steps` and does not look at `noise`."""
    steps, rate = given.get("steps", 1), given.get("rate", "null")
    return f"local steps = {steps}; assert steps <= 10; {{ rate: {rate}, steps: steps }}"


def test_a_setting_is_idle_if_no_other_value_would_make_a_difference():
    for value in ("null", "0.1", "'a'", "true"):
        assert changes(write, "rate", {"rate": value}) and not changes(write, "noise", {"noise": value})
    # A value that the config has anyway is no mistake, nor is one of a kind that has no other value.
    assert changes(write, "steps", {"steps": "1"}) and changes(write, "steps", {"steps": "10"})
    assert another({"a": 1}) is None and changes(write, "weights", {"weights": "{ a: 1 }"})


def test_a_setting_is_not_idle_if_the_default_is_something_else():
    def threshold(given):
        return f"{{ start: if {given.get('restarts', 3)} > 1 then 'random' else 'zeros' }}"

    for value in ("0", "2", "4"):
        assert changes(threshold, "restarts", {"restarts": value}) == (value == "0")


def test_a_config_that_is_none_with_the_settings_is_told():
    with pytest.raises(UserError, match="--settings"):
        changes(write, "steps", {"steps": "11"})


def test_a_value_may_name_the_library_of_its_suites():
    rate = {"rate": "tagging.training.sample.task_net_lr"}

    def calls(given):
        return f"local tagging = {{ training: {{ sample: {{ task_net_lr: 1 }} }} }}; {write(given)}"

    assert idle_setting(rate, [{"nce": calls}], "tagging") is None


def test_one_run_that_reads_a_setting_is_enough():
    def deaf(given):
        return "{}"

    both = [{"nce": write, "margin": deaf}, {"margin": deaf}]
    assert idle_setting({"rate": "1", "tuned": "true"}, both) is None
    assert idle_setting({"rate": "1", "noise": "1"}, both) == "noise"
    assert idle_setting({"nce:rate": "1"}, both) is None
    assert idle_setting({"margin:rate": "1"}, both) == "margin:rate"
    assert idle_setting({"rate": "1"}, [{"margin": deaf}]) == "rate"
