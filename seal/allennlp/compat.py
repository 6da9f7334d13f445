"""
Every workaround that AllenNLP 2.10.1 needs on current libraries, and nothing else.

AllenNLP is imported inside the functions, because the first patch silences warnings that AllenNLP's own
imports raise.
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

# (message, category, module) of warnings that a user of seal can do nothing about.
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
    Hides `KNOWN_WARNINGS`, each by its message and the module that raises it: deprecation warnings of AllenNLP's own
    code in the middle of the progress bars. The `allennlp` command imports AllenNLP before any plugin, so what those
    imports raise is hidden only where `seal.plugin` is imported first; `make demo` hides it with `PYTHONWARNINGS`.
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

    Symptom: a metric that returns a numpy scalar puts it in the training state, and `allennlp train --recover` ends
    in an `UnpicklingError`. The state is made plain when it is saved; loading stays as strict as torch made it.

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

    Symptom: an archived model whose config has a `pretrained_file` inside a list (an energy term, say) looks
    for that file again when it is loaded, though its own weights hold what was read from it. AllenNLP drops
    the key from nested dictionaries, but does not look into lists.

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

    Symptom: with `use_amp`, the features of a word or text shorter than a filter are -65504. AllenNLP marks activations
    of padding by adding the smallest number of their type, half precision. The sum is of full precision, in which it
    then looks for the smallest number of that type, and so does not find the marks.

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
    Patches: the name `pkgutil` in `allennlp.common.util`, of which `import_module_and_submodules` calls
    `walk_packages`; and `sys.modules`, where `checklist` is marked as not there if it is not installed.

    Symptom: where plugins or `--include-package` are imported, a package's submodules are sought by
    `pkgutil.walk_packages` without the package's name, which imports every sub-package by its bare name, with the
    working folder on the path: a user's own `losses.py` or `training.py` there is run in the place of
    `seal.training`. The function itself goes into sub-packages, so the modules of one folder are enough. It also tries
    to import the library `checklist` anew for each module; Python seeks it on the whole path each time, for two seconds
    of every command.

    Can go: when AllenNLP passes the package's name as the prefix, and asks for that library once.
    """
    from allennlp.common import util

    vars(util)["pkgutil"] = SimpleNamespace(walk_packages=pkgutil.iter_modules)
    if "checklist" not in sys.modules and importlib.util.find_spec("checklist") is None:
        sys.modules["checklist"] = None  # type: ignore[assignment]


def start_log_writers() -> None:
    """
    Patches: `allennlp.training.callbacks.LogWriterCallback.on_start` (of TensorBoard and W&B).

    Symptom: of W&B, `AttributeError: module 'wandb.util' has no attribute 'generate_id'` at the start of training, and
    a warning that `anonymous` has no effect. Of both, `AssertionError` at the first batch with
    `distribution_interval: 1`, and after `--recover` wherever the next batch is one to log: the parameters before a
    batch, from which its updates are counted, are kept at the end of the batch before it.

    Can go: when AllenNLP asks the current wandb for a run id, and keeps the parameters at the start of training, too.
    """
    from allennlp.training.callbacks import WandBCallback
    from allennlp.training.callbacks.log_writer import LogWriterCallback

    def on_start(original, self, trainer, is_primary: bool = True, **kwargs) -> None:
        if is_primary and isinstance(self, WandBCallback):
            import wandb.util  # Only where it is used.
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
