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
    Patches: nothing; hides `KNOWN_WARNINGS`, each by its message and the module that raises it.

    Symptom: deprecation warnings of AllenNLP's own code in the middle of the progress bars. The `allennlp`
    command imports AllenNLP before any plugin, so what those imports raise is hidden only where `seal` is
    imported first; `make demo` hides it with `PYTHONWARNINGS`.

    Can go: with AllenNLP.
    """
    for message, category, module in KNOWN_WARNINGS:
        warnings.filterwarnings("ignore", message=message, category=category, module=module)


def drop_tokenizer_constructor_keyword() -> None:
    """
    Patches: `allennlp.common.cached_transformers.get_tokenizer`.

    Symptom: `AttributeError: add_special_tokens conflicts with the method add_special_tokens` for every
    pretrained transformer tokenizer, with transformers >= 4.44. `PretrainedTransformerTokenizer` asks for one
    tokenizer with `add_special_tokens=False` and one with `True`. The keyword never had an effect in the constructor
    (special tokens are added where the call of `encode_plus` asks for them, as each of AllenNLP's calls says), so it is
    dropped.

    Can go: when AllenNLP no longer passes it.
    """
    from allennlp.common import cached_transformers

    def get_tokenizer(original, model_name, **kwargs):
        kwargs.pop("add_special_tokens", None)
        return original(model_name, **kwargs)

    replace_once(cached_transformers, "get_tokenizer", get_tokenizer)


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


def start_wandb_runs() -> None:
    """
    Patches: `allennlp.training.callbacks.WandBCallback.on_start`.

    Symptom: `AttributeError: module 'wandb.util' has no attribute 'generate_id'` at the start of training,
    and a warning that `anonymous` has no effect. wandb is imported only when the callback is used.

    Can go: when AllenNLP asks the current wandb for a run id.
    """
    from allennlp.training.callbacks import WandBCallback

    def on_start(original, self, trainer, is_primary: bool = True, **kwargs) -> None:
        if is_primary:
            import wandb.util
            from wandb.sdk.lib import runid

            if not hasattr(wandb.util, "generate_id"):
                wandb.util.generate_id = runid.generate_id
            self._wandb_kwargs.pop("anonymous", None)
        original(self, trainer, is_primary=is_primary, **kwargs)

    replace_once(WandBCallback, "on_start", on_start)


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
    `walk_packages`.

    Symptom: where plugins or `--include-package` are imported, a package's submodules are sought by
    `pkgutil.walk_packages` without the package's name, which imports every sub-package by its bare name, with the
    working folder on the path: a user's own `metrics.py` or `training.py` there is run in the place of
    `seal.metrics`. The function itself goes into sub-packages, so the modules of one folder are enough.

    Can go: when AllenNLP passes the package's name as the prefix.
    """
    from allennlp.common import util

    util.pkgutil = SimpleNamespace(walk_packages=pkgutil.iter_modules)


def seek_checklist_once() -> None:
    """
    Patches: `sys.modules`, where `checklist` is marked as not there if it is not installed.

    Symptom: `import_module_and_submodules` tries to import that library anew for each module of AllenNLP and of the
    plugins. Python seeks it on the whole path each time: two seconds of every command.

    Can go: when AllenNLP asks for it once.
    """
    if "checklist" not in sys.modules and importlib.util.find_spec("checklist") is None:
        sys.modules["checklist"] = None  # type: ignore[assignment]


def spawn_data_workers_with_their_own_lock() -> None:
    """
    Patches: `allennlp.data.data_loaders.MultiProcessDataLoader._start_instance_workers` and `_start_batch_workers`.

    Symptom: with `start_method: "spawn"`, `RuntimeError: A SemLock created in a fork context is being shared with a
    process in a spawn context`: the lock of progress bars is made in the default context, not in that of the workers.

    Can go: when AllenNLP makes the lock in the workers' context.
    """
    from allennlp.data.data_loaders import multiprocess_data_loader as module

    def start(original, self, queue, ctx):
        multiprocessing = module.mp
        module.mp = SimpleNamespace(RLock=ctx.RLock)
        try:
            return original(self, queue, ctx)
        finally:
            module.mp = multiprocessing

    replace_once(module.MultiProcessDataLoader, "_start_instance_workers", start)
    replace_once(module.MultiProcessDataLoader, "_start_batch_workers", start)


def log_distributions_from_the_first_batch() -> None:
    """
    Patches: `allennlp.training.callbacks.LogWriterCallback.on_start` (of TensorBoard and W&B).

    Symptom: `AssertionError` at the first batch with `distribution_interval: 1`, and after `--recover` wherever the
    next batch is one to log: the parameters before a batch, from which its updates are counted, are kept at the end of
    the batch before it.

    Can go: when AllenNLP keeps them at the start of training, too.
    """
    from allennlp.training.callbacks.log_writer import LogWriterCallback

    def on_start(original, self, trainer, is_primary: bool = True, **kwargs) -> None:
        original(self, trainer, is_primary=is_primary, **kwargs)
        if is_primary and (self._should_log_distributions_this_batch() or self._should_log_distributions_next_batch()):
            self._param_updates = {
                name: parameter.detach().cpu().clone() for name, parameter in trainer.model.named_parameters()
            }

    replace_once(LogWriterCallback, "on_start", on_start)


PATCHES = (
    silence_known_warnings,
    find_submodules_without_importing,
    seek_checklist_once,
    drop_tokenizer_constructor_keyword,
    build_plateau_scheduler_without_verbose,
    keep_tracked_metrics_plain,
    start_wandb_runs,
    forget_pretrained_files_in_lists,
    encode_by_convolutions_in_full_precision,
    spawn_data_workers_with_their_own_lock,
    log_distributions_from_the_first_batch,
)
