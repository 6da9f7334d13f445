"""Sequence labelling: parts of speech, named entities, and the made-up sample that is kept in the repository."""

from functools import lru_cache, partial
from typing import Any, Optional

from scripts.measure.configs import call, imported, library_value, listed, taken
from scripts.measure.scores import TAGS
from scripts.measure.suite import Family, Settings, Suite, grouped_methods, of_family
from scripts.measure.suite_arguments import OF_BILSTM, SHARED, EncoderChoice
from seal_inspect.significance import ACCURACY, EXACT, f1_of_counts

# By the groups that are the headings of the tables.
METHODS = {
    "Feed-forward": {"cross_entropy": "cross-entropy", "crf": "CRF"},
    "Structure in prediction": {"structured": "structure on the CRF"},
    "Energy only, gradient-based inference": {"spen": "SPEN", "spen_end_to_end": "SPEN, end to end", "dvn": "DVN"},
    "Inference networks": {
        "margin_rescaled": "margin-rescaled",
        "perceptron": "perceptron",
        "compound_separated": "compound, separated",
        "compound_shared": "compound, shared",
        "compound_stacked": "compound, stacked",
        "ge_a": "stacked, GE(a)",
        "ge_b": "stacked, GE(b)",
        "ge_c": "stacked, GE(c)",
    },
    "SEAL-dynamic": {"margin": "margin", "nce": "NCE", "ranking": "ranking"},
    "Implicit gradients": {"implicit_cd": "implicit CD", "implicit_ssvm": "implicit SSVM"},
}
# Rows of the tables that are a method with another energy.
WITH_ENERGY = {
    name: ("compound_stacked", f"tagging.energies(tagging.whole.{name})") for name in ("ge_a", "ge_b", "ge_c")
}
# The arguments that `--settings` may give to a method of `training_configs/lib/tagging_methods.libsonnet`.
_NETWORK = ("tau", "truncation", "steps", "share_encoder", "fresh_batches")
_COMPOUND = (*_NETWORK, "perceptron_weight", "cost")
ARGUMENTS = {
    **SHARED,
    "spen": ("inference_steps", "step_size", "inference_optimizer", "cost"),
    "dvn": ("inference_steps", "step_size", "inference_optimizer", "adversarial_steps"),
    "margin_rescaled": (*_NETWORK, "fine_tune_epochs", "cost"),
    "perceptron": _NETWORK,
    "compound_separated": _COMPOUND,
    "compound_shared": _COMPOUND,
    **dict.fromkeys(("compound_stacked", *WITH_ENERGY), (*_COMPOUND, "q", "cost_augmented_tau")),
}
# The arguments that `--settings` may give to the encoder. For a data set with features besides words, the library has a
# BiLSTM of another name and other defaults (`BILSTM`).
ENCODERS = EncoderChoice(
    words="the BiLSTM",
    of_words=(*OF_BILSTM, "features"),
    of_transformer=("max_length", "frozen"),
)
BILSTM = {"conll2003": "ner"}
DATASETS = ("sample", "twitter_pos", "wnut17", "ud_ewt_pos", "ud_ewt_pos_halves", "conll2003")


@lru_cache(maxsize=None)
def library() -> dict[str, Any]:
    """The data and the settings of training of each data set, in one evaluation of jsonnet."""
    names = ", ".join(f"{name}: {{ data: lib.data.{name}, training: lib.training.{name} }}" for name in DATASETS)
    return library_value("tagging.libsonnet", f"{{ {names} }}")


def data(name: str) -> dict[str, Optional[str]]:
    # Evaluated jsonnet has its names in alphabetical order; tables follow this one.
    return {split: library()[name]["data"][split] for split in ("train", "dev", "test")}


def setting_names(dataset: str, method: str) -> list[str]:
    """
    What `--settings` may set: `energies`, the arguments of the method and of the encoder, and the settings of training;
    the seed and the epochs have options of their own.
    """
    training = [name for name in library()[dataset]["training"] if name not in ("seed", "epochs")]
    return ["energies", *ARGUMENTS.get(method, ()), *ENCODERS.names(), *training]


def experiment(dataset: str, method: str, settings: Settings) -> str:
    more = dict(settings.more)
    arguments = taken(more, ARGUMENTS.get(method, ()))
    method, energies = WITH_ENERGY.get(method, (method, "tagging.energies()"))
    energies = more.pop("energies", energies)
    encoder = ENCODERS.call("tagging", BILSTM.get(dataset, "bilstm"), settings, more)
    # Its settings of training, except the epochs, which `training` sets.
    transformer = "" if settings.encoder is None else " + tagging.training.transformer"
    training = listed(": ", {"epochs": settings.epochs, "seed": settings.seed, **more})
    return imported("tagging") + call(
        "tagging.experiment",
        {
            "data": f"tagging.data.{dataset}",
            "encoder": encoder,
            "method": f"tagging.method.{method}({listed('=', arguments)})",
            "training": f"tagging.training.{dataset}{transformer} + {{ {training} }}",
            "energies": energies,
        },
    )


def suite(dataset: str) -> Suite:
    spans = library()[dataset]["data"]["reader"]["encoding"] is not None
    metrics = {"accuracy": "accuracy", "exact_match": "exact sentences"}
    statistics = {"accuracy": ACCURACY, "exact_match": EXACT}
    if spans:
        metrics = {"f1": "F1", "precision": "precision", "recall": "recall", **metrics}
        statistics["f1"] = f1_of_counts()
    return of_family(
        "tagging",
        dataset,
        title=f"sequence labelling, {dataset}",
        methods=grouped_methods(METHODS, partial(experiment, dataset)),
        data=partial(data, dataset),
        epochs=library()[dataset]["training"]["epochs"],
        metrics=metrics,
        key=TAGS.key,
        statistics=statistics,
        score=TAGS,
        takes_encoder=True,
        selection="f1" if spans else "accuracy",
        setting_names=partial(setting_names, dataset),
    )


SUITES = [suite(dataset) for dataset in DATASETS]
FAMILIES = [
    Family(
        name="tagging",
        title="sequence labelling",
        default="sample",
        headline={"accuracy": "Accuracy of tokens", "f1": "F1 of entities"},
    )
]
