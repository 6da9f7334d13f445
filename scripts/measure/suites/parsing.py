"""Constituency parsing as a sequence: the made-up treebank that is kept in the repository, and others."""

from functools import lru_cache, partial
from typing import Any, Optional

from scripts.measure.configs import call, library_value, listed, text
from scripts.measure.encoder_choice import OF_BILSTM, EncoderChoice
from scripts.measure.method_arguments import SHARED
from scripts.measure.parsing_scores import KEY, score
from scripts.measure.suite import Family, Settings, Suite, grouped_methods
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
# The arguments that `--settings` may give to a method of `training_configs/lib/parsing_methods.libsonnet`.
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
    # A list of patterns, as test of Switchboard is, is no path that a page can name.
    return {split: path if isinstance(path, str) else None for split, path in paths.items()}


def setting_names(dataset: str, method: str) -> list[str]:
    """What `--settings` may set; the seed and the epochs have options of their own."""
    training = [name for name in library()[dataset]["training"] if name not in ("seed", "epochs")]
    return ["energies", "beam", *ARGUMENTS.get(method, ()), *ENCODERS.names(), *training]


def experiment(dataset: str, method: str, settings: Settings) -> str:
    more = dict(settings.more)
    arguments = {name: more.pop(name) for name in ARGUMENTS.get(method, ()) if name in more}
    of_experiment = {name: more.pop(name) for name in ("energies", "beam") if name in more}
    encoder = ENCODERS.call("parsing", "bilstm", settings, more)
    training = "sample" if dataset == "sample" else "default"
    return f"local parsing = import {text(settings.library + '/parsing.libsonnet')};\n\n" + call(
        "parsing.experiment",
        {
            "data": f"parsing.data.{dataset}",
            "encoder": encoder,
            "method": f"parsing.method.{method}({listed('=', arguments)})",
            "training": f"parsing.training.{training} {{ "
            + listed(": ", {"epochs": settings.epochs, "seed": settings.seed, **more})
            + " }",
            **of_experiment,
        },
    )


def suite(dataset: str) -> Suite:
    return Suite(
        name=f"parsing_{dataset}",
        dataset=dataset,
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
        key=KEY,
        statistics={"f1": f1_of_counts(), "exact_match": EXACT},
        score=score,
        takes_encoder=True,
        selection="f1",
        # Test is scored only on request, when everything has been chosen.
        default_splits=("dev",),
        takes_fraction=False,
        setting_names=partial(setting_names, dataset),
        family="parsing",
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
