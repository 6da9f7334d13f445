"""The errors that all sub-commands about taggers raise."""

import pytest
from allennlp.common.checks import ConfigurationError


@pytest.mark.parametrize(
    "command, config, more, words",
    [
        ("tag-interactions", "tagging_cross_entropy", [], "no loss-net"),
        ("tag-interactions", "tagging_compound_stacked", ["--tags", 1], "--tags must be at least 2"),
        ("tag-interactions", "tagging_compound_stacked", ["--every", 0], "--every must be at least 1"),
        ("compare-networks", "tagging_cross_entropy", [], "with a cost_augmented_net"),
        ("compare-networks", "tagging_compound_stacked", ["--most", 0], "--most must be at least 1"),
    ],
)
def test_mistakes(command, config, more, words, tagger, tagged, tmp_path, run, allennlp_logging):
    with pytest.raises(ConfigurationError, match=words):
        run(command, tagger(config), tagged, "--output", tmp_path / "out", *more)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["tag-interactions", "compare-networks"])
def test_data_that_do_not_serve(command, tagger, tmp_path, run, allennlp_logging):
    empty = tmp_path / "empty.tsv"
    empty.write_text("")
    with pytest.raises(ConfigurationError, match="empty.tsv"):
        run(command, tagger("tagging_compound_stacked"), empty, "--output", tmp_path / "out")
