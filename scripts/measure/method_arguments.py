"""
The arguments that `--settings` may give to the methods that tagging, texts and citations share: those of the functions
in `training_configs/lib/methods.libsonnet`.
"""

DRAWS = ("num_samples", "energy_weight", "share_encoder")
_IMPLICIT = ("energy_weight", "solver_steps", "damping", "last_layer", "share_encoder")
SHARED: dict[str, tuple[str, ...]] = {
    "margin": ("energy_weight", "cost", "share_encoder"),
    "nce": (*DRAWS, "straight_through"),
    "ranking": (*DRAWS, "straight_through"),
    "regression_discrete": DRAWS,
    "spen_end_to_end": (
        "inference_steps",
        "step_size",
        "momentum",
        "entropy_weight",
        "truncation",
        "checkpoint",
        "weights",
    ),
    "structured": ("structure", "folds", "folds_with_loss_net"),
    "implicit_cd": ("num_samples", *_IMPLICIT),
    "implicit_ssvm": (*_IMPLICIT, "cost"),
}
