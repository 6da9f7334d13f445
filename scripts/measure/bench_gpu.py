"""
The benchmark of a GPU: whether it computes what the CPU does, how often a training step waits for it, and what faster
ways to compute gain.
"""

import time
from typing import Any, NamedTuple, Optional

import torch
from allennlp.data.data_loaders import SimpleDataLoader

import seal  # noqa: F401
from scripts.measure import bench_gpu_parts as parts
from scripts.measure import bench_srl_parts as srl
from scripts.measure.bench_base import Batches, EncoderBenchmark, build_trainer
from scripts.measure.bench_rows import Row, seconds_rows
from scripts.measure.bench_timing import epoch_of, interleaved, train_epoch
from scripts.measure.suite import UserError

CASES = {
    "agreement": "how far what the GPU computes is from what the CPU computes",
    "synchronisations": "how often a training step waits for the GPU, and where",
    "step": "seconds of a training step of SRL with a transformer, by precision and optimizer",
    "compiled": "seconds of a chain, an energy and an encoder, each compiled and not",
}
#: Configs of `training_configs` on the samples: together, every kind of step.
CONFIGS = (
    "srl_cross_entropy",
    "srl_crf",
    "srl_nce_as_a_loss",
    "multilabel_nce",
    "multilabel_dvn",
    "multilabel_implicit_cd",
    "text_nce",
    "tagging_nce",
    "tagging_compound_stacked",
    "shapes_nce",
    "parsing_nce",
)
SIZES = (32, 128)


class Variant(NamedTuple):
    #: Of `bench_srl_parts.METHODS`.
    method: str
    #: To the config's `trainer`.
    changes: Optional[dict[str, Any]] = None
    #: Of both players; `None`: the config's, which is fused.
    optimizer: Optional[str] = None
    #: Matrix products of single precision with 10 bits of their factors' fractions.
    tf32: bool = False


MIXED = {"use_amp": True}
VARIANTS = {
    "cross_entropy": Variant("cross_entropy"),
    "cross_entropy_not_fused": Variant("cross_entropy", optimizer="adamw"),
    "cross_entropy_tf32": Variant("cross_entropy", tf32=True),
    "cross_entropy_mixed": Variant("cross_entropy", MIXED),
    "crf": Variant("crf"),
    "crf_tf32": Variant("crf", tf32=True),
    "crf_mixed": Variant("crf", MIXED),
    "nce_20": Variant("nce_20"),
    "nce_20_not_fused": Variant("nce_20", optimizer="adamw"),
    "nce_20_tf32": Variant("nce_20", tf32=True),
    "nce_20_mixed": Variant("nce_20", MIXED),
    "nce_400": Variant("nce_400"),
    "nce_400_tf32": Variant("nce_400", tf32=True),
    "nce_400_mixed": Variant("nce_400", MIXED),
}


class GpuBenchmark(EncoderBenchmark):
    """Methods and encoder are those of `step`. Raises `UserError` where there is no GPU."""

    cases, methods = CASES, VARIANTS
    data = "the samples; of steps, English Web Treebank where it is there"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        if not torch.cuda.is_available():
            raise UserError("--suite gpu: torch finds no GPU here.")
        super().__init__(*arguments, **options)

    def agreement(self) -> list[Row]:
        """Relative: the norm of the difference over that of what the CPU computes."""
        rows = []
        found = {**parts.chain_quantities(), **parts.solutions()}
        for name in CONFIGS:
            found.update(parts.model_quantities(name))
        for name, difference in found.items():
            rows.append(Row("gpu", "agreement", name, "relative_difference", difference, None, None))
        return rows

    def synchronisations(self) -> list[Row]:
        rows = []
        for name in CONFIGS:
            trainer, steps = parts.sample_trainer(name, self._num_batches)
            train_epoch(trainer)
            with parts.counted_synchronisations() as places:
                train_epoch(trainer)
            case = "synchronisations of a step"
            rows.append(Row("gpu", case, name, "all", sum(places.values()) / steps, None, None))
            rows += [Row("gpu", case, name, place, count / steps, None, None) for place, count in places.most_common()]
            timings = interleaved({name: epoch_of(trainer)}, self._repeats)
            rows += seconds_rows("gpu", "step", timings, steps, name)
        return rows

    def step(self) -> list[Row]:
        self.data, train, dev = srl.read_data()
        vocab = srl.label_vocabulary(train + dev)
        encoder = self.encoder_of(word for item in train for word in item.words)
        reader, rows = srl.build_reader(encoder), []
        for size in SIZES:
            instances = srl.as_instances(reader, srl.draw_batches(train, self._num_batches, seed=0, size=size))
            batches, cases = list(SimpleDataLoader(instances, size, vocab=vocab)), {}
            for name in self._methods:
                variant = VARIANTS[name]
                # With a learning rate of 0, updates take their usual time and change nothing.
                settings = srl.experiment(variant.method, encoder, 0.0)["trainer"]
                for player in ("task_net", "loss_net"):
                    if variant.optimizer is not None and player in settings:
                        settings[player]["optimizer"]["type"] = variant.optimizer
                model = srl.build_model(variant.method, encoder, vocab)
                trainer = build_trainer(settings, model, Batches(batches), **(variant.changes or {}))
                cases[name] = parts.with_tf32(variant.tf32, epoch_of(trainer))
            timings = interleaved(cases, self._repeats)
            rows += seconds_rows("gpu", f"step, {size} rows", timings, len(batches), self.baseline)
            del cases
            torch.cuda.empty_cache()
        return rows

    def compiled(self) -> list[Row]:
        rows = []
        for what, work in parts.compiled_cases().items():
            eager = parts.repeated(work, self._num_batches)
            for name, options in (("compiled", {}), ("compiled, CUDA graphs", {"mode": "reduce-overhead"})):
                torch.compiler.reset()
                try:
                    compiled = torch.compile(work, **options)
                    start = time.perf_counter()
                    compiled(), compiled()
                except Exception as error:  # A backend may refuse an operation.
                    print(f"{what}, {name}: {type(error).__name__}: {str(error).splitlines()[0]}")
                    continue
                cases = {"eager": eager, name: parts.repeated(compiled, self._num_batches)}
                case = f"{what}, {name}"
                rows.append(Row("gpu", case, name, "seconds_to_compile", time.perf_counter() - start, None, None))
                rows += seconds_rows("gpu", case, interleaved(cases, self._repeats), self._num_batches, "eager")
                # One compilation may take minutes: what is measured is not lost where the next one is stopped.
                print(rows[-4])
        return rows
