"""
Checks of a trainer's settings against the model and the machine. Each mistake is a `ConfigurationError`.
"""

import re
from collections.abc import Collection, Iterable
from typing import Optional, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import int_to_device
from allennlp.data import DataLoader

from seal.dataset_readers.tensor_loader import TensorLoader
from seal.dataset_readers.text_multilabel import TextMultilabelReader
from seal.models import SealModel, TextMultilabelModel
from seal.training.phases import Phase, Phases
from seal.training.player import LOSS_NET, TASK_NET

# Names of scores among seal's metrics, alone or with what they are of: `f1-PER`, `mean_iou`, `micro_f1_tuned`.
_MORE_IS_BETTER = re.compile(r"(^|_)(f1|accuracy|precision|recall|iou)($|[_-])")

# Those of which less is better: losses, and rates of frames or roles that break a constraint.
_LESS_IS_BETTER = re.compile(r"loss$|(^|_)(ucr|duplicates)$")


def uses_cpu_autocast(model: torch.nn.Module, use_amp: bool, cuda_device: Optional[Union[int, torch.device]]) -> bool:
    """
    Whether mixed precision is that of a CPU, which AllenNLP does not have.

    # Raises

    `ConfigurationError` if the model is not one of seal's, the device is none, or the CPU cannot train the model so.
    """
    if not isinstance(model, SealModel):
        raise ConfigurationError(
            f"trainer.type: 'alternating' and 'implicit_gradient' train seal's models, not {type(model).__name__}."
        )
    check_device(cuda_device)
    on_cpu = use_amp and trains_on_cpu(cuda_device)
    if on_cpu:
        check_mixed_precision(model)
    return on_cpu


def check_device(cuda_device: Optional[Union[int, torch.device]]) -> None:
    # `FromParams` takes anything but a number for a `torch.device`, and passes it on unchecked.
    if cuda_device is not None and not isinstance(cuda_device, (int, torch.device)):
        raise ConfigurationError(
            f"trainer.cuda_device: the number of a GPU, or -1 for the CPU, not {cuda_device!r}; several are named in "
            "distributed.cuda_devices, beside trainer."
        )


def trains_on_cpu(cuda_device: Optional[Union[int, torch.device]]) -> bool:
    """Whether the CPU trains. If the config names no device, AllenNLP takes a GPU where it finds one."""
    return not torch.cuda.is_available() if cuda_device is None else int_to_device(cuda_device).type == "cpu"


def check_mixed_precision(model: torch.nn.Module) -> None:
    """`ConfigurationError` if the model has an LSTM and this processor none in bfloat16, which oneDNN may lack."""
    if any(isinstance(module, torch.nn.LSTM) for module in model.modules()) and not has_bfloat16_lstms():
        raise ConfigurationError(
            "trainer.use_amp: this processor has no LSTM in bfloat16 (PyTorch needs avx512 for one); leave use_amp "
            "out, train on a GPU, or take an encoder without an LSTM."
        )


def has_bfloat16_lstms() -> bool:
    """Whether PyTorch can run an LSTM in mixed precision on this processor."""
    try:
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            torch.nn.LSTM(1, 1)(torch.zeros(1, 1, 1))
    except RuntimeError:
        return False
    return True


def check_data(
    model: SealModel,
    data_loader: DataLoader,
    validation_data_loader: Optional[DataLoader],
    validation_metric: Union[str, list[str]],
    phases: list[Phase],
) -> None:
    """Of both data sets what the model can take, and of validation what a metric needs."""
    check_max_tokens(model, data_loader, "dataset_reader")
    if validation_data_loader is not None:
        check_max_tokens(model, validation_data_loader, "validation_dataset_reader")
        check_for_scores(validation_data_loader)
        check_validation_metric(model, validation_metric)
    check_metrics_of_phases(model, phases, validation_data_loader is not None)


def check_metrics_of_phases(model: SealModel, phases: list[Phase], validated: bool) -> None:
    for index, phase in enumerate(phases):
        if phase.validation_metric is None:
            continue
        key = f"trainer.phases[{index}].validation_metric"
        if not validated:
            raise ConfigurationError(f"{key}: there is no validation_data_path; give one, or leave it out.")
        check_validation_metric(model, phase.validation_metric, key)


def check_validation_metric(
    model: SealModel, metric: Union[str, list[str]], key: str = "trainer.validation_metric"
) -> None:
    metrics = [metric] if isinstance(metric, str) else metric
    for name in metrics:
        if name[:1] not in ("+", "-"):
            raise ConfigurationError(
                f"{key}: '+{name}' where more is better, or '-{name}', not '{name}'."
            )
        sign, score = name[0], name[1:]
        # The other sign would keep the worst epoch as the best.
        if sign == "+" and _LESS_IS_BETTER.search(score):
            raise ConfigurationError(f"{key}: less of '{score}' is better; write '-{score}'.")
        if sign == "-" and _MORE_IS_BETTER.search(score):
            raise ConfigurationError(f"{key}: more of '{score}' is better; write '+{score}'.")
    # AllenNLP reports a loss of 0 where a model gives none, so that the first epoch would be the best.
    names = {name.lstrip("+-") for name in metrics}
    if model.inference is not None and "loss" in names:
        raise ConfigurationError(
            f"{key}: predictions of model.inference have no loss; name one of the model's metrics, "
            "as '+f1'."
        )


def check_max_tokens(model: SealModel, loader: DataLoader, key: str) -> None:
    """
    Refuses a reader that leaves more tokens to a text than a transformer of the model takes: otherwise the first such
    text ends the run, which may be hours later. `key` is that of the reader.
    """
    reader = getattr(loader, "reader", None)
    if not isinstance(model, TextMultilabelModel) or not isinstance(reader, TextMultilabelReader):
        return
    found, positions = reader.max_tokens, model.positions
    if found is not None and positions is not None and found > positions:
        raise ConfigurationError(
            f"{key}.max_tokens: {found} pieces, and the transformer takes {positions}; set it to {positions} or less."
        )


def check_for_scores(loader: DataLoader) -> None:
    """Refuses validation data that are others in each pass, before an epoch is trained. Evaluation refuses them too."""
    if isinstance(loader, TensorLoader):
        loader.check_for_scores()


def check_no_grad(model: SealModel, patterns: Optional[list[str]]) -> None:
    names = [name for name, _ in model.named_parameters()]
    for pattern in patterns or ():
        check_found(pattern, names, "trainer.no_grad", "of the model")


def check_found(pattern: str, names: Iterable[str], key: str, whose: str) -> None:
    """
    Checks that a pattern is found in the name of a parameter.

    # Parameters

    pattern : `str`
        A regular expression.
    names : `Iterable[str]`
        The names of the parameters to search.
    key : `str`
        The config key that has the pattern; for the message.
    whose : `str`
        Which parameters these are, such as `"of the model"`; for the message.

    # Raises

    `ConfigurationError` if the pattern is not a regular expression, or is found in none of the names.
    """
    try:
        found = any(re.search(pattern, name) for name in names)
    except re.error as error:
        raise ConfigurationError(f"{key}: {pattern!r} is not a regular expression: {error}.") from error
    if not found:
        raise ConfigurationError(f"{key}: {pattern!r} is found in the name of no parameter {whose}.")


def check_frozen_loss_net(model: SealModel, players: Collection[str]) -> None:
    frozen = model.loss_net is not None and LOSS_NET not in players
    if frozen and model.task_loss.energy_weight > 0 and model.loss_net.pretrained_file is None:
        raise ConfigurationError(
            "trainer.loss_net: nothing trains the loss-net that the task-net is to follow; set "
            "model.loss_net.pretrained_file to a run that has, or train it in a phase (trainer.phases)."
        )


def check_reused_features(model: SealModel, turns: list[str], phases: Phases) -> None:
    both = [phase for phase in phases if phase.trains(TASK_NET) and phase.trains(LOSS_NET) and phase.energy]
    if {TASK_NET, LOSS_NET} - set(turns) or not both:
        problem = "no phase trains the loss-net and, by its energy, the task-net; leave it out"
    elif model.loss_net.shares_encoder:
        problem = "the loss-net shares the task-net's encoder, whose pass serves both already; leave it out"
    else:
        return
    raise ConfigurationError(f"trainer.reuse_features: {problem}.")


def check_fresh_batches(turns: list[str], phases: Phases) -> None:
    steps = {player: turns.count(player) for player in turns}
    most = max(steps.values())
    if most == 1:
        raise ConfigurationError(
            "trainer.fresh_batches: each player makes one update a batch; give one more steps, or leave it out."
        )
    for index, phase in enumerate(phases):
        trained = {player: count for player, count in steps.items() if phase.trains(player)}
        if max(trained.values()) < most:
            (player,) = trained
            raise ConfigurationError(
                f"trainer.fresh_batches: phase {index} trains the {player} alone, with {trained[player]} updates for "
                f"{most} batches, and would pass over the rest of the data; set trainer.{player}.steps to {most}."
            )


def check_phases(model: SealModel, phases: Phases) -> None:
    without_energy = any(phase.trains(TASK_NET) and not phase.energy for phase in phases)
    if without_energy and model.task_loss.cross_entropy_weight == 0:
        raise ConfigurationError(
            "trainer.phases: without the energy the task-net has only cross-entropy to follow; give model.task_loss a "
            "cross_entropy_weight above 0."
        )
    if any(phase.copy_task_net for phase in phases):
        if model.loss_net is None:
            raise ConfigurationError("trainer.phases: copy_task_net: the model has no loss_net.")
        model.loss_net.check_copy(model.task_net)
    unsupervised = any(not phase.supervised for phase in phases)
    if unsupervised and (model.loss_net is None or model.task_loss.energy_weight == 0):
        raise ConfigurationError(
            "trainer.phases: without supervision the task-net has only the energy to follow; give the model a "
            "loss_net, and model.task_loss an energy_weight above 0."
        )
