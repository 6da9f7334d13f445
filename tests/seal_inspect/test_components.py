import argparse
import re
from pathlib import Path
from typing import Optional, Union

import pytest
from allennlp.common import Lazy, Registrable
from allennlp.common.checks import ConfigurationError

from seal.energies import Energy
from seal.samplers import DiscreteSampler
from seal_inspect.components import Component, ComponentsCommand, components, kind_of, page, type_name

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


def test_a_kind_of_a_base_that_is_not_known_has_its_name():
    class OddBase:
        pass

    assert kind_of(OddBase) == "odd_base" and kind_of(Energy) == "energy"
    one = Component("odd_base", "one", OddBase, "What it is.", [])
    assert "## `odd_base`\n\nWhere: where AllenNLP takes it." in page([one])


def test_each_component_says_what_it_is():
    assert not [one.name for one in components() if not one.text]


def test_an_option_that_is_as_for_the_base_class_has_the_words_of_it():
    (tags,) = (one for one in components() if (one.kind, one.name) == ("structure", "tags"))
    (penalties,) = (option for option in tags.options if option.name == "penalties")
    assert penalties.text.startswith("The weights of the L2 penalty")


def test_kinds_then_names_then_options(listed):
    assert re.search(r"^sampler +10  model.sampler, model.inference$", listed(), re.MULTILINE)
    assert re.search(r"^discrete +Independent discrete draws", listed("sampler"), re.MULTILINE)
    told = listed("sampler", "discrete")
    assert told == listed("discrete")
    assert told.startswith(f"sampler discrete: {DiscreteSampler.__module__}.DiscreteSampler\n")
    assert "  num_samples: whole number, " in told


def test_a_name_of_several_kinds_is_told_of_each(listed):
    told = listed("seal_tagging")
    assert [line.split()[0] for line in told.splitlines() if " seal_tagging: " in line] == [
        "dataset_reader",
        "model",
        "predictor",
    ]


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["samplr"], 'components: "samplr" is no kind and no name; did you mean "sampler"?'),
        (["sampler", "discret"], 'components: there is no sampler "discret"; did you mean "discrete"?'),
        (["nonsense"], 'components: "nonsense" is no kind and no name; `seal components` lists the kinds.'),
        (["samplr", "discrete"], 'components: "samplr" is no kind; did you mean "sampler"?'),
    ],
)
def test_a_wrong_name_is_told(arguments, told, listed):
    with pytest.raises(ConfigurationError) as error:
        listed(*arguments)
    assert str(error.value).strip("'").replace("\\", "") == told


def test_options_have_their_texts_from_the_docs_also_of_a_base():
    by_name = {(one.kind, one.name): one for one in components()}
    options = {option.name: option for option in by_name["trainer", "implicit_gradient"].options}
    # Its docs say "As `alternating`, and".
    assert options["phases"].text.startswith("Which players are trained in which epochs")
    assert options["num_epochs"].default == "20" and "data_loader" not in options
    assert by_name["task_net", "linear"].options[0].default is None


@pytest.mark.parametrize(
    "annotation, told",
    [
        (int, "whole number"),
        (Optional[float], "number or null"),
        (Union[int, list[str], None], "whole number or list of string or null"),
        (list[Lazy[Energy]], "list of energy"),
        (dict[str, int], "object"),
        (list[str] | None, "list of string or null"),
        ("a string", "any value"),
    ],
)
def test_types_as_a_config_has_them(annotation, told):
    assert type_name(annotation) == told


def test_the_page_is_written_to_a_file(listed, tmp_path):
    listed("--out", str(tmp_path / "page.md"))
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == page(components())
