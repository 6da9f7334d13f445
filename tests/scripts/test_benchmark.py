"""scripts/benchmark.py: its timing, and a run with the smallest settings."""

import inspect
import math
import subprocess
import sys
import time

import pytest
import torch

from scripts import benchmark
from scripts.measure import bench_multilabel_parts, peak_memory
from scripts.measure import bench_srl_parts as parts
from scripts.measure.bench_encoder import save_random_bert
from scripts.measure.bench_timing import interleaved, median_ratio, spread, timed, train_epoch
from seal.tasks.srl.data_files import SrlFrame, SrlSentence
from tests.scripts.benchmarks import still_steps_of, table_of

WORDS = ["Kim", "sold", "the", "old", "car", "to", "Lee", "."]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return save_random_bert(tmp_path_factory.mktemp("encoder"), WORDS * 2, layers=1, width=32)


@pytest.fixture(scope="module")
def sentences():
    tags = ["B-ARG0", "B-V", "B-ARG1", "I-ARG1", "I-ARG1", "B-ARG2", "I-ARG2", "O"]
    found = []
    for length in range(4, 9):
        frame = SrlFrame(predicate=1, tags=tags[:length])
        found += [SrlSentence(WORDS[:length], [frame] if length % 2 else [frame, frame])] * 4
    return found


def test_rounds_are_interleaved_and_the_first_is_not_counted():
    calls = []
    cases = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    seconds = interleaved(cases, 2)
    assert "".join(calls) == "ababab"
    assert [len(values) for values in seconds.values()] == [2, 2]


def test_median_ratio_is_of_rounds():
    # Every round is twice as slow as the one before, and the ratio stays 3.
    assert median_ratio([3, 6, 12], [1, 2, 4]) == 3
    assert spread([3, 6, 12], [1, 2, 4]) == 0
    assert spread([3, 6, 20], [1, 2, 4]) == 2


def test_cpu_seconds_are_computing_and_not_waiting():
    timing = timed(lambda: time.sleep(0.2))
    assert timing.wall >= 0.2 and timing.cpu < 0.1


def test_memory_is_not_the_parents():
    """On Linux a new process takes over `ru_maxrss` of the one that started it."""
    held = bytearray(500 * peak_memory.MIB)
    held[::4096] = b"x" * len(held[::4096])  # Touched, so that it is really there.
    source = inspect.getsource(peak_memory.peak_memory)
    program = f"import resource, sys\nfrom pathlib import Path\nMIB = 2**20\n{source}\nprint(peak_memory())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 200


@pytest.mark.parametrize("method", ["crf", "nce_20_shared"])
def test_timed_steps_are_updates_that_change_nothing(method, encoder, sentences):
    vocab = parts.label_vocabulary(sentences)
    batches = parts.draw_batches(sentences, 2, seed=0)
    model = parts.build_model(method, encoder, vocab)
    instances = parts.as_instances(parts.build_reader(encoder), batches)
    steps = still_steps_of(parts.build_trainer(method, model, instances, encoder, 0.0))
    assert steps and all(of_player == {2.0} for of_player in steps.values())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    train_epoch(parts.build_trainer(method, model, instances, encoder, 1e-3))
    assert any(not torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_a_small_benchmark(tmp_path, monkeypatch, encoder, sentences, capsys):
    monkeypatch.setattr(parts, "read_data", lambda: ("toy", sentences, sentences[:4]))
    arguments = ["--encoder", encoder, "--methods", "nce_20", "--batches", "1", "--warmup-steps", "2"]
    table = table_of(tmp_path, "srl", *arguments)
    assert set(table["case"]) == {"step, at the start", "step, after 2 steps", "prediction, 32 sentences a call"}
    for row in table[table["metric"] == "seconds"].itertuples():
        assert row.value > 0 and row.ratio == pytest.approx(row.value / row.baseline)
    draws = table[table["metric"] == "distinct_samples"]
    assert draws["value"].between(1, 20).all() and len(draws) == 2
    speed = table[table["metric"] == "sentences_per_second"].set_index("method")["ratio"]
    assert speed["allennlp_models"] == 1 and math.isfinite(speed["seal_srl"])
    assert math.isfinite(speed["seal_srl_at_once"]) and math.isfinite(speed["seal_srl_bfloat16"])
    assert "toy" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, word",
    [
        (["--suite", "srll"], "srll"),
        (["--suite", "srl", "--cases", "steps"], "--cases"),
        (["--suite", "srl", "--methods", "nce"], "nce_20"),
        (["--suite", "srl", "--methods", ","], "--methods"),
        (["--suite", "srl", "--repeats", "0"], "--repeats"),
        (["--suite", "srl", "--width", "40"], "--width"),
        (["--suite", "srl", "--cases", "step", "--encoder", "/none"], "/none"),
        (["--suite", "multilabel", "--layers", "6"], "--layers"),
        (["--suite", "multilabel", "--dataset", "bibtexx"], "bibtexx"),
        (["--suite", "multilabel", "--dataset", "eurlexev"], "eurlexev"),
        (["--suite", "srl", "--out", __file__], "test_benchmark.py"),
    ],
)
def test_mistakes_end_in_a_sentence(arguments, word, tmp_path, monkeypatch, capfd):
    if "eurlexev" in arguments:
        monkeypatch.setattr(bench_multilabel_parts, "is_present", lambda dataset: False)
    assert benchmark.main(["--out", str(tmp_path), *arguments]) == 2
    message = capfd.readouterr().err.splitlines()[-1]
    assert message.startswith("error: ") and word in message
