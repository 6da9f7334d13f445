"""
Writes `docs/settings.md`: every setting of the configs' libraries, by the argument of `experiment` that it belongs to,
with its defaults in each task.

    python scripts/upkeep/settings_table.py
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from scripts.measure.configs import library_value
from scripts.measure.suite import LIBRARY_FOLDER
from seal.cli.library_calls import functions

PAGE = ROOT / "docs" / "settings.md"
#: The files of `training_configs/lib` whose functions are the tasks' methods and encoders. A name that two of them have
#: is that of the last.
METHODS = {
    "srl": ["methods", "srl"],
    "tagging": ["methods", "tagging_methods"],
    "text": ["methods", "text"],
    "citations": ["methods", "tagging_methods", "citation_tagging"],
    "parsing": ["methods", "tagging_methods", "parsing"],
}
#: The value of `shared` in each task that has other than `false`: whether the loss-net reads the task-net's vectors.
SHARED = {"parsing": "true"}
ENCODERS = ("srl", "tagging", "text", "parsing")
TABLES = ("multilabel", "segmentation")
#: What each setting is.
MEANING = {
    "activation": "the activation of the task-net",
    "adapters": "`null`: full fine-tuning; or adapters, `{}` or `{ dim: 64, placement: 'houlsby' }`",
    "adversarial_steps": "steps from gold towards the worst error",
    "anchors": "whether a regression energy is also fitted at gold and, of masks, at outputs with patches of noise",
    "average_weights": "the decay of the average of the weights, which is validated and kept; `null`: none",
    "batch_size": "inputs a batch",
    "batches_per_epoch": "batches after which an epoch ends (of citations: one of labelled references); `null`: all",
    "channels": "channels at the size of the image",
    "characters": "filters of each of the two widths of a character network; 0: none",
    "checkpoint": "whether training keeps less of each step of an unrolled descent, and computes it again",
    "cost": "the cost of an output, by its registered name",
    "crops": "whether nets are trained on random crops, and predict by averaging over crops",
    "crops_per_side": "crops along a side in prediction",
    "damping": "what is added to the curvature in the implicit gradient",
    "decoder_dim": "the size of the decoder of trees",
    "depth": "coupling steps at each level",
    "dropout": "the share of features that are dropped in training",
    "energy_loss": "an energy loss, of yours or registered",
    "energy_weight": "the weight of the energy in the task loss",
    "entropy_weight": "the weight of the output's entropy in the energy that a net descends",
    "epochs": "passes over the training data",
    "features": "the sizes of feature columns, by name",
    "filters": "filters of each width of a convolutional network",
    "fine_tune_epochs": "last epochs, in which the energy alone trains the task-net; `null`: 3, or a third of all",
    "flips": "changed words in a round of the search by rewards",
    "folds": "nets whose scores of what they have not seen the structure is learned on",
    "folds_with_loss_net": "whether these nets are trained with a loss-net, too, where the method has one",
    "fraction": "the part of the training sentences that is used, always the same ones",
    "fresh_batches": "whether each of the `steps` takes the next batch, where otherwise all take the same one",
    "frozen": "whether the transformer's weights are fixed",
    "grad_norm": "gradients are scaled down to this norm; `null`: never",
    "hard": "whether self-training learns from the best output alone, and not from draws",
    "head_lr": "the learning rate above the encoders; `null`: as below; `'encoder'`: as it needs",
    "hidden": "the size of a direction of the LSTM",
    "hidden_dim": "the size of a hidden layer",
    "inference_optimizer": "the optimizer of gradient-based inference",
    "inference_steps": "steps of gradient-based inference",
    "inputs": "what the net of the papers' entities reads: `'NER'`, `'NER+'` or `'NER++'`",
    "interleaved": "whether all updates of the loss-net are repeated before each of the task-net",
    "labelled_share": "the share of instances with gold in an epoch of the student",
    "last_layer": "whether the implicit gradient passes through the last layer alone",
    "layers": "layers of the LSTM",
    "levels": "how often the image is halved",
    "log_space": "whether repeated roles are priced in the log-space form of Li et al. (2020)",
    "loss_net_activation": "the activation of the energy",
    "loss_net_dropout": "the dropout of the energy",
    "loss_net_epochs": "epochs of a static method's loss-net, before the task-net's",
    "loss_net_from": "the archive or folder of an earlier run, whose loss-net is taken",
    "loss_net_lr": "the learning rate of the loss-net; `'encoder'`: as that needs",
    "loss_net_optimizer": "the optimizer of the loss-net, with its settings",
    "loss_net_steps": "updates of the loss-net a batch",
    "map_lr": "the learning rate of the map of `compound_stacked`; `null`: as above the encoder",
    "max_length": "words or wordpieces that are read",
    "metric": "the validation score that chooses the epoch, and for which a structure predicts (`model.score`)",
    "mirror": "whether images are mirrored in training",
    "model_name": "the transformer's name on the hub, or its folder",
    "momentum": "of an unrolled descent, before it is learned",
    "next_word": "whether the decoder of trees reads the next word's vector beside what attention finds",
    "noise": "the deviation of the noise on the task-net's output, in units of logits",
    "noise_space": "whether the noise is on logits (`'logit'`) or on outputs (`'clip'`)",
    "noise_width": "the width of the noise, in pixels",
    "num_fields": "smooth fields of noise that correlated draws share",
    "num_labelled": "labelled references a batch",
    "num_layers": "layers of the network over the features",
    "num_samples": "candidates that the sampler draws for an input",
    "num_unlabelled": "unlabelled references a batch",
    "over": "the method that trains the net below",
    "patience": "epochs without a better score after which training ends; `null`: never",
    "patterns": "rows of the matrix of the energy of all labels together",
    "perceptron_weight": "the weight of the loss without a margin; the papers' lambda",
    "pooling": "how the vectors of wordpieces become one",
    "predicate_dim": "the size of the mark of the predicate",
    "prediction_steps": "steps of the search that predicts; `null`: `inference_steps`",
    "cost_augmented_tau": "the weight of the cross-entropy of the map of `compound_stacked`; `null`: `tau`",
    "q": "the encoder of the map of `compound_stacked`; `null`: affine",
    "restarts": "random starts of the search that predicts",
    "roles": "the core roles that may occur once",
    "rounds": "rounds of the search by rewards",
    "sampler": "a sampler, of yours or registered",
    "scheduler": "the schedule of the learning rates; `null`: none; `'encoder'`: as it needs",
    "search_path": "whether a regression loss sees all points of the search, and gold",
    "seed": "of all random numbers",
    "sentence_share": "the part of the sentences that train the predicate finder in an epoch, each time others",
    "share_encoder": "whether the loss-net reads the task-net's vectors in place of those of an encoder of its own",
    "relative_damping": "what is added to the curvature in the implicit gradient, as a part of the largest that is met",
    "solver_steps": "steps of the solver of the implicit gradient",
    "step_size": "the step of gradient-based inference; of `spen_end_to_end` before it is learned",
    "steps": "updates of the networks a batch",
    "straight_through": "whether the energy sees the decoded output, with the gradient of the relaxed one",
    "structure": "the energy that chooses in prediction, of yours or registered",
    "task_loss": "further settings of the task loss",
    "task_net_epochs": "epochs of cross-entropy before an energy-only model",
    "task_net_from": "the archive or folder of an earlier run, whose task-net is taken",
    "task_net_lr": "the learning rate of the task-net; `'encoder'`: as it needs",
    "task_net_optimizer": "the optimizer of the task-net, with its settings",
    "task_net_steps": "updates of the task-net a batch",
    "symbol_dim": "the size of a symbol's embedding in the decoder of trees",
    "tau": "the weight of the cross-entropy",
    "through_draws": "whether the task-net follows the energy of whole outputs that are drawn from it",
    "trainable": "whether word vectors are trained",
    "truncation": "whether the networks' own loss has the hinge; of `spen_end_to_end`: the steps that gradients pass "
    "back through, `null`: all",
    "vector_words": "words of the file of vectors that are read",
    "vectors": "a text file of word vectors; `null`: random ones",
    "vocabulary_size": "the most frequent words that are known; `null`: all that occur twice",
    "warmup_epochs": "first epochs, in which cross-entropy alone trains the task-net; `null`, of a parser with a "
    "loss-net: half of all",
    "weight": "nats for each violation that is expected",
    "weight_decay": "of both nets' optimizers",
    "weights": "weights of the reward's rules that are not the defaults; of `spen_end_to_end`: how the steps count, "
    "`'late'` or `'equal'`",
    "width": "channels inside a coupling step",
    "word_dim": "the size of a word's vector",
    "word_dropout": "the share of words that are unknown in training",
}
#: A setting, the function that has it (or none), and its default as jsonnet; without one the default is empty.
Entry = tuple[str, str, str]
START = """\
# Settings

```sh
python scripts/reproduce.py --suite multilabel --methods cross_entropy,nce --seeds 1 \\
    --settings nce:energy_weight=3,task_net_lr=0.002 --out results/mine
```

What the arguments of an `experiment` can set, with the defaults. The names are the same in a config
(`method=srl.method.nce(energy_weight=3)`, `training={ task_net_lr: 0.002 }`) and in `scripts/reproduce.py --settings`,
where `energies` is a whole (`energies=srl.energies(hidden_dim=100)`). Of feature vectors,
`multilabel.method_for.<data set>` has others in place of the defaults: those of the papers. `seal components` lists
what the keys of a finished config can name, which `--overrides` and [a search](running.md#searching-settings) change.

This page is made by `python scripts/upkeep/settings_table.py`."""


def of_files(files: list[str], names: list[str], shared: str = "false") -> list[Entry]:
    signatures: dict[str, list[tuple[str, str]]] = {}
    for file in files:
        signatures.update(functions((LIBRARY_FOLDER / f"{file}.libsonnet").read_text(encoding="utf-8")))
    return [
        (name, function, shared if default == "shared" else default)
        for function in names
        for name, default in signatures[function]
    ]


def jsonnet(value: object) -> str:
    """A value as it stands in a config."""
    text = re.sub(r'"(\w+)": ', r"\1: ", json.dumps(value))
    return re.sub(r"\{(.+)\}", r"{ \1 }", text).replace('"', "'")


def _default(name: str, value: object) -> str:
    """Of a setting in a table of `TABLES`, where a method stands by its name."""
    return f"method.{value}()" if name == "over" else jsonnet(value)


def entries() -> dict[str, dict[str, list[Entry]]]:
    """By argument and task."""
    found: dict[str, dict[str, list[Entry]]] = {"method": {}, "encoder": {}, "training": {}, "energies": {}}
    for task, files in METHODS.items():
        library = "citation_tagging" if task == "citations" else task
        training = "lib.training" if task == "citations" else "lib.training.default"
        names, values = library_value(f"{library}.libsonnet", f"[std.objectFields(lib.method), {training}]")
        found["method"][task] = of_files(files, names, SHARED.get(task, "false"))
        found["training"][task] = [(name, "", jsonnet(value)) for name, value in values.items()]
    for task in ENCODERS:
        names = library_value(f"{task}.libsonnet", "std.objectFields(lib.encoder)")
        found["encoder"][task] = of_files([task], names)
    for task in TABLES:
        owners, base = library_value(f"{task}.libsonnet", "[lib.arguments, lib.method.cross_entropy().base]")
        for argument in found:
            if argument == "training":
                names = [name for name in base if not any(name in of for of in owners.values())]
            else:
                names = owners[argument]
            found[argument][task] = [(name, "", _default(name, base[name])) for name in names]
        own = of_files(["tensors"], ["own"])
        found["method"][task] += [
            (name, function, jsonnet(base[name]) if name in base else default) for name, function, default in own
        ]
        of_library = functions((LIBRARY_FOLDER / f"{task}.libsonnet").read_text(encoding="utf-8"))
        # Those of its arguments that no other encoder has.
        of_coupling = of_library.get("coupling", [])
        found["encoder"][task] += [(name, "coupling", of) for name, of in of_coupling if of != "method.unset"]
    return found


def described(by_task: dict[str, list[Entry]], setting: str) -> str:
    """The defaults of a setting, each with the tasks and functions that have it."""
    places: dict[str, dict[str, list[str]]] = {}
    for task, rows in by_task.items():
        for name, function, default in rows:
            if name == setting:
                of_task = places.setdefault(default, {}).setdefault(task, [])
                if function and function not in of_task:
                    of_task.append(function)
    cells = []
    for default, tasks in places.items():
        alike: dict[str, list[str]] = {}
        for task, of_task in tasks.items():
            alike.setdefault(", ".join(f"`{function}`" for function in of_task), []).append(task)
        where = "; ".join(", ".join(names) + (f": {of}" if of else "") for of, names in alike.items())
        cells.append((f"`{default}` in " if default else "to be set in ") + where)
    return "<br>".join(cells)


def page() -> str:
    lines = [START]
    for argument, by_task in entries().items():
        lines += [f"\n## `{argument}`\n", "| setting | what it is | default |\n|---|---|---|"]
        for setting in sorted({name for rows in by_task.values() for name, _, _ in rows}):
            lines.append(f"| `{setting}` | {MEANING[setting]} | {described(by_task, setting)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
