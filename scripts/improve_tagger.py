"""Measure what `StructuredTagger` adds to token classifiers that were trained without this package."""

import argparse
import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.measure.command import at_least_one, check_folder, exit_status, make_folder
from scripts.measure.files import read_json, write_json, write_text
from scripts.measure.suite import UserError

NETS = {"bert": "BERT, small, from a config", "lstm": "BiLSTM"}
#: The page whose table is written, between these lines.
PAGE = Path(__file__).resolve().parents[1] / "docs" / "taggers.md"
START, END = "<!-- measured: written by scripts/improve_tagger.py -->", "<!-- end -->"
EPILOG = """\
The data are frames of semantic roles, in CoNLL-2012 columns: train, dev and test.gold_conll or, where there is no
test, the end of train for dev and dev for test. The net is a token classifier in plain PyTorch (and transformers),
trained by cross-entropy for a fixed number of epochs: three times without a fold, and once on all. The energy is
learned from the folds' emissions; dev chooses the decision; test is predicted once. p: paired bootstrap over its
frames, against the net's best legal sequences.

The same command goes on where a stopped one was. Writes to DIR the emissions of folds and a result for each seed; with
--page also the table in docs/taggers.md.

example:
  python scripts/improve_tagger.py --net lstm --out results/improve_tagger
"""


class Frame(NamedTuple):
    """A sentence, one of its predicates, and the BIO tags of its roles."""

    words: list[str]
    predicate: int
    tags: list[str]


def parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=style)
    add = result.add_argument
    add("--net", choices=NETS, default="bert", help="(default: %(default)s)")
    add("--data", type=Path, metavar="DIR", default=Path("data/ewt_propbank_srl"), help="(default: %(default)s)")
    add("--longest", type=int, default=20, help="words of a sentence; longer ones are left out (default: %(default)s)")
    add("--frames", type=int, default=6000, help="to learn from, the first ones (default: %(default)s)")
    add("--valid-frames", type=int, default=2000, help="to choose by, the last ones (default: %(default)s)")
    add("--epochs", type=int, default=6, help="(default: %(default)s)")
    add("--seeds", type=int, default=1, help="(default: %(default)s)")
    add("--out", type=Path, metavar="DIR", default=Path("results/improve_tagger"), help="(default: %(default)s)")
    add("--page", action="store_true", help="write the table into docs/taggers.md")
    return result


def read_frames(path: Path, longest: int) -> list[Frame]:
    """
    The frames of a file in CoNLL-2012 columns, where a predicate's roles have a column, of sentences of at most so many
    words.
    """
    from seal.tasks.srl.data_files import read_srl_sentences

    if not path.is_file():
        raise UserError(f"--data: there is no file {path}.")
    return [
        Frame(sentence.words, frame.predicate, frame.tags)
        for sentence in read_srl_sentences(str(path))
        if len(sentence.words) <= longest
        for frame in sentence.frames
        if "B-V" in frame.tags
    ]


def read_parts(arguments: argparse.Namespace) -> tuple[list[Frame], list[Frame], list[Frame]]:
    """The frames to learn from, to choose by and to test."""
    train, *others = (
        read_frames(arguments.data / f"{name}.gold_conll", arguments.longest)
        for name in ("train", "dev", "test")
        if name != "test" or (arguments.data / "test.gold_conll").exists()
    )
    if len(others) == 2:
        return train[: arguments.frames], others[0], others[1]
    if len(train) < arguments.frames + arguments.valid_frames:
        raise UserError(f"--frames: train.gold_conll has {len(train)} frames, too few for both parts.")
    return train[: arguments.frames], train[-arguments.valid_frames :], others[0]


class Net:
    """
    A token classifier in plain PyTorch.

    `kind`: of `NETS`. `frames`: to train on; words that they have twice are known.
    """

    def __init__(self, kind: str, frames: Sequence[Frame], labels: Sequence[str], seed: int, epochs: int) -> None:
        import torch

        torch.manual_seed(seed)
        counts = Counter(word.lower() for frame in frames for word in frame.words)
        self._known = {word: number + 2 for number, (word, count) in enumerate(counts.items()) if count > 1}
        self._module = _module(kind, max(self._known.values(), default=1) + 1, len(labels))
        self._train(frames, {label: number for number, label in enumerate(labels)}, epochs)

    def _batch(self, frames: Sequence[Frame]) -> dict[str, Any]:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        words = [torch.tensor([self._known.get(word.lower(), 1) for word in frame.words]) for frame in frames]
        marked = [torch.tensor([int(at == frame.predicate) for at in range(len(frame.words))]) for frame in frames]
        ids = pad_sequence(words, batch_first=True)
        return {"input_ids": ids, "attention_mask": (ids > 0).long(), "token_type_ids": pad_sequence(marked, True)}

    def _train(self, frames: Sequence[Frame], index: dict[str, int], epochs: int) -> None:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        optimizer = torch.optim.AdamW(self._module.parameters(), lr=1e-3, weight_decay=0.01)
        steps = epochs * ((len(frames) + 31) // 32)
        # A tenth of the steps upwards, and down to 0.
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min((step + 1) / (0.1 * steps), (steps - step) / (0.9 * steps), 1.0)
        )
        for _ in range(epochs):
            # Neighbours in length, in another order each time.
            noisy = torch.tensor([float(len(frame.words)) for frame in frames]) + 4 * torch.rand(len(frames))
            groups = noisy.argsort().split(32)
            for place in torch.randperm(len(groups)).tolist():
                some = [frames[row] for row in groups[place].tolist()]
                gold = [torch.tensor([index[tag] for tag in frame.tags]) for frame in some]
                labels = pad_sequence(gold, batch_first=True, padding_value=-100)
                logits = self._module(**self._batch(some)).logits
                loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self._module.parameters(), 1.0)
                optimizer.step()
                schedule.step()

    def emissions(self, frames: Sequence[Frame]) -> list[Any]:
        """`(tokens, tags)` of each frame."""
        import torch

        self._module.eval()
        found: list[Any] = [None] * len(frames)
        order = sorted(range(len(frames)), key=lambda place: len(frames[place].words))
        with torch.no_grad():
            for start in range(0, len(order), 64):
                places = order[start : start + 64]
                logits = self._module(**self._batch([frames[place] for place in places])).logits
                for place, rows in zip(places, logits):
                    found[place] = rows[: len(frames[place].words)]
        return found


def _module(kind: str, words: int, labels: int) -> Any:
    if kind == "bert":
        from transformers import BertConfig, BertForTokenClassification

        config = BertConfig(
            vocab_size=words,
            hidden_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=256,
            max_position_embeddings=256,
            num_labels=labels,
        )
        return BertForTokenClassification(config)
    from types import SimpleNamespace

    import torch
    from torch import nn

    class Lstm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.marks = nn.Embedding(words, 100, padding_idx=0), nn.Embedding(2, 28)
            self.dropout = nn.Dropout(0.3)
            self.lstm = nn.LSTM(128, 96, num_layers=2, dropout=0.3, bidirectional=True, batch_first=True)
            self.last = nn.Linear(192, labels)

        def forward(self, input_ids, attention_mask, token_type_ids):
            inputs = torch.cat([self.words(input_ids), self.marks(token_type_ids)], dim=2)
            packed = nn.utils.rnn.pack_padded_sequence(
                self.dropout(inputs), attention_mask.sum(dim=1), batch_first=True, enforce_sorted=False
            )
            states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
            return SimpleNamespace(logits=self.last(self.dropout(states)))

    return Lstm()


def counts_of(predicted: Sequence[Sequence[str]], frames: Sequence[Frame]) -> list[list[int]]:
    """For each frame: whether all its arguments are right, 1, and its correct, predicted and gold arguments."""
    from seal.common.tag_encodings import arguments_of, tags_to_spans

    rows = []
    for tags, frame in zip(predicted, frames):
        found, gold = (set(arguments_of(tags_to_spans(each))) for each in (tags, frame.tags))
        rows.append([int(found == gold), 1, len(found & gold), len(found), len(gold)])
    return rows


def measure(arguments: argparse.Namespace, seed: int, folder: Path) -> dict[str, Any]:
    """The counts of each test frame by each system, with what was learned, by one seed."""
    import time

    import torch

    from seal.tagger import StructuredTagger, cross_fit

    torch.set_num_threads(1)
    frames, valid, test = read_parts(arguments)
    labels = sorted({tag for frame in frames for tag in frame.tags})

    def train(seen: list[Frame], unseen: list[Frame]) -> list[Any]:
        return Net(arguments.net, seen, labels, seed, arguments.epochs).emissions(unseen)

    # The frames of a sentence are in one fold: the input of a tuple is its first part.
    held_out = cross_fit(train, frames, folder=folder / "folds", seed=seed)
    chosen_by, of_test = _final(lambda: Net(arguments.net, frames, labels, seed, arguments.epochs), valid, test, folder)
    known = [place for place, frame in enumerate(valid) if set(frame.tags) <= set(labels)]
    seen = [valid[place] for place in known]
    told = {"emissions": [chosen_by[place] for place in known], "gold": [frame.tags for frame in seen], **_sees(seen)}
    started = time.process_time()
    tagger = StructuredTagger(labels).fit(held_out, [frame.tags for frame in frames], valid=told, **_sees(frames))
    seconds = time.process_time() - started
    systems = {
        "argmax": [[labels[tag] for tag in rows.argmax(dim=1).tolist()] for rows in of_test],
        "own": tagger.predict(of_test, own=True, **_sees(test)),
        "f1": tagger.predict(of_test, **_sees(test)),
        "exact_match": tagger.predict(of_test, score="exact_match", **_sees(test)),
    }
    tagger.save(folder / "tagger")
    return {
        "counts": {name: counts_of(predicted, test) for name, predicted in systems.items()},
        "seconds": seconds,
        "report": tagger.report_,
        "sizes": [len(frames), len(valid), len(test), len(labels)],
    }


def _final(train: Callable[[], Net], valid: list[Frame], test: list[Frame], folder: Path) -> list[list[Any]]:
    """The emissions of validation and of test data by the net of all frames, which are kept for a run that goes on."""
    import torch

    from seal.files.weights import read_tensors, write_tensors

    path = folder / "final.safetensors"
    if not path.exists():
        net = train()
        parts = {name: net.emissions(some) for name, some in (("valid", valid), ("test", test))}
        write_tensors(str(path), {name: torch.cat(rows) for name, rows in parts.items()})
    tensors, _ = read_tensors(str(path))
    return [
        list(tensors[name].split([len(frame.words) for frame in some]))
        for name, some in (("valid", valid), ("test", test))
    ]


def _sees(frames: Sequence[Frame]) -> dict[str, list]:
    """What the energy sees beside the emissions: what the net sees, and no lemma."""
    return {
        "words": [frame.words for frame in frames],
        "predicates": [frame.predicate for frame in frames],
        "keys": [frame.words[frame.predicate].lower() for frame in frames],
    }


def table(arguments: argparse.Namespace, results: Sequence[dict[str, Any]], command: str) -> str:
    """The scores before and after, as Markdown, of all seeds together."""
    import numpy

    from scripts.measure import machine
    from seal_inspect.significance import EXACT, f1_of_counts, paired_bootstrap

    names = {
        "argmax": "its best tag of each token",
        "own": "its best legal sequences",
        "f1": "with the energy, `score='f1'`",
        "exact_match": "with the energy, `score='exact_match'`",
    }
    counts = {name: sum(numpy.array(one["counts"][name]) for one in results) for name in names}
    lines = [f"| {NETS[arguments.net]} | frames right, % | p | F1 of roles | p |", "|---|---|---|---|---|"]
    for name, told in names.items():
        cells = []
        for statistic, columns in ((EXACT, [0, 1]), (f1_of_counts(), [2, 3, 4])):
            baseline, method = counts["own"][:, columns], counts[name][:, columns]
            value = float(statistic.of(method.sum(axis=0)))
            p = "" if name in ("argmax", "own") else f"{paired_bootstrap(baseline, method, statistic).p_value:.4f}"
            cells += [f"{value:.1f}", p]
        lines.append(f"| {told} | {' | '.join(cells)} |")
    learned, valid, test, labels = results[0]["sizes"]
    seeds = "seed 1" if len(results) == 1 else f"seeds 1 to {len(results)} together"
    seconds = sum(one["seconds"] for one in results) / len(results)
    lines += [
        "",
        f"Sentences of at most {arguments.longest} words; {learned:,} frames to learn from, {valid:,} to choose by,",
        f"{test:,} to test, {labels} tags; {seeds}; {seconds:.0f} CPU seconds to learn the energy;",
        f"{machine.machine()}.",
        "",
        "```sh",
        command,
        "```",
    ]
    return "\n".join(lines)


def write_page(text: str, name: str) -> None:
    """Puts the table into the page, in the place of an earlier one of the same net and data."""
    start, page = START.replace("measured:", f"measured, {name}:"), PAGE.read_text(encoding="utf-8")
    before, found, rest = page.partition(start)
    if not found:
        raise UserError(f"--page: {PAGE.name} has no line '{start}'.")
    write_text(PAGE, f"{before}{start}\n\n{text}\n\n{END}{rest.partition(END)[2]}")


def run(arguments: argparse.Namespace, command: str) -> None:
    at_least_one(arguments, "longest", "frames", "valid_frames", "epochs", "seeds")
    check_folder("out", arguments.out)
    make_folder("out", arguments.out)
    settings = {name: str(getattr(arguments, name)) for name in ("data", "longest", "frames", "valid_frames", "epochs")}
    results = []
    for seed in range(1, arguments.seeds + 1):
        folder = arguments.out / f"{arguments.net}-{seed}"
        path, told = folder / "result.json", folder / "settings.json"
        folder.mkdir(exist_ok=True)
        if told.exists() and read_json(told) != settings:
            raise UserError(f"--out: {folder} is of other settings, {json.dumps(read_json(told))}.")
        write_json(told, settings)
        if not path.exists():
            write_json(path, measure(arguments, seed, folder))
        results.append(read_json(path))
    text = table(arguments, results, command)
    print(text)
    if arguments.page:
        write_page(text, f"{arguments.net} on {arguments.data.name}")


def main(argv: Optional[list[str]] = None) -> int:
    # Set before torch is imported.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    argv = sys.argv[1:] if argv is None else argv
    arguments = parser().parse_args(argv)
    command = f"python scripts/improve_tagger.py {shlex.join(word for word in argv if word != '--page')}"
    return exit_status(lambda: run(arguments, command), stopped="stopped; the same command goes on from here")


if __name__ == "__main__":
    sys.exit(main())
