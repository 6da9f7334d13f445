"""Fields of citations, from 5, 10 or 50 references with tags and the words of the others."""

from functools import lru_cache, partial
from typing import Any, Optional

from scripts.measure.configs import call, imported, library_value, listed, taken
from scripts.measure.scores import TAGS
from scripts.measure.suite import Family, Method, Settings, Suite, of_family
from scripts.measure.suites import tagging
from seal_inspect.significance import ACCURACY

LABELLED = {"cora_5": 5, "cora_10": 10, "cora_50": 50}
_OF_TAGGING = {name: title for members in tagging.METHODS.values() for name, title in members.items()}
_ALONE = (
    "cross_entropy",
    "crf",
    "spen",
    "dvn",
    "margin_rescaled",
    "perceptron",
    "compound_separated",
    "compound_shared",
    "compound_stacked",
    "nce",
    "implicit_cd",
)
# By the groups that are the headings of the tables.
METHODS = {
    "Labelled references alone": {name: _OF_TAGGING[name] for name in _ALONE},
    "Labelled and unlabelled references": {
        "rewarded_cd": "CD with rewards",
        "implicit_rewarded_cd": "implicit CD with rewards",
    },
}
_REWARDED = ("num_samples", "energy_weight", "rounds", "flips", "weights")
# The arguments that `--settings` may give to a method of `training_configs/lib/citation_tagging.libsonnet`.
ARGUMENTS = {
    **tagging.ARGUMENTS,
    "rewarded_cd": _REWARDED,
    "implicit_rewarded_cd": (*_REWARDED, "solver_steps", "relative_damping"),
}


@lru_cache(maxsize=None)
def library() -> dict[str, Any]:
    """The data, the settings of training, and which of them a kind does not read, in one evaluation of jsonnet."""
    return library_value(
        "citation_tagging.libsonnet", "{ data: lib.data.cora, training: lib.training, unread: lib.unread }"
    )


def data() -> dict[str, Optional[str]]:
    return {split: library()["data"][split] for split in ("train", "dev", "test")}


def setting_names(method: str) -> list[str]:
    """
    What `--settings` may set: the arguments of the method, and the settings of training; the seed and the epochs have
    options of their own.
    """
    training = [name for name in library()["training"] if name not in ("seed", "epochs")]
    return [*ARGUMENTS.get(method, ()), *training]


def experiment(labelled: int, method: str, kind: str, settings: Settings) -> str:
    # The library refuses those that this kind does not read; they may be for methods of the other kind.
    more = {name: value for name, value in settings.more if name not in library()["unread"][kind]}
    arguments = taken(more, ARGUMENTS.get(method, ()))
    training = listed(": ", {"epochs": settings.epochs, "seed": settings.seed, **more})
    return imported("citations", "citation_tagging") + call(
        f"citations.{kind}",
        {
            "labelled": str(labelled),
            "method": f"citations.method.{method}({listed('=', arguments)})",
            "training": f"citations.training + {{ {training} }}",
        },
    )


def methods(labelled: int) -> dict[str, Method]:
    kinds = dict(zip(METHODS, ("supervised", "semi_supervised")))
    return {
        name: Method(title, partial(experiment, labelled, name, kinds[group]), group=group)
        for group, members in METHODS.items()
        for name, title in members.items()
    }


def suite(dataset: str, labelled: int) -> Suite:
    return of_family(
        "citations",
        dataset,
        title=f"citation fields, Cora with {labelled} labelled references",
        methods=methods(labelled),
        data=data,
        epochs=library()["training"]["epochs"],
        metrics={"accuracy": "accuracy"},
        key=TAGS.key,
        statistics={"accuracy": ACCURACY},
        score=TAGS,
        selection="accuracy",
        setting_names=setting_names,
    )


SUITES = [suite(dataset, labelled) for dataset, labelled in LABELLED.items()]
FAMILIES = [
    Family(
        name="citations",
        title="citation fields",
        default="cora_10",
        headline={"accuracy": "Accuracy of tokens"},
    )
]
