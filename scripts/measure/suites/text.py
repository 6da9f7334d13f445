"""Multi-label classification of texts: Reuters-21578, GoEmotions and the papers' sets, and the made-up sample."""

from functools import lru_cache, partial
from typing import Any, Optional

from scripts.measure.configs import call, imported, library_value, listed, taken
from scripts.measure.scores import TEXTS
from scripts.measure.suite import Family, Method, Settings, Suite, of_family
from scripts.measure.suite_arguments import SHARED, EncoderChoice
from seal_inspect.significance import f1_of_counts, mean_f1

METHODS = {
    "cross_entropy": "cross-entropy",
    "spen_end_to_end": "SPEN, end to end",
    "structured": "structure on cross-entropy",
    "margin": "SEAL margin",
    "ranking": "SEAL ranking",
    "regression_discrete": "SEAL regression, discrete draws",
    "nce": "SEAL NCE",
    "nce_shared": "SEAL NCE, shared encoder",
    "implicit_cd": "implicit CD",
}
ENCODERS = EncoderChoice(
    words="an encoder of words",
    of_words=("max_length", "vocabulary_size", "vectors", "vector_words", "word_dim", "filters", "dropout"),
    of_transformer=("max_length", "pooling", "adapters", "frozen"),
)
ARGUMENTS = {**SHARED, "nce_shared": tuple(name for name in SHARED["nce"] if name != "share_encoder")}


@lru_cache(maxsize=None)
def library() -> dict[str, Any]:
    """The paths and the settings of training of each data set, in one evaluation of jsonnet."""
    return library_value(
        "text.libsonnet",
        "{ [name]: { local data = lib.data[name], "
        "paths: { train: data.train, dev: data.dev, test: std.get(data, 'test') }, "
        "own_training: std.objectHas(lib.training, name), "
        "training: std.get(lib.training, name, lib.training.default) } for name in std.objectFields(lib.data) }",
    )


def data(name: str) -> dict[str, Optional[str]]:
    # Evaluated jsonnet has its names in alphabetical order; tables follow this one.
    return {split: library()[name]["paths"][split] for split in ("train", "dev", "test")}


def setting_names(dataset: str, method: str) -> list[str]:
    """What `--settings` may set: the seed and the epochs have options of their own."""
    names = [name for name in library()[dataset]["training"] if name not in ("seed", "epochs")]
    return [*names, *ENCODERS.names(with_transformer=dataset != "sample"), *ARGUMENTS.get(method, ())]


def experiment(dataset: str, method: str, settings: Settings) -> str:
    """Our config: the data set's settings in `training_configs/lib/text.libsonnet`, changed by the given settings."""
    more = dict(settings.more)
    of_method = taken(more, ARGUMENTS.get(method, ()))
    encoder = ENCODERS.call("text", "cnn", settings, more)
    if method == "nce_shared":
        of_method["share_encoder"] = "true"
    function = "nce" if method == "nce_shared" else method
    training = {"epochs": str(settings.epochs), "seed": str(settings.seed), **more}
    base = dataset if library()[dataset]["own_training"] else "default"
    return imported("text") + call(
        "text.experiment",
        {
            "data": f"text.data.{dataset}",
            "encoder": encoder,
            "method": f"text.method.{function}({listed('=', of_method)})",
            "training": f"text.training.{base} {{ {listed(': ', training)} }}",
        },
    )


def suite(dataset: str) -> Suite:
    return of_family(
        "text",
        dataset,
        title=f"multi-label classification of texts, {dataset}",
        methods={name: Method(title, partial(experiment, dataset, name)) for name, title in METHODS.items()},
        data=partial(data, dataset),
        epochs=library()[dataset]["training"]["epochs"],
        metrics={
            "micro_f1": "micro",
            "micro_f1_tuned": "micro, tuned",
            "macro_f1": "macro",
            "macro_f1_tuned": "macro, tuned",
            "macro_f1_per_label": "macro, a threshold a label",
            "f1": "F1",
            "f1_tuned": "F1, tuned",
            "mean_average_precision": "MAP",
            "subset_accuracy_tuned": "exact match, tuned",
            # Of a model with a structure: by the task-net's own threshold for the score, and by the decision for it.
            # Scores without a suffix are of the predicted labels.
            "micro_f1_own": "micro, own",
            "micro_f1_decided": "micro, structure",
            "f1_own": "F1, own",
            "f1_decided": "F1, structure",
            "subset_accuracy_own": "exact match, own",
            "subset_accuracy_decided": "exact match, structure",
        },
        key=TEXTS.key,
        statistics={
            "micro_f1": f1_of_counts(),
            "micro_f1_tuned": f1_of_counts("_tuned"),
            "f1": mean_f1("f1"),
        },
        score=TEXTS,
        # Without a transformer, the encoder is a convolutional network over the data's own words.
        takes_encoder=dataset != "sample",
        selection=library()[dataset]["training"]["metric"],
        setting_names=partial(setting_names, dataset),
    )


SUITES = [suite(dataset) for dataset in ("sample", *(name for name in library() if name != "sample"))]
FAMILIES = [
    Family(
        name="text",
        title="multi-label classification of texts",
        default="sample",
        headline={"micro_f1": "Micro F1 as predicted", "macro_f1": "Macro F1 as predicted"},
    )
]
