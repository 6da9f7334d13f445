"""What the benchmark of a GPU compares, counts and compiles."""

import contextlib
import json
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import _jsonnet
import torch
from allennlp.common import Params
from allennlp.data import DataLoader, DatasetReader, Vocabulary
from allennlp.nn.util import move_to_device

from scripts.measure import bench_base
from scripts.measure.bench_base import Batches
from scripts.measure.configs import find_import
from scripts.measure.suite import ROOT
from seal.energies import SelfAttentionEnergy
from seal.hypergradients import Curvature, InverseHessianVector, ParameterLayout
from seal.hypergradients.products import loss_products
from seal.output_spaces import CrfTagSequence, LegalTagSequence

CPU, GPU = torch.device("cpu"), torch.device("cuda")
#: Rows of a batch of the samples.
ROWS = 32


# The samples.


def sample(name: str, num_batches: int) -> tuple[dict[str, Any], Vocabulary, list[Any]]:
    """A config of `training_configs`, its vocabulary and its first batches."""
    path = ROOT / "training_configs" / f"{name}.jsonnet"
    config = json.loads(_jsonnet.evaluate_file(str(path), import_callback=find_import))
    with contextlib.chdir(ROOT):
        settings = {**config["dataset_reader"], "max_instances": ROWS * (num_batches + 1)}
        reader = DatasetReader.from_params(Params(settings))
        loader_settings = {**config["data_loader"], "batch_size": ROWS}
        loader_settings.pop("batch_sampler", None)
        loader = DataLoader.from_params(Params(loader_settings), reader=reader, data_path=config["train_data_path"])
        vocab = Vocabulary.from_params(Params(config.get("vocabulary", {})), instances=loader.iter_instances())
        loader.index_with(vocab)
        return config, vocab, list(islice(loader, num_batches))


def sample_trainer(name: str, num_batches: int) -> tuple[Any, int]:
    """The trainer of a config over its first batches, with both players in every step; and how many batches."""
    config, vocab, batches = sample(name, num_batches)
    model = bench_base.build_model(config["model"], vocab)
    settings = {key: value for key, value in config["trainer"].items() if key not in ("phases", "folds", "patience")}
    return bench_base.build_trainer(settings, model, Batches(batches)), len(batches)


# Agreement.


def relative_difference(here: torch.Tensor, there: torch.Tensor) -> float:
    """The norm of the difference over that of `here`, in double precision on the CPU."""
    here, there = (values.detach().cpu().double().flatten() for values in (here, there))
    size = float(here.norm())
    return float((there - here).norm()) / (size or 1.0)


def differences(quantities: Callable[[torch.device], dict[str, torch.Tensor]]) -> dict[str, float]:
    """By name, how far the GPU's quantities are from the CPU's."""
    here, there = quantities(CPU), quantities(GPU)
    return {name: relative_difference(here[name], there[name]) for name in here}


def chain_quantities() -> dict[str, float]:
    """Of chains over tags: sums, their gradients, and the best sequences."""
    tags = ["O"] + [f"{prefix}-{number}" for number in range(20) for prefix in "BI"]
    vocab = Vocabulary(tokens_to_add={"tags": tags}, non_padded_namespaces=["tags"])
    found = {}
    for name, kind in (("legal", LegalTagSequence), ("crf", CrfTagSequence)):
        torch.manual_seed(0)
        logits = 2 * torch.randn(16, 30, len(tags))
        mask = torch.arange(30) < torch.randint(5, 31, (16, 1))
        space = kind(vocab, encoding="BIO")
        for parameter in space.parameters():
            torch.nn.init.normal_(parameter)
        draws = space.sample(logits, 5, mask)

        def quantities(device: torch.device, space: Any = space, draws: torch.Tensor = draws) -> dict[str, Any]:
            space.to(device)
            scores, real = logits.to(device).requires_grad_(), mask.to(device)
            loss = space.cross_entropy(scores, draws[:, 0].to(device), real)
            marginals = space.relax(scores, real)
            best, values = space.k_best(scores.detach(), 5, real)
            return {
                "cross-entropy": loss,
                "its gradient": torch.autograd.grad(loss.sum(), scores)[0],
                "marginals": marginals,
                "their gradient": torch.autograd.grad(marginals.square().sum(), scores)[0],
                "log-probabilities of draws": space.log_prob(scores, draws.to(device), real),
                "the best tags": space.decode(scores, real) + 1,
                "the 5 best sequences": best + 1,
                "their log-probabilities": values,
            }

        for what, difference in differences(quantities).items():
            found[f"{name} chain, {what}"] = difference
        with torch.no_grad():
            scores, real = logits.to(GPU), mask.to(GPU)
            many = space.sample(scores, 10_000, real)
            shares = torch.stack([(many == tag).double().mean(dim=1) for tag in range(len(tags))], dim=-1)
            marginals = space.relax(scores, real)
            found[f"{name} chain, shares of 10,000 draws, of marginals"] = relative_difference(
                marginals, shares * real.unsqueeze(2)
            )
    return found


def model_quantities(name: str) -> dict[str, float]:
    """Of a config's model on a batch: outputs, both players' losses on the same candidates, and their gradients."""
    config, vocab, (batch, *_) = sample(name, 1)
    model = bench_base.build_model(config["model"], vocab).eval()
    model.requires_grad_()
    state = model.state_of_all_nets(**batch)
    candidates = None if model.loss_net is None else model.sample(state)

    def quantities(device: torch.device) -> dict[str, Any]:
        model.to(device)
        # An LSTM of cuDNN has no backward pass in evaluation mode.
        with torch.backends.cudnn.flags(enabled=False):
            state = model.state_of_all_nets(**move_to_device(batch, device))
            features = None if model.loss_net is None else model.frozen_features(state)
            loss = model.task_net_loss(state, features)
            found = {"outputs": state.logits, "the task-net's loss": loss}
            found["its gradient"] = _gradient(loss, model.task_net_parameters())
            if candidates is not None:
                state = replace(state, logits=state.logits.detach(), hidden=_constant(state.hidden))
                loss = model.loss_net_loss(state, type(candidates)(**move_to_device(vars(candidates), device)))
                found["the loss-net's loss"] = loss
                found["its gradient, by its parameters"] = _gradient(loss, model.loss_net_parameters())
        return found

    return {f"{name}, {what}": difference for what, difference in differences(quantities).items()}


def _constant(values: Any) -> Any:
    return values.detach() if isinstance(values, torch.Tensor) else values


def _gradient(loss: torch.Tensor, parameters: list[torch.nn.Parameter]) -> torch.Tensor:
    if not parameters:  # The energy alone predicts.
        return loss.new_zeros(1)
    found = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
    return torch.cat([values.flatten() for values in found if values is not None])


def solutions() -> dict[str, float]:
    """Of implicit gradients: products of the Hessian with a vector, and solutions of its system."""
    config, vocab, (batch, *_) = sample("multilabel_implicit_cd", 1)
    model = bench_base.build_model(config["model"], vocab)
    torch.manual_seed(0)
    size = sum(parameter.numel() for parameter in model.task_net_parameters())
    vector = torch.randn(size)

    def quantities(device: torch.device) -> dict[str, Any]:
        model.to(device)
        there = move_to_device(batch, device)
        theirs = {id(parameter) for parameter in model.task_net_parameters()}
        inner = {name: value for name, value in model.named_parameters() if id(value) in theirs}
        layout = ParameterLayout(inner)
        products = loss_products(lambda: model.joint_loss(there), layout)
        curvature = Curvature(products.hessian, layout.size, layout.dtype, layout.device)
        found = {"product": products.hessian(vector.to(device))}
        for kind in ("neumann", "conjugate_gradient", "minres"):
            solver = InverseHessianVector.from_params(Params({"type": kind, "max_steps": 5, "damping": 0.1}))
            found[f"5 steps of {kind}"] = solver.solve(curvature, vector.to(device)).solution
        return found

    return {f"implicit gradient, {what}": value for what, value in differences(quantities).items()}


# Synchronisations.


@contextlib.contextmanager
def counted_synchronisations() -> Iterator[Counter]:
    """By place in the code of seal or AllenNLP, or else of the caller: how often the program waited for the GPU."""
    places: Counter = Counter()

    def count(message: Any, *others: Any, **options: Any) -> None:
        if "synchroniz" in str(message):
            places[_place(traceback.extract_stack())] += 1

    shown = warnings.showwarning
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = count
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield places
        finally:
            torch.cuda.set_sync_debug_mode("default")
            warnings.showwarning = shown


def _place(stack: traceback.StackSummary) -> str:
    for frame in reversed(stack):
        parts = Path(frame.filename).parts
        for package in ("seal", "allennlp", "transformers"):
            if package in parts and "measure" not in parts:
                last = len(parts) - 1 - parts[::-1].index(package)
                return f"{'/'.join(parts[last:])}: {frame.line}"
    return "elsewhere"


# Faster ways.


def with_tf32(allowed: bool, case: Callable[[], None]) -> Callable[[], None]:
    def run() -> None:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high" if allowed else "highest")
        try:
            case()
        finally:
            torch.set_float32_matmul_precision(before)

    return run


def compiled_cases() -> dict[str, Callable[[], Any]]:
    """What is worth compiling, each on inputs of one shape: forward, and backward where training has it."""
    rows, draws, tokens, labels = 32, 20, 40, 65
    tags = ["O"] + [f"{prefix}-{number}" for number in range(labels) for prefix in "BI"]
    vocab = Vocabulary(tokens_to_add={"tags": tags}, non_padded_namespaces=["tags"])
    space = CrfTagSequence(vocab, encoding="BIO").to(GPU)
    torch.manual_seed(0)
    logits = torch.randn(rows, tokens, len(tags), device=GPU)
    mask = torch.ones(rows, tokens, dtype=torch.bool, device=GPU)
    gold = space.sample(logits, 1, mask)[:, 0]
    energy = SelfAttentionEnergy(1, space, hidden_dim=256, pooling="sum").to(GPU)
    candidates = space.sample(logits, draws + 1, mask)
    relaxed_outputs = space.relax(logits, mask).detach().unsqueeze(1)

    def cross_entropy() -> None:
        scores = logits.detach().requires_grad_()
        space.cross_entropy(scores, gold, mask).sum().backward()

    def marginals() -> None:
        scores = logits.detach().requires_grad_()
        space.relax(scores, mask).square().sum().backward()

    @torch.no_grad()
    def sampled() -> None:
        space.sample(logits, draws, mask)

    def energies() -> None:
        energy(None, candidates, mask).square().sum().backward()

    def relaxed_energies() -> None:
        outputs = relaxed_outputs.detach().requires_grad_()
        energy(None, outputs, mask).sum().backward()

    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    encoder = BertModel(config, add_pooling_layer=False).to(GPU)
    pieces = torch.randint(1000, 30_000, (rows, tokens), device=GPU)
    real = torch.ones_like(pieces)

    def encoded() -> None:
        encoder(pieces, attention_mask=real).last_hidden_state.square().mean().backward()

    return {
        "transformer and its gradient": encoded,
        "energy of draws and its gradient": energies,
        "energy of a relaxed output and its gradient": relaxed_energies,
        "chain, cross-entropy and its gradient": cross_entropy,
        "chain, marginals and their gradient": marginals,
        "chain, draws": sampled,
    }


def repeated(work: Callable[[], Any], times: int) -> Callable[[], None]:
    def repeat() -> None:
        for _ in range(times):
            work()

    return repeat
