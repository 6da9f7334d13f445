"""
The patches that AllenNLP 2.10.1 needs to run on current libraries.

The functions import AllenNLP themselves, because `silence_known_warnings` must run first: AllenNLP's imports raise
warnings.
"""

import importlib.util
import logging
import pkgutil
import sys
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from seal.allennlp.replacing import replace_once

logger = logging.getLogger(__name__)

# Warnings that a user cannot avoid: (message, category, module).
KNOWN_WARNINGS = [
    # AllenNLP's trainer opens `torch.cuda.amp.autocast` around every batch, on or off.
    (
        r"`torch\.cuda\.amp\.(autocast|GradScaler)\(args\.\.\.\)` is deprecated",
        FutureWarning,
        r"allennlp\.(training\.gradient_descent_trainer|nn\.parallel\.ddp_accelerator)$",
    ),
    # Raised while AllenNLP imports fairscale, and allennlp-models imports rouge.
    (
        r"`torch\.cuda\.amp\.custom_[fb]wd\(args\.\.\.\)` is deprecated",
        FutureWarning,
        r"fairscale\.experimental\.nn\.offload$",
    ),
    # Raised where AllenNLP measures a GPU's memory.
    (
        r"torch\.cuda\.reset_max_memory_allocated now calls",
        FutureWarning,
        r"allennlp\.common\.util$",
    ),
    (r"`torch\.jit\.script` is deprecated", FutureWarning, r"torch\.jit\._script$"),
    (r"pkg_resources is deprecated as an API", UserWarning, r"rouge\.rouge$"),
]


def silence_known_warnings() -> None:
    """
    Hides `KNOWN_WARNINGS`, deprecation warnings of AllenNLP's own code that would appear between the progress bars. The
    command `allennlp` imports AllenNLP before any plugin, so it still shows the warnings of these imports; `make demo`
    hides them by `PYTHONWARNINGS`.
    """
    for message, category, module in KNOWN_WARNINGS:
        warnings.filterwarnings("ignore", message=message, category=category, module=module)


def build_plateau_scheduler_without_verbose() -> None:
    """
    Patches: `allennlp.training.learning_rate_schedulers.ReduceOnPlateauLearningRateScheduler.__init__`.

    Symptom: `TypeError: ReduceLROnPlateau.__init__() got an unexpected keyword argument 'verbose'` with torch
    >= 2.7.

    Can go: when AllenNLP no longer passes `verbose` to torch.
    """
    import torch
    from allennlp.training.learning_rate_schedulers import pytorch_lr_schedulers as schedulers
    from allennlp.training.optimizers import Optimizer

    def __init__(original: Callable, self, optimizer: Optimizer, *, verbose: bool = False, **settings: Any) -> None:
        if verbose:
            logger.warning("'verbose' of the reduce_on_plateau scheduler has no effect with this torch.")
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **settings)
        super(schedulers.ReduceOnPlateauLearningRateScheduler, self).__init__(plateau)

    replace_once(schedulers.ReduceOnPlateauLearningRateScheduler, "__init__", __init__)


def keep_tracked_metrics_plain() -> None:
    """
    Patches: `allennlp.training.metric_tracker.MetricTracker.state_dict`.

    Symptom: a metric that returns a NumPy scalar puts it into the training state, and `allennlp train --recover` ends
    in an `UnpicklingError`. The patch converts the state when it is saved; torch loads it as strictly as before.

    Can go: when AllenNLP keeps the tracked values as Python numbers.
    """
    from allennlp.training.metric_tracker import MetricTracker

    from seal.common.nested_values import plain

    def state_dict(original, self) -> dict[str, Any]:
        return plain(original(self))

    replace_once(MetricTracker, "state_dict", state_dict)


def forget_pretrained_files_in_lists() -> None:
    """
    Patches: `allennlp.common.params.remove_keys_from_params`, also where `allennlp.models.model` has it.

    Symptom: an archived model whose config has a `pretrained_file` inside a list, for example in a list of energies,
    needs that file again when it is loaded, although its weights contain the file's values. AllenNLP drops the key from
    nested dictionaries, but not from lists.

    Can go: when AllenNLP looks into lists.
    """
    from allennlp.common import params as params_module
    from allennlp.models import model as model_module

    def remove_keys_from_params(original, params, keys=("pretrained_file", "initializer")):
        original(params, keys)
        if isinstance(params, params_module.Params):
            for value in params.values():
                for item in value if isinstance(value, list) else ():
                    params_module.remove_keys_from_params(item, keys)

    for module in (params_module, model_module):
        replace_once(module, "remove_keys_from_params", remove_keys_from_params)


def encode_by_convolutions_in_full_precision() -> None:
    """
    Patches: `allennlp.modules.seq2vec_encoders.CnnEncoder.forward`.

    Symptom: with `use_amp`, the features of a word or text that is shorter than a filter are -65504. AllenNLP marks the
    activations of padding by adding the smallest number of half precision. The sum has full precision, and AllenNLP
    then searches it for the smallest number of full precision, so that it does not find the marks.

    Can go: when AllenNLP's encoder fills by a mask.
    """
    import torch
    from allennlp.modules.seq2vec_encoders import CnnEncoder

    def forward(original, self, tokens, mask):
        kind = tokens.device.type
        if not torch.is_autocast_enabled(kind):
            return original(self, tokens, mask)
        with torch.autocast(kind, enabled=False):
            return original(self, tokens.float(), mask)

    replace_once(CnnEncoder, "forward", forward)


def find_submodules_without_importing() -> None:
    """
    Patches: the name `pkgutil` in `allennlp.common.util`, whose function `import_module_and_submodules` calls
    `pkgutil.walk_packages`; and the entry `checklist` of `sys.modules`, if that library is not installed.

    Symptom: `walk_packages` gets no package name, and so imports each sub-package by its bare name, with the working
    folder on the path. A user's own `losses.py` or `training.py` there runs in place of `seal.training`. (AllenNLP's
    function visits sub-packages itself, so that `iter_modules` of one folder is enough.) For each module, AllenNLP also
    tries to import the library `checklist`; Python searches the whole path each time, two seconds in every command.

    Can go: when AllenNLP passes the package's name as the prefix, and tries to import that library once.
    """
    from allennlp.common import util

    vars(util)["pkgutil"] = SimpleNamespace(walk_packages=pkgutil.iter_modules)
    if "checklist" not in sys.modules and importlib.util.find_spec("checklist") is None:
        sys.modules["checklist"] = None  # type: ignore[assignment]


def start_log_writers() -> None:
    """
    Patches: `allennlp.training.callbacks.LogWriterCallback.on_start`, which the callbacks `tensorboard` and `wandb`
    use.

    Symptom: with `wandb`, training ends at its start in `AttributeError: module 'wandb.util' has no attribute
    'generate_id'`, and a warning says that `anonymous` has no effect. With both callbacks, training ends in an
    `AssertionError` at the first batch if `distribution_interval` is 1, and after `--recover` if the next batch is
    logged: the size of an update needs the parameters from before it, which AllenNLP copies at the end of the previous
    batch.

    Can go: when AllenNLP gets a run id from the current wandb, and copies the parameters at the start of training.
    """
    from allennlp.training.callbacks import WandBCallback
    from allennlp.training.callbacks.log_writer import LogWriterCallback

    def on_start(original, self, trainer, is_primary: bool = True, **kwargs) -> None:
        if is_primary and isinstance(self, WandBCallback):
            import wandb.util  # Slow, and often not installed.
            from wandb.sdk.lib import runid

            vars(wandb.util).setdefault("generate_id", runid.generate_id)
            self._wandb_kwargs.pop("anonymous", None)
        original(self, trainer, is_primary=is_primary, **kwargs)
        if is_primary and (self._should_log_distributions_this_batch() or self._should_log_distributions_next_batch()):
            self._param_updates = {
                name: parameter.detach().cpu().clone() for name, parameter in trainer.model.named_parameters()
            }

    replace_once(LogWriterCallback, "on_start", on_start)


PATCHES = (
    find_submodules_without_importing,
    build_plateau_scheduler_without_verbose,
    keep_tracked_metrics_plain,
    start_log_writers,
    forget_pretrained_files_in_lists,
    encode_by_convolutions_in_full_precision,
)
