"""The sub-command `components`: lists the registered names that a config may use, with their options."""

import argparse
import inspect
import json
import re
import typing
from collections.abc import Iterable
from types import UnionType
from typing import Any, NamedTuple, Optional, Union

from allennlp.commands.subcommand import Subcommand
from allennlp.common import Lazy, Registrable
from allennlp.common.checks import ConfigurationError

from seal.cli.models import write
from seal.common.setting_checks import suggest

#: For each base class, the name of its kind and the place of the kind in a config.
KINDS = {
    "DatasetReader": ("dataset_reader", "`dataset_reader`"),
    "TokenIndexer": ("token_indexer", "`dataset_reader.token_indexers`"),
    "DataLoader": ("data_loader", "`data_loader`"),
    "BatchSampler": ("batch_sampler", "`data_loader.batch_sampler`"),
    "Model": ("model", "`model`"),
    "OutputSpace": ("output_space", "`model.output_space`"),
    "TaskNet": ("task_net", "`model.task_net`"),
    "Encoder": ("encoder", "`model.task_net.encoder`, `model.loss_net.encoder`"),
    "LossNet": ("loss_net", "`model.loss_net`"),
    "Energy": ("energy", "`model.loss_net.energies`, a list"),
    "Sampler": ("sampler", "`model.sampler`, `model.inference`"),
    "EnergyLoss": ("energy_loss", "`model.energy_loss`"),
    "TaskLoss": ("task_loss", "`model.task_loss`"),
    "CostAugmentedNet": ("cost_augmented_net", "`model.cost_augmented_net`"),
    "Structure": ("structure", "`model.structure`"),
    "Constraint": ("constraint", "`model.structure.constraints`, and of the energy `constraints`, a list"),
    "CandidateEnergy": ("candidate_energy", "`model.structure.energies`, a list"),
    "Decision": ("decision", "chosen by the gate of `model.structure`"),
    "Score": ("score", "in losses and samplers, `score`"),
    "Cost": ("cost", "in losses and samplers, `cost`"),
    "Reward": ("reward", "`model.reward`"),
    "Trainer": ("trainer", "`trainer`"),
    "InverseHessianVector": ("solver", "`trainer.solver`"),
    "Optimizer": ("optimizer", "`trainer.task_net.optimizer`, `trainer.loss_net.optimizer`"),
    "TrainerCallback": ("callback", "`trainer.callbacks`, a list"),
    "Checkpointer": ("checkpointer", "`trainer.checkpointer`"),
    "DdpAccelerator": ("ddp_accelerator", "`trainer.ddp_accelerator`"),
    "Metric": ("metric", "from Python"),
    "Predictor": ("predictor", "`--predictor` of `seal predict`; options by `--predictor-args`"),
}
#: Arguments that code fills in: AllenNLP, or the class that contains the part.
_FILLED_IN = {
    *("vocab", "serialization_dir", "local_rank", "world_size", "distributed", "model", "model_parameters"),
    *("dataset_reader", "data_loader", "validation_data_loader", "reader", "data_path"),
    *("task_net_dim", "num_labels", "num_roles", "keyed"),
}


_HEAD = """# Components

What a config can name. `seal components --out docs/components.md` writes this page from the code. On the command
line it also says what each option is:

```sh
seal components                    # the kinds
seal components sampler            # all samplers
seal components sampler discrete   # one of them, with its options
```

An option without a default must be given. What other parts of a config, or AllenNLP itself, fill in is left out."""


class Option(NamedTuple):
    """An option of a component; `default` is written as in a config, or `None` for a required option."""

    name: str
    kind: str
    default: Optional[str]
    text: str


class Component(NamedTuple):
    """A registered class; `text` is the first paragraph of its docstring."""

    kind: str
    name: str
    cls: type
    text: str
    options: list[Option]


@Subcommand.register("components")
class ComponentsCommand(Subcommand):
    """
    Lists what this package registers: without arguments the kinds, with a kind its names, with a name its options with
    their types and defaults. It reads the registry, so that it is always up to date.
    """

    def add_subparser(self, parser: Any) -> argparse.ArgumentParser:
        about = "List what a config can name, with its options."
        subparser = parser.add_parser(self.name, description=about, help=about)
        subparser.add_argument("kind", nargs="?", help="a kind, such as 'sampler', or else a name of any kind")
        subparser.add_argument("name", nargs="?", help="a name of that kind")
        subparser.add_argument("--out", metavar="FILE", help="write all of it as a page, FILE.md")
        subparser.set_defaults(func=components_from_args)
        return subparser


def components_from_args(args: argparse.Namespace) -> str:
    """Prints or writes the list, and returns it."""
    found = components()
    if args.out:
        text = page(found)
        write(args.out, text)
        return text
    text = _listed(found, args.kind, args.name)
    print(text)
    return text


def components() -> list[Component]:
    """All components of this package, by kind in the order of `KINDS` and then by name."""
    found = []
    for base, registered in Registrable._registry.items():
        for name, (cls, constructor) in registered.items():
            if cls.__module__.startswith("seal."):
                kind = kind_of(base)
                found.append(Component(kind, name, cls, _first_paragraph(cls), _options(cls, constructor, kind)))
    order = list(_kinds(found))
    return sorted(found, key=lambda one: (order.index(one.kind), one.name))


def kind_of(base: type) -> str:
    """The name of the kind of a base class."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", base.__name__).lower()
    return KINDS.get(base.__name__, (words,))[0]


def _kinds(found: list[Component]) -> dict[str, str]:
    """The kinds of the components, with their places in a config."""
    there = dict.fromkeys(one.kind for one in found)
    known = {kind: where for kind, where in KINDS.values() if kind in there}
    return known | {kind: "where AllenNLP takes it" for kind in there if kind not in known}


def page(found: list[Component]) -> str:
    """The page of the docs, with a table for each kind."""
    parts = [_HEAD]
    for kind, where in _kinds(found).items():
        ours = [component for component in found if component.kind == kind]
        rows = ["| name | what it is | options and defaults |", "|---|---|---|"]
        for one in ours:
            # A `|` would end the cell, even inside backquotes.
            text = _sentence(one.text).replace("|", "\\|")
            rows.append(f"| `{one.name}` | {text} | {', '.join(map(_short, one.options)) or '–'} |")
        parts += [f"## `{kind}`", f"Where: {where}.", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _short(option: Option) -> str:
    return f"`{option.name}`" if option.default is None else f"`{option.name}` = {escaped(option.default)}"


def _sentence(text: str) -> str:
    """The first sentence, or its part before the colon of a list."""
    end = re.search(r"(?<![A-Z])[.:](?=\s+[A-Z`]|\s*$)", text)
    return text[: end.start()] if end else text


def _near(name: str, known: Iterable[str]) -> str:
    return suggest(name, known) or "; `seal components` lists the kinds."


def _listed(found: list[Component], kind: Optional[str], name: Optional[str]) -> str:
    kinds = _kinds(found)
    if kind is None:
        counts = {one: sum(component.kind == one for component in found) for one in kinds}
        width = max(map(len, kinds))
        lines = [f"{one:{width}}  {counts[one]:3}  {kinds[one].replace('`', '')}" for one in kinds]
        return "\n".join([*lines, "", "seal components KIND [NAME] says more."])
    if kind not in kinds and name is None:
        named = [component for component in found if component.name == kind]
        if not named:
            names = {component.name for component in found}
            raise ConfigurationError(f'components: "{kind}" is no kind and no name' + _near(kind, {*kinds, *names}))
        return "\n\n".join(map(_described, named))
    if kind not in kinds:
        raise ConfigurationError(f'components: "{kind}" is no kind' + _near(kind, kinds))
    ours = [component for component in found if component.kind == kind]
    if name is None:
        width = max(len(component.name) for component in ours)
        return "\n".join(f"{component.name:{width}}  {_sentence(component.text)}" for component in ours)
    named = [component for component in ours if component.name == name]
    if not named:
        raise ConfigurationError(
            f'components: there is no {kind} "{name}"' + suggest(name, [component.name for component in ours])
        )
    return _described(named[0])


def _described(component: Component) -> str:
    where = _kinds([component])[component.kind].replace("`", "")
    lines = [f"{component.kind} {component.name}: {component.cls.__module__}.{component.cls.__name__}"]
    lines += [f"where: {where}", "", component.text]
    for option in component.options:
        default = "must be given" if option.default is None else f"default {option.default}"
        lines += ["", f"  {option.name}: {option.kind}, {default}"]
        lines += [f"      {line}" for line in option.text.splitlines()]
    return "\n".join(lines)


def _first_paragraph(cls: type) -> str:
    docs = inspect.cleandoc(vars(cls).get("__doc__") or "")
    return " ".join(docs.partition("\n\n")[0].split())


def _options(cls: type, constructor: Optional[str], kind: str) -> list[Option]:
    signature = inspect.signature(getattr(cls, constructor or "__init__"))
    filled_in = {*_FILLED_IN, *({"output_space"} if kind != "model" else ())}
    if kind == "structure":
        filled_in |= {"tags", "names", "encoding", "empty_f1"}
    texts = _option_texts(cls)
    found = []
    for parameter in signature.parameters.values():
        if parameter.name == "self" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.name not in filled_in:
            default = None if parameter.default is parameter.empty else _json(parameter.default)
            text = texts.get(parameter.name, "")
            found.append(Option(parameter.name, type_name(parameter.annotation), default, text))
    return found


def _option_texts(cls: type) -> dict[str, str]:
    """The description of each option in the docstring of a class or of its base classes."""
    texts: dict[str, str] = {}
    indented = r"((?:[ \t]+[^\n]*\n?|\n(?=[ \t]))*)"
    for base in reversed(cls.__mro__):
        docs = inspect.cleandoc(vars(base).get("__doc__") or "")
        section = re.search(r"^# Parameters\n(.*?)(?=^# |\Z)", docs, re.DOTALL | re.MULTILINE)
        for names, text in re.findall(rf"^(\w+(?:, \w+)*) :[^\n]*\n{indented}", section[1] if section else "", re.M):
            if text.strip():  # Otherwise a base class describes it.
                texts.update((name, inspect.cleandoc(text)) for name in names.split(", "))
    return texts


def type_name(annotation: Any) -> str:
    """Describes a type by its values in a config: `whole number or null`, `list of energy`."""
    simple = {bool: "true or false", int: "whole number", float: "number", str: "string", type(None): "null"}
    if annotation in simple:
        return simple[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Union, UnionType):
        return " or ".join(map(type_name, inner))
    if origin is Lazy:
        return type_name(inner[0])
    if origin in (list, tuple, typing.get_origin(typing.Sequence[int])):
        return f"list of {type_name(inner[0])}" if inner else "list"
    if origin is dict or annotation is dict:
        return "object"
    if inspect.isclass(annotation):
        return kind_of(annotation)
    return "any value"


def _json(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_json, value))}]"
    try:
        return json.dumps(value)
    except TypeError:
        return "its own"


def escaped(text: Any) -> str:
    """Escapes plain text for Markdown, also in a table."""
    # Every _ at the end of a word is escaped: the second one of __a__ would make the rest slanted.
    marks = r"[\\`*[<|~&]|\b_+|_+\b"
    return re.sub(marks, lambda found: "".join(f"\\{mark}" for mark in found.group()), " ".join(str(text).split()))
