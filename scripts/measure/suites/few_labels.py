"""
Semantic role labelling from a part of the sample's labels (`--fraction`), with the sentences of the rest as inputs
without gold. Training is counted in updates, 100 an epoch, and a fourth of the words is dropped in all methods.
"""

from functools import partial

from scripts.measure.configs import call, text, with_overrides
from scripts.measure.suite import Method, Settings, Suite
from scripts.measure.suites.srl import COMMON, data, labels

METHODS = {
    "cross_entropy": ("cross-entropy", "srl.method.cross_entropy()"),
    "crf": ("CRF", "srl.method.crf()"),
    "crf_twice": ("CRF, twice the updates", "srl.method.crf()"),
    "crf_five_times": ("CRF, five times the updates", "srl.method.crf()"),
    "seal": ("SEAL: structure on the CRF", "srl.method.seal()"),
    "self_training_crf": ("self-training, CRF", "srl.method.self_training(over=srl.method.crf())"),
    "self_training_crf_hard": (
        "self-training, CRF, hard", "srl.method.self_training(over=srl.method.crf(), hard=true)"
    ),
    "self_training": ("self-training, SEAL", "srl.method.self_training()"),
    "self_training_hard": ("self-training, SEAL, hard", "srl.method.self_training(hard=true)"),
}
#: The methods that have more updates than the others: so many times.
TIMES = {"crf_twice": 2, "crf_five_times": 5}


def experiment(name: str, settings: Settings) -> str:
    """
    A student has as many updates as its teacher, so that self-training has as many as the CRF with twice as many; with
    the three folds of a structure it has as many as the CRF with five times as many.
    """
    epochs = settings.epochs * TIMES.get(name, 1)
    config = f"local srl = import {text(settings.library + '/srl.libsonnet')};\n\n" + call(
        "srl.experiment",
        {
            "data": "srl.data.sample { unlabelled: srl.data.sample.train }",
            "encoder": "srl.encoder.bilstm(word_dropout=0.25)",
            "method": METHODS[name][1],
            "training": f"srl.training.sample {{ epochs: {epochs}, batches_per_epoch: 100, "
            f"fraction: {settings.fraction!r}, seed: {settings.seed} }}",
        },
    )
    # A part of the sentences may lack labels of dev or test.
    return with_overrides(config, {"vocabulary.tokens_to_add": {"srl_tags": labels("sample")}})


SUITES = [
    Suite(
        name="few_labels",
        dataset="sample",
        title="semantic role labelling from few labels, made-up sample, BiLSTM",
        methods={name: Method(title, partial(experiment, name)) for name, (title, _) in METHODS.items()},
        data=partial(data, "sample"),
        epochs=16,
        baseline="crf",
        **COMMON,
    )
]
