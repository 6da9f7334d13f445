"""The benchmark of chains over tags: training steps with whole sequences, and prediction among the best of them."""

from collections.abc import Callable
from typing import Any

import torch
from allennlp.common import Params
from allennlp.data import DatasetReader, Instance, Vocabulary
from allennlp.data.data_loaders import SimpleDataLoader

import seal.plugin  # noqa: F401
from scripts.measure import bench_base
from scripts.measure.bench_base import Batches, Benchmark, predicts
from scripts.measure.bench_peers import peers
from scripts.measure.bench_rows import Row, seconds_rows, speed_rows
from scripts.measure.bench_timing import counted_calls, interleaved
from scripts.measure.configs import library_value
from scripts.measure.suite import ROOT
from seal.output_spaces import CrfTagSequence, LegalTagSequence, TagSequence
from seal.structure import TagPaths
from seal.structure.fitting import BatchObjective, fit
from seal.structure.linear_system import LinearSystem

CASES = {
    "step": "seconds of an NCE step with the energy of role labelling, against that with independent tags",
    "space": "seconds and operations of what an output space does in such a step, against independent tags",
    "prediction": "frames a second, against the same net without a structure: of the SRL sample",
    "prediction_ewt": "the same of English Web Treebank (data/ewt_propbank_srl)",
    "learning": "seconds of learning the energy of frames from a sparse matrix, against passes over the data",
    "peers": "seconds of what a chain computes, against other libraries (requirements-measure.txt)",
}
#: The tags, tokens and sequences of a batch, and the draws of an instance.
LABELS, TOKENS, BATCH, DRAWS = 65, 40, 32, 20
SPACES = {"independent": TagSequence, "legal": LegalTagSequence, "crf": CrfTagSequence}
METHODS = {
    "independent": "tagging.method.nce(num_samples=20)",
    "legal": "tagging.method.legal(tagging.method.nce(num_samples=20))",
    "crf": "tagging.method.crf(tagging.method.nce(num_samples=20))",
}
PREDICTION_BATCH = 64
#: The training epochs of the net whose predictions are timed: random weights predict more spans than any trained net.
PREDICTION_EPOCHS = 15


class ChainsBenchmark(Benchmark):
    """Its methods are few, and all are measured."""

    cases, methods, on_demand = CASES, METHODS, ("prediction_ewt", "peers")
    baseline = "independent"
    data = "random; of prediction, the SRL sample"
    description = f"{2 * LABELS + 1} tags, {TOKENS} tokens, {DRAWS} draws, batch {BATCH}"

    def step(self) -> list[Row]:
        generator = torch.Generator().manual_seed(0)
        batches = []
        for _ in range(self._num_batches):
            words = torch.randint(2, 1000, (BATCH, TOKENS), generator=generator)
            names = [["O"] * TOKENS] * BATCH
            metadata = [{"words": None, "tags": row, "source": None} for row in names]
            tags = torch.zeros(BATCH, TOKENS, dtype=torch.long)
            batches.append({"tokens": {"tokens": {"tokens": words}}, "tags": tags, "metadata": metadata})
        cases = {}
        for name, method in METHODS.items():
            config = library_value(
                "tagging.libsonnet",
                f"""local tagging = lib;
                tagging.experiment(
                  data=tagging.data.wnut17, encoder=tagging.encoder.bilstm(characters=0), method={method},
                  training=tagging.training.default {{ epochs: 1, task_net_lr: 0, loss_net_lr: 0 }},
                  energies=[{{ type: 'local' }}, {{ type: 'self_attention', hidden_dim: 256, pooling: 'sum' }}],
                )""",
            )
            model = bench_base.build_model(config["model"], _vocabulary())
            cases[name] = bench_base.build_trainer(config["trainer"], model, Batches(batches)).train
        timings = interleaved(cases, self._repeats)
        return seconds_rows("chains", "step", timings, self._num_batches, self.baseline)

    def space(self) -> list[Row]:
        rows = []
        torch.manual_seed(0)
        logits = 2 * torch.randn(BATCH, TOKENS, 2 * LABELS + 1)
        for what, work in WORK.items():
            cases = {}
            for name, kind in SPACES.items():
                space = kind(_vocabulary(), encoding="BIO")
                gold = space.sample(logits, 1)[:, 0]
                cases[name] = _repeated(work, space, logits, gold, self._num_batches)
            timings = interleaved(cases, self._repeats)
            rows += seconds_rows("chains", what, timings, self._num_batches, self.baseline)
            calls = {name: counted_calls(case) / self._num_batches for name, case in cases.items()}
            rows += [Row("chains", what, name, "calls", value, None, None) for name, value in calls.items()]
        return rows

    def _frames(self, data: str = "sample") -> tuple[Vocabulary, list[Instance]]:
        """Frames of dev, the shortest first, of all lengths."""
        config = _config("cross_entropy()", data)
        reader = DatasetReader.from_params(Params(config["validation_dataset_reader"]))
        instances = list(reader.read(str(ROOT / config["validation_data_path"])))
        vocab = Vocabulary.from_instances(instances)
        frames = [instance for instance in instances if instance["metadata"]["predicate"] is not None]
        frames.sort(key=lambda frame: len(frame["tokens"]))
        number = min(self._num_batches * PREDICTION_BATCH, len(frames))
        return vocab, [frames[place * len(frames) // number] for place in range(number)]

    def prediction_ewt(self) -> list[Row]:
        return self.prediction("ewt")

    def prediction(self, data: str = "sample") -> list[Row]:
        vocab, frames = self._frames(data)
        case, rows = f"prediction, {data}, batch {PREDICTION_BATCH}", []
        for over in ("cross_entropy", "crf"):
            cases: dict[str, Callable[[], None]] = {}
            methods = {f"{over}, without": f"{over}()", f"{over}, structure": f"structured(over=srl.method.{over}())"}
            for name, method in methods.items():
                model = bench_base.build_model(_config(method, data)["model"], vocab)
                batches = list(SimpleDataLoader(frames, PREDICTION_BATCH, vocab=vocab))
                _train(model, batches)
                if model.structure is not None:
                    _learn(model, batches)
                for batch in batches:
                    batch.pop("tags"), batch.pop("is_predicate")
                cases[name] = predicts(model, Batches(batches))
            timings = interleaved(cases, self._repeats)
            rows += speed_rows("chains", case, timings, len(frames), f"{over}, without", "frames")
        return rows

    def learning(self) -> list[Row]:
        vocab, frames = self._frames()
        model = bench_base.build_model(_config("structured()")["model"], vocab).eval()
        structure = model.structure
        structure.requires_grad_(True)
        generator = torch.Generator().manual_seed(0)
        paths = []
        for batch in SimpleDataLoader(frames, PREDICTION_BATCH, vocab=vocab):
            with torch.no_grad():
                found = TagPaths(**model.held_out(batch))
            # Gold is one of those that compete, as it seldom is with random weights.
            place = torch.randint(found.tags.shape[1], (len(found.tags),), generator=generator)
            found.gold = found.tags[torch.arange(len(place)), place]
            paths.append(found)
        gold = structure.gold_candidates(paths)
        for energy in structure.joint.energies:
            energy.prepare(gold)
        parts = structure.training_candidates(paths, gold, structure.groups_of(paths))
        cases = {
            "passes over the data": lambda: fit(structure.joint, BatchObjective(structure.joint, parts), l2=1.0),
            "a sparse matrix": lambda: fit(structure.joint, LinearSystem(structure.joint, parts), l2=1.0),
        }
        timings = interleaved(cases, self._repeats)
        return seconds_rows("chains", f"learning from {len(frames)} frames", timings, 1, "passes over the data")

    def peers(self) -> list[Row]:
        return peers(self._repeats)


def _vocabulary() -> Vocabulary:
    tags = ["O"] + [f"{prefix}-{number}" for number in range(LABELS) for prefix in "BI"]
    words = [f"w{number}" for number in range(1000)]
    return Vocabulary(tokens_to_add={"tokens": words, "tags": tags}, non_padded_namespaces=["tags"])


def _config(method: str, data: str = "sample") -> dict[str, Any]:
    """The config of a method on data of role labelling."""
    return library_value(
        "srl.libsonnet",
        f"""local srl = lib;
        srl.experiment(
          data=srl.data.{data}, encoder=srl.encoder.bilstm(), method=srl.method.{method}, training=srl.training.sample
        )""",
    )


def _train(model, batches: list[Any]) -> None:
    optimizer = torch.optim.Adam(model.parameters())
    for batch in PREDICTION_EPOCHS * batches:
        optimizer.zero_grad()
        model(**batch)["loss"].backward()
        optimizer.step()


@torch.no_grad()
def _learn(model, batches: list[Any]) -> None:
    """A structure that is followed in all predictions; its parameters do not change its cost."""
    model.eval()
    records = [TagPaths(**model.held_out(batch)) for batch in batches[:2]]
    model.structure.fit(records, records)
    model.structure.chosen = dict.fromkeys(model.structure.chosen, "likeliest")


def _draw(space: TagSequence, logits: torch.Tensor, gold: torch.Tensor) -> None:
    with torch.no_grad():
        space.log_prob(logits, space.sample(logits, DRAWS))


def _cross_entropy(space: TagSequence, logits: torch.Tensor, gold: torch.Tensor) -> None:
    space.cross_entropy(logits.clone().requires_grad_(), gold).sum().backward()


def _relax(space: TagSequence, logits: torch.Tensor, gold: torch.Tensor) -> None:
    space.relax(logits.clone().requires_grad_()).square().sum().backward()


WORK = {"draws and their probabilities": _draw, "cross-entropy": _cross_entropy, "relaxed output": _relax}


def _repeated(work: Callable, space: TagSequence, logits: torch.Tensor, gold: torch.Tensor, times: int) -> Callable:
    def repeat() -> None:
        for _ in range(times):
            work(space, logits, gold)

    return repeat
