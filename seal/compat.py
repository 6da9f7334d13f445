"""
Every workaround that AllenNLP 2.10.1 needs on current libraries, and nothing else.

`apply()` runs when `seal` is imported, so a config, a sub-command or a script that names `seal` has them all.
Each mend is one small function. Its docstring gives the upstream name it mends, the symptom without it, and
the condition under which it can go; `tests/test_compat.py` has a test for each that fails without it.
AllenNLP is imported inside the functions, because the first mend silences warnings that AllenNLP's own
imports raise.

What AllenNLP says about a wrong config key is mended in `seal/config_keys.py`, how an uncaught mistake of the
user is told in one sentence is in `seal/user_errors.py`.
"""

import functools
import logging
import multiprocessing
import os
import signal
import sys
import warnings
from contextlib import contextmanager, nullcontext
from typing import Any, Callable, Dict, Iterator, List, Optional, Union

logger = logging.getLogger(__name__)

# (message, category, module): each is noise that a user of seal can do nothing about.
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


def replace_once(owner: Any, name: str, make: Callable[[Callable], Callable]) -> None:
    """
    Puts `make(original)` in the place of `owner.name`, once. The original stays reachable as `__wrapped__`,
    which also lets `inspect.signature` (and so `FromParams`) see the original's parameters.
    """
    original = getattr(owner, name)
    if getattr(original, "mended_by_seal", False):
        return
    mended = functools.wraps(original)(make(original))
    mended.mended_by_seal = True
    setattr(owner, name, mended)


def silence_known_warnings() -> None:
    """
    Mends: nothing; hides `KNOWN_WARNINGS`, each by its message and the module that raises it.

    Symptom: deprecation warnings of AllenNLP's own code in the middle of the progress bars. The `allennlp`
    command imports AllenNLP before any plugin, so what those imports raise is hidden only where `seal` is
    imported first; `make demo` hides it with `PYTHONWARNINGS`.

    Can go: with AllenNLP.
    """
    for message, category, module in KNOWN_WARNINGS:
        warnings.filterwarnings("ignore", message=message, category=category, module=module)


def drop_tokenizer_constructor_keyword() -> None:
    """
    Mends: `allennlp.common.cached_transformers.get_tokenizer`.

    Symptom: `AttributeError: add_special_tokens conflicts with the method add_special_tokens` for every
    pretrained transformer tokenizer, with transformers >= 4.44. `PretrainedTransformerTokenizer` asks for one
    tokenizer with `add_special_tokens=False` and one with `True`. The constructor never did anything with the
    keyword (special tokens are added where `encode_plus` is told to, and AllenNLP says so in each call), so
    it is dropped.

    Can go: when AllenNLP no longer passes it.
    """
    from allennlp.common import cached_transformers

    def make(original: Callable) -> Callable:
        def get_tokenizer(model_name, **kwargs):
            kwargs.pop("add_special_tokens", None)
            return original(model_name, **kwargs)

        return get_tokenizer

    replace_once(cached_transformers, "get_tokenizer", make)


def build_plateau_scheduler_without_verbose() -> None:
    """
    Mends: `allennlp.training.learning_rate_schedulers.ReduceOnPlateauLearningRateScheduler.__init__`.

    Symptom: `TypeError: ReduceLROnPlateau.__init__() got an unexpected keyword argument 'verbose'` with torch
    >= 2.7.

    Can go: when AllenNLP no longer passes `verbose` to torch.
    """
    import torch
    from allennlp.training.learning_rate_schedulers import pytorch_lr_schedulers as schedulers
    from allennlp.training.optimizers import Optimizer

    def make(original: Callable) -> Callable:
        def __init__(
            self,
            optimizer: Optimizer,
            mode: str = "min",
            factor: float = 0.1,
            patience: int = 10,
            verbose: bool = False,
            threshold_mode: str = "rel",
            threshold: float = 1e-4,
            cooldown: int = 0,
            min_lr: Union[float, List[float]] = 0,
            eps: float = 1e-8,
        ) -> None:
            if verbose:
                logger.warning("'verbose' of the reduce_on_plateau scheduler has no effect with this torch.")
            plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
                optimizer=optimizer,
                mode=mode,
                factor=factor,
                patience=patience,
                threshold_mode=threshold_mode,
                threshold=threshold,
                cooldown=cooldown,
                min_lr=min_lr,
                eps=eps,
            )
            super(schedulers.ReduceOnPlateauLearningRateScheduler, self).__init__(plateau)

        return __init__

    replace_once(schedulers.ReduceOnPlateauLearningRateScheduler, "__init__", make)


def _plain(value: Any) -> Any:
    """`value` with every numpy scalar and 0-dimensional tensor in it made a Python number."""
    import numpy
    import torch

    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value)
    if isinstance(value, numpy.generic) or (isinstance(value, torch.Tensor) and value.dim() == 0):
        return value.item()
    return value


def keep_tracked_metrics_plain() -> None:
    """
    Mends: `allennlp.training.metric_tracker.MetricTracker.state_dict`.

    Symptom: a metric that returns a numpy scalar puts it in the training state. `torch.load` reads only plain
    data by default since torch 2.6, so `allennlp train --recover` ends in an `UnpicklingError`. The state is
    made plain when it is saved; loading stays as strict as torch made it.

    Can go: when AllenNLP keeps the tracked values as Python numbers.
    """
    from allennlp.training.metric_tracker import MetricTracker

    def make(original: Callable) -> Callable:
        def state_dict(self) -> Dict[str, Any]:
            return _plain(original(self))

        return state_dict

    replace_once(MetricTracker, "state_dict", make)


def start_wandb_runs() -> None:
    """
    Mends: `allennlp.training.callbacks.WandBCallback.on_start`.

    Symptom: `AttributeError: module 'wandb.util' has no attribute 'generate_id'` at the start of training,
    and a warning that `anonymous` has no effect. wandb is imported only when the callback is used.

    Can go: when AllenNLP asks the current wandb for a run id.
    """
    from allennlp.training.callbacks import WandBCallback

    def make(original: Callable) -> Callable:
        def on_start(self, trainer, is_primary: bool = True, **kwargs) -> None:
            if is_primary:
                import wandb.util
                from wandb.sdk.lib import runid

                if not hasattr(wandb.util, "generate_id"):
                    wandb.util.generate_id = runid.generate_id
                self._wandb_kwargs.pop("anonymous", None)
            original(self, trainer, is_primary=is_primary, **kwargs)

        return on_start

    replace_once(WandBCallback, "on_start", make)


def keep_undecodable_input_lines() -> None:
    """
    Mends: `allennlp.commands.predict.open_compressed` and `_PredictManager._get_json_data` (for standard
    input).

    Symptom: one byte that is not UTF-8 in the input of `allennlp predict` ends the whole run, whichever line
    it is on. With `errors="surrogateescape"` the line reaches the predictor's `load_line`, each bad byte as
    one character U+DC80 to U+DCFF, and the predictor can report that one line.

    Can go: when AllenNLP lets the predictor decide.
    """
    from allennlp.commands import predict

    def make_open(original: Callable) -> Callable:
        def open_compressed(*args, **kwargs):
            kwargs.setdefault("errors", "surrogateescape")
            return original(*args, **kwargs)

        return open_compressed

    def make_lines(original: Callable) -> Callable:
        def _get_json_data(self):
            # Not every stand-in for standard input (a notebook's, a test's) can be reconfigured.
            if self._input_file == "-" and hasattr(sys.stdin, "reconfigure"):
                sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
            return original(self)

        return _get_json_data

    replace_once(predict, "open_compressed", make_open)
    replace_once(predict._PredictManager, "_get_json_data", make_lines)


def _check_files_and_batch_size(
    batch_size: Optional[int], inputs: List[str], outputs: Dict[str, List[str]]
) -> None:
    from allennlp.common.checks import ConfigurationError

    if batch_size is not None and batch_size < 1:
        raise ConfigurationError(f"--batch-size: at least 1, not {batch_size}.")
    for option, paths in outputs.items():
        for path in paths:
            if os.path.exists(path) and any(os.path.exists(i) and os.path.samefile(path, i) for i in inputs):
                raise ConfigurationError(f"{option}: '{path}' is the input, which would be lost; name another file.")
            if not os.path.isdir(os.path.dirname(path) or "."):
                raise ConfigurationError(f"{option}: there is no folder '{os.path.dirname(path)}'; make it first.")


def _names(files: Optional[str]) -> List[str]:
    return files.split(",") if files else []


def _check_names(inputs: List[str], outputs: Dict[str, List[str]], auto_names: str) -> None:
    from allennlp.common.checks import ConfigurationError

    for option, auto in (("--output-file", "METRICS"), ("--predictions-output-file", "PREDS")):
        if auto_names not in (auto, "ALL") and outputs[option] and len(outputs[option]) != len(inputs):
            raise ConfigurationError(
                f"{option}: {len(inputs)} files are evaluated, so name as many here, separated by commas, or use "
                f"--auto-names {auto}; found {len(outputs[option])}."
            )


@contextmanager
def _no_batch_sampler(module: Any) -> Iterator[None]:
    """Inside, the archives that the module loads have no batch sampler in their config."""
    original = module.load_archive

    def load_archive(*args: Any, **settings: Any) -> Any:
        archive = original(*args, **settings)
        for loader in ("data_loader", "validation_data_loader"):
            archive.config.get(loader, {}).pop("batch_sampler", None)
        return archive

    module.load_archive = load_archive
    try:
        yield
    finally:
        module.load_archive = original


def check_options_of_predict_and_evaluate() -> None:
    """
    Mends: `allennlp.commands.predict._PredictManager.__init__` and `allennlp.commands.evaluate.evaluate_from_archive`.

    Symptom: an output file that is the input is emptied, before `predict` reads it or after `evaluate` has; one whose
    folder is not there is missed when all is evaluated. With `--batch-size 0` nothing is predicted, and one below 0
    ends in a traceback; so does another number of output files than of inputs. `evaluate --batch-size` of a model that
    was trained with a `batch_sampler` is answered as if the config had both.

    Can go: when AllenNLP checks its arguments.
    """
    from allennlp.commands import evaluate, predict

    def make_manager(original: Callable) -> Callable:
        def __init__(self, predictor, input_file, output_file, batch_size, *args, **kwargs):
            _check_files_and_batch_size(batch_size, [input_file], {"--output-file": [output_file or ""]})
            original(self, predictor, input_file, output_file, batch_size, *args, **kwargs)

        return __init__

    def make_evaluate(original: Callable) -> Callable:
        def evaluate_from_archive(
            archive_file,
            input_file,
            metrics_output_file=None,
            predictions_output_file=None,
            batch_size=None,
            **kwargs,
        ):
            outputs = {
                "--output-file": _names(metrics_output_file),
                "--predictions-output-file": _names(predictions_output_file),
            }
            inputs = str(input_file).split(",")
            _check_files_and_batch_size(batch_size, inputs, outputs)
            if "{" not in str(input_file):  # Else it is JSON, which has commas of its own.
                _check_names(inputs, outputs, kwargs.get("auto_names", "NONE"))
            with nullcontext() if batch_size is None else _no_batch_sampler(evaluate):
                return original(
                    archive_file, input_file, metrics_output_file, predictions_output_file, batch_size, **kwargs
                )

        return evaluate_from_archive

    replace_once(predict._PredictManager, "__init__", make_manager)
    replace_once(evaluate, "evaluate_from_archive", make_evaluate)


def end_data_workers_quietly() -> None:
    """
    Mends: `allennlp.data.data_loaders.MultiProcessDataLoader._instance_worker` (and `_batch_worker`).

    Symptom: where one data-loading worker fails, AllenNLP ends the others by SIGTERM. They inherit the
    command's handler, which raises, so each prints a traceback of its own beside the one sentence that names
    the mistake.

    Can go: when AllenNLP's workers reset the handler.
    """
    from allennlp.data.data_loaders import MultiProcessDataLoader

    def make(original: Callable) -> Callable:
        def worker(self, *args, **kwargs):
            # Only in a worker process: called in the main one, it would take the command's own handler away.
            if multiprocessing.parent_process() is not None:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            return original(self, *args, **kwargs)

        return worker

    replace_once(MultiProcessDataLoader, "_instance_worker", make)
    replace_once(MultiProcessDataLoader, "_batch_worker", make)


def forget_pretrained_files_in_lists() -> None:
    """
    Mends: `allennlp.common.params.remove_keys_from_params`, also where `allennlp.models.model` has it.

    Symptom: an archived model whose config has a `pretrained_file` inside a list (an energy term, say) looks
    for that file again when it is loaded, though its own weights hold what was read from it. AllenNLP drops
    the key from nested dictionaries, but does not look into lists.

    Can go: when AllenNLP looks into lists.
    """
    from allennlp.common import params as params_module
    from allennlp.models import model as model_module

    def make(original: Callable) -> Callable:
        def remove_keys_from_params(params, keys=("pretrained_file", "initializer")):
            original(params, keys)
            if isinstance(params, params_module.Params):
                for value in params.values():
                    for item in value if isinstance(value, list) else ():
                        remove_keys_from_params(item, keys)

        return remove_keys_from_params

    for module in (params_module, model_module):
        replace_once(module, "remove_keys_from_params", make)


def encode_by_convolutions_in_full_precision() -> None:
    """
    Mends: `allennlp.modules.seq2vec_encoders.CnnEncoder.forward`.

    Symptom: with `use_amp`, the features of a word or text shorter than a filter are -65504. AllenNLP marks what the
    padding makes by the least number of its type, half precision, and looks for it in a sum of full precision, where
    that is not the least.

    Can go: when AllenNLP's encoder fills by a mask.
    """
    import torch
    from allennlp.modules.seq2vec_encoders import CnnEncoder

    def make(original: Callable) -> Callable:
        def forward(self, tokens, mask):
            kind = tokens.device.type
            if not torch.is_autocast_enabled(kind):
                return original(self, tokens, mask)
            with torch.autocast(kind, enabled=False):
                return original(self, tokens.float(), mask)

        return forward

    replace_once(CnnEncoder, "forward", make)


MENDS = (
    silence_known_warnings,
    drop_tokenizer_constructor_keyword,
    build_plateau_scheduler_without_verbose,
    keep_tracked_metrics_plain,
    start_wandb_runs,
    keep_undecodable_input_lines,
    check_options_of_predict_and_evaluate,
    end_data_workers_quietly,
    forget_pretrained_files_in_lists,
    encode_by_convolutions_in_full_precision,
)


def apply() -> None:
    """Applies every mend. Calling it again changes nothing."""
    for mend in MENDS:
        mend()
