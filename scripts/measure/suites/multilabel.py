"""Multi-label classification of features: the data sets of SEAL's papers, and the made-up sample."""

from functools import partial

from scripts.measure.grid import Grid
from scripts.measure.scores import LABEL_SETS
from scripts.measure.suite import Family, Suite, grouped_methods, of_family
from seal_inspect.significance import mean_f1

# By the papers' groups, which are the headings of the tables.
METHODS = {
    "Feed-forward": {"cross_entropy": "cross-entropy"},
    "Structure in prediction": {"structured": "structure on cross-entropy"},
    "Energy only, gradient-based inference": {
        "spen": "SPEN",
        "spen_end_to_end": "SPEN, end to end",
        "dvn": "DVN",
        "nce_energy": "NCE",
    },
    "SEAL-static": {
        "static_margin": "static margin",
        "static_regression": "static regression",
        "static_nce": "static NCE",
    },
    "SEAL-dynamic": {
        "margin": "margin",
        "regression": "regression",
        "regression_s": "regression-s",
        "regression_discrete": "regression, discrete draws",
        "nce": "NCE",
        "ranking": "ranking",
        "partition": "learned partition function",
    },
    "Implicit gradients": {
        "alternating_ssvm": "SSVM, no implicit term",
        "implicit_ssvm": "implicit SSVM",
        "alternating_dvn": "DVN, no implicit term",
        "implicit_dvn": "implicit DVN",
        "alternating_cd": "CD, no implicit term",
        "implicit_cd": "implicit CD",
        "unrolled_cd": "implicit CD, unrolled steps",
        "implicit_compound": "implicit compound",
        "implicit_cd_margin": "implicit CD, margin in the task loss",
    },
    "Ablations": {
        "margin_no_ce": "margin, no cross-entropy",
        "regression_no_ce": "regression, no cross-entropy",
        "nce_no_ce": "NCE, no cross-entropy",
        "task_net_ranking": "ranking of the task-net",
    },
}


GRID = Grid("multilabel")
library, data, setting_names, experiment = GRID.library, GRID.data, GRID.setting_names, GRID.experiment


def suite(dataset: str) -> Suite:
    return of_family(
        "multilabel",
        dataset,
        validation="valid",
        title=f"multi-label classification, {dataset}",
        methods=grouped_methods(METHODS, partial(experiment, dataset)),
        data=partial(data, dataset),
        epochs=library()[dataset]["epochs"],
        metrics={
            "f1": "F1",
            "f1_tuned": "F1, tuned",
            "f1_per_label": "F1, a threshold a label",
            "micro_f1": "micro",
            "micro_f1_tuned": "micro, tuned",
            "macro_f1": "macro",
            "macro_f1_tuned": "macro, tuned",
            "mean_average_precision": "MAP",
            "subset_accuracy_tuned": "exact match, tuned",
            # Of a model with a structure: by the task-net's own threshold for the score, and by the decision for it.
            # Scores without a suffix are of the predicted labels.
            "f1_own": "F1, own",
            "f1_decided": "F1, structure",
            "micro_f1_own": "micro, own",
            "micro_f1_decided": "micro, structure",
            "subset_accuracy_own": "exact match, own",
            "subset_accuracy_decided": "exact match, structure",
        },
        key=LABEL_SETS.key,
        statistics={"f1": mean_f1("f1"), "f1_tuned": mean_f1("f1_tuned")},
        score=LABEL_SETS,
        setting_names=partial(setting_names, dataset),
        read=partial(GRID.read, dataset),
    )


SUITES = [suite(dataset) for dataset in library()]
FAMILIES = [
    Family(
        name="multilabel",
        title="multi-label classification of features",
        default="sample",
        apart="genbase",
        headline={"f1": "Example F1 as predicted", "f1_tuned": "Example F1 at the threshold tuned on valid"},
        steps={
            "A loss-net that moves": [(f"static_{loss}", loss) for loss in ("margin", "regression", "nce")],
            "Noisy outputs in place of the task-net's own": [("regression", "regression_s")],
            "Draws in place of Gaussian noise": [("regression_s", "regression_discrete")],
            "Cross-entropy taken away": [(loss, f"{loss}_no_ce") for loss in ("margin", "regression", "nce")],
            "The implicit term": [(f"alternating_{loss}", f"implicit_{loss}") for loss in ("ssvm", "dvn", "cd")],
        },
    )
]
