"""
Each patch for current libraries, beside what AllenNLP does without it.

Where the original function can be called (`__wrapped__`), a test also shows that it still fails: when one of
those assertions breaks, the patch can go.
"""

import importlib
import io
import json
import pkgutil
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common import params as params_module
from allennlp.common.util import import_module_and_submodules
from allennlp.data.tokenizers import PretrainedTransformerTokenizer
from allennlp.models import model as model_module
from allennlp.models.archival import load_archive
from allennlp.modules.seq2vec_encoders import CnnEncoder
from allennlp.training.callbacks.log_writer import LogWriterCallback
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.metric_tracker import MetricTracker
from allennlp.training.momentum_schedulers import MomentumScheduler
from allennlp.training.optimizers import Optimizer

from seal import allennlp as patches
from seal.allennlp import compat
from tests.stock_tagger import TAGGED, experiment


@pytest.fixture
def tiny_bert(tmp_path: Path) -> str:
    """A folder that transformers takes for a (weightless) BERT."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "the", "dog", "run", "##s", "1", "2"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "vocab_size": len(words)}))
    return str(tmp_path)


@pytest.mark.parametrize("use_fast", [True, False])
@pytest.mark.parametrize("add_special_tokens", [True, False])
def test_pretrained_tokenizer_adds_special_tokens_where_asked(tiny_bert, add_special_tokens, use_fast):
    tokenizer = PretrainedTransformerTokenizer(
        tiny_bert, add_special_tokens=add_special_tokens, tokenizer_kwargs={"use_fast": use_fast}
    )
    words = [token.text for token in tokenizer.tokenize("the dog runs")]
    content = ["the", "dog", "run", "##s"]
    assert words == (["[CLS]", *content, "[SEP]"] if add_special_tokens else content)
    # AllenNLP infers these from two tokenizers, one that it asks for with special tokens and one without.
    assert [t.text for t in tokenizer.single_sequence_start_tokens] == ["[CLS]"]
    assert [t.text for t in tokenizer.sequence_pair_mid_tokens] == ["[SEP]"]
    assert tokenizer.num_special_tokens_for_pair() == 3
    assert tokenizer.sequence_pair_second_token_type_id == 1


OPTIMIZER_OPTIONS = {
    "sgd": {"lr": 0.1},
    "multi": {
        "optimizers": {"default": {"type": "sgd", "lr": 0.1}, "special": {"type": "adam"}},
        "parameter_groups": [[["bias"], {"optimizer_name": "special"}]],
    },
}


def _of_allennlp(base):
    """The names that AllenNLP itself registers; those of seal have their own tests."""
    names = base.list_available()
    return [name for name in names if base.resolve_class_name(name)[0].__module__.startswith("allennlp.")]


@pytest.mark.parametrize("name", _of_allennlp(Optimizer))
@pytest.mark.filterwarnings("ignore:This implementation of AdamW is deprecated:FutureWarning")
def test_every_optimizer_of_allennlp_steps_and_saves(name):
    layer = torch.nn.Embedding(3, 2, sparse=True) if name == "sparse_adam" else torch.nn.Linear(3, 2)
    optimizer = Optimizer.from_params(
        Params({"type": name, **OPTIMIZER_OPTIONS.get(name, {})}),
        model_parameters=list(layer.named_parameters()),
    )
    before = layer.weight.detach().clone()
    layer(torch.tensor([1, 2]) if name == "sparse_adam" else torch.ones(1, 3)).sum().backward()
    optimizer.step()
    assert not torch.equal(before, layer.weight)
    optimizer.load_state_dict(_saved_and_loaded(optimizer.state_dict()))


SCHEDULER_OPTIONS = {
    "step": {"step_size": 1},
    "multi_step": {"milestones": [1]},
    "exponential": {"gamma": 0.9},
    "reduce_on_plateau": {"mode": "max", "patience": 0, "factor": 0.5},
    "noam": {"model_size": 4, "warmup_steps": 2},
    "cosine": {"t_initial": 2},
    "constant_with_warmup": {"num_warmup_steps": 1},
    "cosine_with_warmup": {"num_warmup_steps": 1, "num_training_steps": 3},
    "cosine_hard_restarts_with_warmup": {"num_warmup_steps": 1, "num_training_steps": 3},
    "inverted_triangular": {"cool_down": 1, "warm_up": 1},
    "combined": {
        "schedulers": [[1, {"type": "step", "step_size": 1}], [1, {"type": "exponential", "gamma": 0.9}]],
        "num_steps_per_epoch": 2,
    },
    **{
        name: {"num_epochs": 2, "num_steps_per_epoch": 2}
        for name in ("slanted_triangular", "linear_with_warmup", "polynomial_decay")
    },
}


def _saved_and_loaded(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file)


@pytest.mark.parametrize(
    "base, name",
    [(base, name) for base in (LearningRateScheduler, MomentumScheduler) for name in _of_allennlp(base)],
)
def test_every_scheduler_of_allennlp_steps_and_saves(base, name):
    layer = torch.nn.Linear(3, 2)
    optimizer = Optimizer.from_params(
        Params({"type": "sgd", "lr": 0.1, "momentum": 0.9}), model_parameters=list(layer.named_parameters())
    )
    scheduler = base.from_params(Params({"type": name, **SCHEDULER_OPTIONS.get(name, {})}), optimizer=optimizer)
    for epoch in range(2):
        for batch in range(2):
            layer(torch.ones(1, 3)).sum().backward()
            optimizer.step()
            scheduler.step_batch(2 * epoch + batch + 1)
        scheduler.step(0.5)
    scheduler.load_state_dict(_saved_and_loaded(scheduler.state_dict()))


def test_plateau_scheduler_halves_the_rate_when_the_metric_stands_still(caplog):
    optimizer = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=0.8)
    scheduler = LearningRateScheduler.from_params(
        Params({"type": "reduce_on_plateau", "verbose": True, **SCHEDULER_OPTIONS["reduce_on_plateau"]}),
        optimizer=optimizer,
    )
    rates = []
    for metric in (0.1, 0.2, 0.2, 0.2, 0.3):
        scheduler.step(metric)
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == [0.8, 0.8, 0.4, 0.2, 0.2]
    assert "no effect" in caplog.text


def test_numpy_metrics_do_not_enter_the_training_state():
    tracker = MetricTracker("+f1")
    tracker.add_metrics({"f1": numpy.float64(0.25)})
    tracker.best_epoch_metrics = {"f1": numpy.float32(0.25), "rates": [numpy.int64(3), torch.tensor(0.5)]}

    with pytest.raises(Exception, match="[Ww]eights.only"):
        _saved_and_loaded(MetricTracker.state_dict.__wrapped__(tracker))
    state = _saved_and_loaded(tracker.state_dict())

    assert state["best_epoch_metrics"] == {"f1": 0.25, "rates": [3, 0.5]}
    restored = MetricTracker("+f1")
    restored.load_state_dict(state)
    restored.add_metrics({"f1": 0.2})
    assert not restored.is_best_so_far()


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    path = tmp_path / "train.tsv"
    path.write_text(TAGGED, encoding="utf-8")
    return path


def test_training_recovers_and_its_archive_loads(tagged, tmp_path, allennlp_logging):
    plateau = {"learning_rate_scheduler": {"type": "reduce_on_plateau", "mode": "max"}}
    run = tmp_path / "run"
    config = experiment(tagged, validation_metric="+accuracy", num_epochs=2, **plateau)
    train_model(config.duplicate(), str(run))
    # As after a crash in the second epoch.
    for file in run.glob("*_state_e2_b0.th"):
        file.unlink()

    model = train_model(config.duplicate(), str(run), recover=True)

    assert (run / "training_state_e2_b0.th").is_file()
    loaded = load_archive(run / "model.tar.gz").model
    assert set(loaded.state_dict()) == set(model.state_dict())


def test_wandb_callback_starts_a_run(tagged, tmp_path, monkeypatch, allennlp_logging):
    import wandb

    monkeypatch.setenv("WANDB_MODE", "disabled")
    started = []
    real = wandb.init
    monkeypatch.setattr(wandb, "init", lambda **options: started.append(options) or real(**options))

    train_model(experiment(tagged, callbacks=["tensorboard", "wandb"]), str(tmp_path / "run"))

    assert len(started) == 1 and started[0]["id"] and "anonymous" not in started[0]
    assert list((tmp_path / "run" / "log" / "train").iterdir())


def test_known_warnings_are_hidden_and_no_others():
    trainer = "allennlp.training.gradient_descent_trainer"
    known = [
        ("`torch.cuda.amp.autocast(args...)` is deprecated. Please", trainer),
        ("`torch.cuda.amp.GradScaler(args...)` is deprecated.", "allennlp.nn.parallel.ddp_accelerator"),
    ]
    unknown = [
        ("`torch.cuda.amp.autocast(args...)` is deprecated. Please", "somebody.elses.module"),
        ("another warning", trainer),
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        warnings.simplefilter("always")
        compat.silence_known_warnings()
        for message, module in known + unknown:
            warnings.warn_explicit(message, FutureWarning, "file.py", 1, module=module)
    assert [str(w.message) for w in caught] == [message for message, _ in unknown]


def test_pretrained_files_in_lists_are_forgotten():
    for module in (params_module, model_module):
        terms = [{"type": "t", "pretrained_file": "c"}, "text", [1]]
        params = Params({"pretrained_file": "a", "kept": 1, "net": {"pretrained_file": "b", "terms": terms}})
        module.remove_keys_from_params(params)
        assert params.as_dict() == {"kept": 1, "net": {"terms": [{"type": "t"}, "text", [1]]}}


def test_features_of_short_texts_in_mixed_precision():
    torch.manual_seed(0)
    encoder = CnnEncoder(embedding_dim=3, num_filters=4, ngram_filter_sizes=(2, 3))
    tokens, mask = torch.randn(2, 4, 3), torch.tensor([[True, False, False, False], [True] * 4])
    wanted = encoder(tokens, mask)
    assert not wanted[0].any() and wanted[1].any()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = encoder(tokens.bfloat16(), mask)
        assert encoder.forward.__wrapped__(encoder, tokens.bfloat16(), mask).min() < -1e30
    assert found.dtype == torch.float and torch.allclose(found, wanted, atol=0.02)
    assert encoder.double()(tokens.double(), mask).dtype == torch.double


def test_every_patch_says_what_it_patches_and_when_it_can_go():
    names = [module.name for module in pkgutil.iter_modules(patches.__path__)]
    modules = {name: importlib.import_module(f"seal.allennlp.{name}") for name in names}
    assert sorted(patches.IN_ORDER) == sorted(name for name in names if hasattr(modules[name], "PATCHES"))
    made = [patch for name in patches.IN_ORDER for patch in modules[name].PATCHES]
    assert len(made) <= 15
    for patch in made:
        for part in ("Patches:", "Symptom:", "Can go:"):
            assert part in patch.__doc__, f"{patch.__name__} does not say '{part}'"


def test_a_library_that_is_not_there_is_sought_once(monkeypatch):
    sought = []

    def find_spec(name, path=None, target=None):
        sought.append(name)

    monkeypatch.setattr(sys, "meta_path", [SimpleNamespace(find_spec=find_spec)])  # Nothing is found.
    monkeypatch.delitem(sys.modules, "checklist")
    import_module_and_submodules("seal.structure")
    assert sought.count("checklist") > 10
    sought.clear()
    compat.find_submodules_without_importing()
    import_module_and_submodules("seal.structure")
    assert sought.count("checklist") == 1 and sys.modules["checklist"] is None


@pytest.mark.parametrize("interval", [1, 2])
def test_distributions_are_logged_from_the_first_batch(tagged, tmp_path, interval, monkeypatch):
    callback = {"type": "tensorboard", "summary_interval": 1, "distribution_interval": interval}
    config = experiment(tagged, callbacks=[callback])
    train_model(config.duplicate(), str(tmp_path / "run"))
    assert list((tmp_path / "run" / "log" / "train").iterdir())
    if interval == 1:
        monkeypatch.setattr(LogWriterCallback, "on_start", LogWriterCallback.on_start.__wrapped__)
        with pytest.raises(AssertionError):
            train_model(config, str(tmp_path / "without_the_patch"))
