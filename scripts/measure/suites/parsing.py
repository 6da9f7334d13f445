"""Constituency parsing as a sequence: the made-up treebank that is kept in the repository, and others."""

from functools import lru_cache, partial
from typing import Any, Optional

from scripts.measure.configs import call, imported, library_value, listed, taken
from scripts.measure.scores import TREES
from scripts.measure.suite import Family, Settings, Suite, grouped_methods, of_family
from scripts.measure.suite_arguments import OF_BILSTM, SHARED, EncoderChoice
from scripts.measure.suites.tagging import ARGUMENTS as OF_TAGGING
from seal_inspect.significance import EXACT, f1_of_counts

# By the groups that are the headings of the tables.
METHODS = {
    "Feed-forward": {"cross_entropy": "seq2seq"},
    "Structure in prediction": {"structured": "structure on the beam"},
    "Inference networks": {
        "margin_rescaled": "margin-rescaled",
        "perceptron": "perceptron",
        "compound_separated": "compound, separated",
        "compound_shared": "compound, shared",
        "compound_stacked": "compound, stacked",
    },
    "SEAL-dynamic": {"margin": "margin", "nce": "NCE", "ranking": "ranking"},
    "Implicit gradients": {"implicit_cd": "implicit CD"},
}
# The arguments that `--settings` may give to a method of `training_configs/lib/parsing.libsonnet`.
ARGUMENTS = {
    name: OF_TAGGING[name] if name in OF_TAGGING else SHARED[name]
    for methods in list(METHODS.values())[2:]
    for name in methods
}
ENCODERS = EncoderChoice(
    words="the BiLSTM",
    of_words=(*OF_BILSTM, "decoder_dim", "symbol_dim", "next_word"),
    of_transformer=("max_length", "dropout", "decoder_dim", "symbol_dim", "next_word"),
)
DATASETS = ("sample", "wsj", "switchboard_nxt")


@lru_cache(maxsize=None)
def library() -> dict[str, Any]:
    """The data of each treebank and the settings of training, in one evaluation of jsonnet."""
    training = {"sample": "sample"}
    names = ", ".join(
        f"{name}: {{ data: lib.data.{name}, training: lib.training.{training.get(name, 'default')} }}"
        for name in DATASETS
    )
    return library_value("parsing.libsonnet", f"{{ {names} }}")


def data(name: str) -> dict[str, Optional[str]]:
    paths = {split: library()[name]["data"][split] for split in ("train", "dev", "test")}
    # A list of patterns, as Switchboard's test split, has no single path to show on a page.
    return {split: path if isinstance(path, str) else None for split, path in paths.items()}


def setting_names(dataset: str, method: str) -> list[str]:
    """What `--settings` may set; the seed and the epochs have options of their own."""
    training = [name for name in library()[dataset]["training"] if name not in ("seed", "epochs")]
    return ["energies", "beam", *ARGUMENTS.get(method, ()), *ENCODERS.names(), *training]


def experiment(dataset: str, method: str, settings: Settings) -> str:
    more = dict(settings.more)
    arguments = taken(more, ARGUMENTS.get(method, ()))
    of_experiment = taken(more, ("energies", "beam"))
    encoder = ENCODERS.call("parsing", "bilstm", settings, more)
    training = "sample" if dataset == "sample" else "default"
    of_training = listed(": ", {"epochs": settings.epochs, "seed": settings.seed, **more})
    return imported("parsing") + call(
        "parsing.experiment",
        {
            "data": f"parsing.data.{dataset}",
            "encoder": encoder,
            "method": f"parsing.method.{method}({listed('=', arguments)})",
            "training": f"parsing.training.{training} {{ {of_training} }}",
            **of_experiment,
        },
    )


def suite(dataset: str) -> Suite:
    return of_family(
        "parsing",
        dataset,
        title=f"constituency parsing, {dataset}",
        methods=grouped_methods(METHODS, partial(experiment, dataset)),
        data=partial(data, dataset),
        epochs=library()[dataset]["training"]["epochs"],
        metrics={
            "f1": "F1",
            "precision": "precision",
            "recall": "recall",
            "exact_match": "exact trees",
            "step_accuracy": "steps",
        },
        key=TREES.key,
        statistics={"f1": f1_of_counts(), "exact_match": EXACT},
        score=TREES,
        takes_encoder=True,
        setting_names=partial(setting_names, dataset),
    )


SUITES = [suite(dataset) for dataset in DATASETS]
FAMILIES = [
    Family(
        name="parsing",
        title="constituency parsing",
        default="sample",
        headline={"f1": "F1 of brackets", "exact_match": "Trees that are right"},
    )
]
