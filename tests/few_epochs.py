"""How the tests of configs shorten a training."""


def few_epochs(trainer):
    """An epoch for each phase, and one for the rest."""
    phases = trainer.get("phases", [{}])
    for phase in phases:
        if "epochs" in phase:
            phase["epochs"] = 1
    trainer["num_epochs"] = len(phases)
