"""Binary segmentation: Weizmann's horses, and the made-up sample of shapes."""

from functools import lru_cache, partial
from typing import Any, Dict, List, Optional

import numpy

from scripts.measure.configs import library_value, text
from scripts.measure.segmentation_scores import KEY, score
from scripts.measure.suite import Family, Method, Settings, Statistic, Suite

# By the papers' groups, which are the headings of the tables.
METHODS = {
    "Feed-forward": {"cross_entropy": "FCN, cross-entropy"},
    "Energy only, gradient-based inference": {"dvn": "DVN"},
    "SEAL-dynamic": {
        "regression": "regression",
        "regression_s": "regression-s, smooth noise",
        "nce": "NCE, correlated draws",
        "nce_independent": "NCE, independent pixels",
        "ranking": "ranking, correlated draws",
    },
    "Implicit gradients": {"implicit_cd": "implicit CD"},
}


@lru_cache(maxsize=None)
def library() -> Dict[str, Any]:
    """Paths and number of epochs of each data set, in one evaluation."""
    return library_value(
        "segmentation.libsonnet",
        "{ [name]: { paths: { train: lib.dataset(name).train, valid: lib.dataset(name).valid, "
        "test: lib.dataset(name).test }, epochs: lib.settings(name, 'cross_entropy').epochs } "
        "for name in lib.datasets }",
    )


def data(name: str) -> Dict[str, Optional[str]]:
    # Evaluated jsonnet has its names in alphabetical order; tables follow this one.
    return {split: library()[name]["paths"][split] for split in ("train", "valid", "test")}


@lru_cache(maxsize=None)
def setting_names(dataset: str, method: str) -> List[str]:
    """What `--settings` may set: the seed and the epochs have options of their own."""
    names = library_value("segmentation.libsonnet", f"std.objectFields(lib.settings('{dataset}', '{method}'))")
    return [name for name in names if name not in ("seed", "epochs")]


def experiment(dataset: str, method: str, settings: Settings) -> str:
    chosen = {"epochs": str(settings.epochs), "seed": str(settings.seed), **dict(settings.more)}
    inside = ", ".join(f"{name}: {value}" for name, value in chosen.items())
    return (
        f"local segmentation = import {text(settings.library + '/segmentation.libsonnet')};\n\n"
        f"segmentation.experiment('{dataset}', '{method}', settings={{ {inside} }})\n"
    )


def methods(dataset: str) -> Dict[str, Method]:
    return {
        name: Method(title, partial(experiment, dataset, name), group=group)
        for group, members in METHODS.items()
        for name, title in members.items()
    }


def suite(dataset: str) -> Suite:
    return Suite(
        name=f"segmentation_{dataset}",
        dataset=dataset,
        title=f"binary segmentation, {dataset}",
        methods=methods(dataset),
        data=partial(data, dataset),
        epochs=library()[dataset]["epochs"],
        metrics={"mean_iou": "mean IoU", "global_iou": "global IoU", "pixel_accuracy": "pixel accuracy"},
        key=KEY,
        statistics={
            "mean_iou": Statistic(("iou", "images"), lambda sums: 100 * sums["iou"] / sums["images"]),
            "global_iou": Statistic(
                ("intersection", "union"),
                lambda sums: 100 * sums["intersection"] / numpy.maximum(sums["union"], 1),
            ),
        },
        score=score,
        selection="mean_iou",
        validation="valid",
        # Test is looked at when everything is chosen, and by request.
        default_splits=("valid",),
        takes_fraction=False,
        setting_names=partial(setting_names, dataset),
        family="segmentation",
    )


SUITES = [suite(dataset) for dataset in library()]
FAMILIES = [
    Family(
        name="segmentation",
        title="binary segmentation of images",
        default="shapes",
        headline={"mean_iou": "Mean IoU of images", "global_iou": "IoU of all images together"},
    )
]
