import argparse
from pathlib import Path

import pytest
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError

from seal_inspect.components import ComponentsCommand, components, kind_of, page

ROOT = Path(__file__).parents[2]


@pytest.fixture
def listed(capsys):
    parser = argparse.ArgumentParser()
    ComponentsCommand().add_subparser(parser.add_subparsers())

    def listed(*arguments):
        given = parser.parse_args(["components", *arguments])
        given.func(given)
        return capsys.readouterr().out

    return listed


def test_the_page_of_the_docs_is_what_is_registered():
    written = (ROOT / "docs" / "components.md").read_text(encoding="utf-8")
    assert written == page(components()), "write it anew: seal components --out docs/components.md"


def test_everything_that_is_registered_is_listed():
    found = {(one.kind, one.name) for one in components()}
    ours = {
        (kind_of(base), name)
        for base, classes in Registrable._registry.items()
        for name, (cls, _) in classes.items()
        if cls.__module__.startswith("seal.")
    }
    assert found == ours and len(found) > 90


def test_each_component_says_what_it_is():
    assert not [one.name for one in components() if not one.text]


@pytest.mark.parametrize(
    "arguments, named",
    [
        (["samplr"], '"sampler"'),
        (["sampler", "discret"], '"discrete"'),
        (["nonsense"], '"nonsense"'),
        (["samplr", "discrete"], '"sampler"'),
    ],
)
def test_a_wrong_name(arguments, named, listed):
    with pytest.raises(ConfigurationError, match=named):
        listed(*arguments)
    assert "num_samples" in listed("sampler", "discrete")


def test_options_have_their_texts_from_the_docs_also_of_a_base():
    by_name = {(one.kind, one.name): one for one in components()}
    options = {option.name: option for option in by_name["trainer", "implicit_gradient"].options}
    # Its docs say "As `alternating`, and".
    assert options["phases"].text.startswith("Which players are trained in which epochs")
    assert options["num_epochs"].default == "20" and "data_loader" not in options
    assert by_name["task_net", "linear"].options[0].default is None


def test_the_page_is_written_to_a_file(listed, tmp_path):
    listed("--out", str(tmp_path / "page.md"))
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == page(components())
