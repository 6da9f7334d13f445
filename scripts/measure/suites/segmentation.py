"""Binary segmentation: Weizmann's horses, and the made-up sample of shapes."""

from functools import partial

import numpy

from scripts.measure.grid import Grid
from scripts.measure.scores import MASKS
from scripts.measure.suite import Family, Suite, grouped_methods, of_family
from seal_inspect.significance import Statistic

# By the papers' groups, which are the headings of the tables.
METHODS = {
    "Feed-forward": {"cross_entropy": "cross-entropy"},
    "Energy only, gradient-based inference": {"dvn": "DVN", "spen_end_to_end": "SPEN, end to end"},
    "SEAL-dynamic": {
        "regression": "regression",
        "regression_anchored": "regression, at gold and noise too",
        "regression_s": "regression-s, smooth noise",
        "nce": "NCE, correlated draws",
        "nce_independent": "NCE, independent pixels",
        "ranking": "ranking, correlated draws",
    },
    "Implicit gradients": {"implicit_cd": "implicit CD"},
}


GRID = Grid("segmentation")
library, data, setting_names, experiment = GRID.library, GRID.data, GRID.setting_names, GRID.experiment


def suite(dataset: str) -> Suite:
    return of_family(
        "segmentation",
        dataset,
        validation="valid",
        title=f"binary segmentation, {dataset}",
        methods=grouped_methods(METHODS, partial(experiment, dataset)),
        data=partial(data, dataset),
        epochs=library()[dataset]["epochs"],
        metrics={"mean_iou": "mean IoU", "global_iou": "global IoU", "pixel_accuracy": "pixel accuracy"},
        key=MASKS.key,
        statistics={
            "mean_iou": Statistic(("iou", "images"), lambda sums: 100 * sums["iou"] / sums["images"]),
            "global_iou": Statistic(
                ("intersection", "union"),
                lambda sums: 100 * sums["intersection"] / numpy.maximum(sums["union"], 1),
            ),
        },
        score=MASKS,
        selection="mean_iou",
        setting_names=partial(setting_names, dataset),
        read=partial(GRID.read, dataset),
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
