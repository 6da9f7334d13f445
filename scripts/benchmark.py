"""Measure the cost of training steps and predictions, with ratios to a baseline in the same run."""

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# The suites, each with the options that it takes and some other suites do not. The suite `srl` is `SrlBenchmark` of
# `measure/bench_srl.py`.
SUITES = {
    "srl": ("encoder", "layers", "width", "warmup_steps"),
    "multilabel": ("dataset",),
    "chains": (),
}
DEFAULTS = {"dataset": "sample", "encoder": None, "layers": 6, "width": 384, "warmup_steps": 100}

EPILOG = """\
Timings are taken in rounds; each round measures every method once. A ratio is the median over rounds of the
ratio within a round. Writes OUT/benchmark.csv (suite, case, method, metric, value, baseline, ratio) and
OUT/benchmark.png. The figure has one clock, the CPU's or with a GPU the wall clock (of srl, both).

`seconds` are by the wall clock; `cpu_seconds` are those of this process and hold on a machine that is busy with
other things (with a GPU, only the wall clock counts). `..._spread` is the highest ratio of a round less the
lowest: where it is large, the machine was too busy or the rounds were too few for the ratio to mean much.

multilabel: a step is one update of each net.

chains: the steps of NCE with whole tag sequences against those with independent tags, what the output spaces take of
them, and predictions of SRL with and without a structure.

examples:
  python scripts/benchmark.py --suite srl --out results/benchmark
  python scripts/benchmark.py --suite srl --out results/benchmark --encoder bert-base-uncased --threads 4
  python scripts/benchmark.py --suite srl --out results/try --cases step --methods crf,nce_20 --repeats 1
  python scripts/benchmark.py --suite multilabel --dataset bibtex --out results/benchmark_multilabel
"""


def parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=style)
    add = result.add_argument
    add("--suite", required=True, help=f"what is measured: {', '.join(SUITES)}")
    add("--out", required=True, type=Path, help="the folder for the results")
    add(
        "--cases",
        help="separated by commas (default: all): of srl, step, prediction; of multilabel, step; of chains, step, "
        "space, prediction",
    )
    add("--dataset", help="of multilabel: the data set with the rows and nets (default: sample, the embedded one)")
    add(
        "--methods",
        help="separated by commas (default: all; the baseline always runs): the methods whose steps are measured; the "
        "other cases have methods of their own",
    )
    add("--encoder", help="a transformer's name on the hub, or a local folder (default: random weights)")
    add("--layers", type=int, help=f"of the random encoder (default: {DEFAULTS['layers']})")
    add("--width", type=int, help=f"of the random encoder (default: {DEFAULTS['width']})")
    add("--repeats", type=int, default=5, help="rounds (default: %(default)s)")
    add("--batches", type=int, default=8, help="batches of a round (default: %(default)s)")
    add(
        "--warmup-steps",
        type=int,
        help=f"of training before the second timing of steps; 0: no such timing (default: {DEFAULTS['warmup_steps']})",
    )
    add(
        "--device",
        choices=("cpu", "gpu", "cuda"),
        help="where steps and predictions run; gpu and cuda are the same (default: on a GPU where there is one)",
    )
    add("--threads", type=int, default=1, help="of torch (default: %(default)s)")
    return result


def choose(option: str, given: Optional[str], known: list[str]) -> list[str]:
    """
    The names in the comma-separated list `given`, or all `known` names if it is `None`. Raises `UserError` if the list
    is empty or has a name that is not known.
    """
    from scripts.measure.suite import UserError

    names = known if given is None else [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise UserError(f"--{option}: there is no '{name}'; there are {', '.join(known)}.")
    if not names:
        raise UserError(f"--{option}: name one of {', '.join(known)}.")
    return names


def fill_in(arguments: argparse.Namespace) -> None:
    """
    Sets options that were not given to their defaults. Raises `UserError` if an option was given that the suite does
    not take.
    """
    from scripts.measure.suite import UserError

    for option, default in DEFAULTS.items():
        if getattr(arguments, option) is None:
            setattr(arguments, option, default)
        elif option not in SUITES[arguments.suite]:
            raise UserError(f"--{option.replace('_', '-')}: the suite {arguments.suite} takes none.")


def choose_device(device: Optional[str]) -> None:
    """
    Hides the GPUs for `cpu`; torch looks for them later. Raises `UserError` for `gpu` and `cuda`, where there is none.
    """
    from scripts.measure.suite import UserError

    if device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    elif device is not None:
        import torch

        if not torch.cuda.is_available():
            raise UserError(f"--device {device}: torch finds no GPU here; leave it out, or say --device cpu.")


def chosen_dataset(given: str) -> str:
    """Raises `UserError` if the library has no such data set, or its files are not there."""
    from scripts.measure.bench_multilabel_parts import is_present
    from scripts.measure.configs import library_value
    from scripts.measure.suite import UserError

    known = library_value("multilabel.libsonnet", "std.objectFields(lib.data)")
    dataset, *others = choose("dataset", given, known)
    if others:
        raise UserError(f"--dataset: name one of {', '.join(known)}.")
    if not is_present(dataset):
        raise UserError(f"--dataset: the data of {dataset} are not there: see data/README.md.")
    return dataset


def build(arguments: argparse.Namespace) -> tuple[list[str], Any]:
    """The cases that were asked for, and the object whose methods measure them."""
    suite = arguments.suite
    # It imports torch and AllenNLP, which takes seconds: `run` checks first what can be checked without.
    kind = getattr(import_module(f"scripts.measure.bench_{suite}"), f"{suite.title()}Benchmark")
    at_hand = ",".join(case for case in kind.cases if case not in kind.on_demand)
    cases = choose("cases", arguments.cases or at_hand, list(kind.cases))
    methods = choose("methods", arguments.methods, list(kind.methods))
    more = {option: getattr(arguments, option) for option in SUITES[suite]}
    if "dataset" in more:
        more["dataset"] = chosen_dataset(more["dataset"])
    return cases, kind(
        methods, repeats=arguments.repeats, num_batches=arguments.batches, threads=arguments.threads, **more
    )


def run(arguments: argparse.Namespace) -> None:
    from scripts.measure.command import check_folder, make_folder, mistakes_of_the_library
    from scripts.measure.suite import UserError

    choose_device(arguments.device)
    choose("suite", arguments.suite, list(SUITES))
    fill_in(arguments)
    check_folder("out", arguments.out)
    for option, least in (
        ("repeats", 1),
        ("batches", 1),
        ("threads", 1),
        ("layers", 1),
        ("width", 32),
        ("warmup_steps", 0),
    ):
        value = getattr(arguments, option)
        if value is not None and value < least:
            raise UserError(f"--{option.replace('_', '-')} must be at least {least}.")
    if arguments.width is not None and arguments.width % 32:
        raise UserError("--width must be a multiple of 32, the width of an attention head.")
    with mistakes_of_the_library():
        cases, benchmark = build(arguments)

    import pandas
    import torch

    from scripts.measure import machine
    from scripts.measure.files import atomic_write

    make_folder("out", arguments.out)
    with mistakes_of_the_library():
        table = pandas.DataFrame(benchmark.run(cases))
    if table.empty:
        raise UserError(f"--cases {','.join(cases)}: nothing to measure with these methods and the data that are here.")
    with atomic_write(arguments.out / "benchmark.csv") as draft:
        table.to_csv(draft, index=False)
    title = (
        f"{arguments.suite}, data {benchmark.data}, {benchmark.description}, {arguments.threads} thread(s), "
        f"{machine.machine()}, torch {machine.torch_version()}, commit {machine.commit()}"
    )
    drawn = table
    if arguments.suite != "srl":
        # The figure shows one clock only, or every panel would appear twice. With a GPU it is the wall clock, since CPU
        # seconds do not include the GPU's work.
        left_out = ("cpu_seconds", "examples_per_cpu_second")
        if not torch.cuda.is_available():
            left_out = ("seconds", "examples_per_second")
        drawn = table[~table["metric"].isin(left_out)]
    benchmark.draw(drawn, arguments.out / "benchmark.png", title)
    print(title)
    print(table.to_string(index=False, float_format=lambda value: f"{value:.4g}"))


def main(argv: Optional[list[str]] = None) -> int:
    arguments = parser().parse_args(argv)
    from scripts.measure.command import exit_status

    return exit_status(lambda: run(arguments), stopped="stopped; the same command begins anew")


if __name__ == "__main__":
    sys.exit(main())
