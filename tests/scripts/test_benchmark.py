"""scripts/benchmark.py: its timing, and a run with the smallest settings."""

import inspect
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pandas
import pytest
import torch
from allennlp.data.token_indexers import PretrainedTransformerMismatchedIndexer

from scripts import benchmark
from scripts.measure import bench_multilabel_parts, own_process
from scripts.measure import bench_srl_parts as parts
from scripts.measure.bench_encoder import VOCABULARY, save_random_bert
from scripts.measure.bench_plots import draw_benchmark
from scripts.measure.bench_srl_memory import write_longest
from scripts.measure.bench_timing import Stopwatch, interleaved, median_ratio, spread, timed, train_epoch
from scripts.measure.suite import UserError
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


def test_a_table_without_ratios_has_no_figure_not_even_an_earlier_one(tmp_path):
    row = {"case": "a", "metric": "seconds", "method": "nce", "ratio": 2.0}
    path = tmp_path / "benchmark.png"
    draw_benchmark(pandas.DataFrame([row]), path, "title")
    assert path.exists()
    draw_benchmark(pandas.DataFrame([{**row, "ratio": math.nan}]), path, "title")
    assert not path.exists()


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
    held = bytearray(500 * own_process.MIB)
    held[::4096] = b"x" * len(held[::4096])  # Touched, so that it is really there.
    source = inspect.getsource(own_process.peak_memory)
    program = f"import resource, sys\nfrom pathlib import Path\nMIB = 2**20\n{source}\nprint(peak_memory())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 200


def test_stopwatch_counts_nested_time_once(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("scripts.measure.bench_timing.time.perf_counter", lambda: now[0])
    watch = Stopwatch()

    def spend(seconds):
        now[0] += seconds

    inner = watch.wrap(spend)
    outer = watch.wrap(lambda: (spend(1), inner(2)))
    outer()
    spend(10)
    inner(4)
    assert watch.seconds == 7


def test_batches_are_full_and_of_like_length(sentences):
    # 48 rows and 4 more: those are no full batch.
    batches = parts.draw_batches(sentences, 9, seed=0)
    assert [len(batch) for batch in batches] == [parts.BATCH_SIZE] * 3
    assert all(len({len(sentence.words) for sentence, _ in batch}) <= 3 for batch in batches)
    assert batches == parts.draw_batches(sentences, 9, seed=0)


def test_random_encoder_has_its_size_and_tokenizer(encoder):
    indexer = PretrainedTransformerMismatchedIndexer(encoder)
    # A word of the data, the beginning of one, and one that is only letters.
    assert indexer._tokenizer.tokenize("Sold cars tar") == ["sold", "car", "##s", "t", "##a", "##r"]
    with open(f"{encoder}/config.json", encoding="utf-8") as file:
        config = json.load(file)
    assert (config["num_hidden_layers"], config["hidden_size"], config["vocab_size"]) == (1, 32, VOCABULARY)


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


def test_longest_rows_for_memory(sentences, tmp_path):
    write_longest(sentences, parts.label_vocabulary(sentences), tmp_path / "rows.json")
    content = json.loads((tmp_path / "rows.json").read_text())
    lengths = [len(words) for words, _, _ in content["rows"]]
    assert lengths == sorted(lengths, reverse=True) and lengths[0] == 8
    assert "B-ARG2" in content["labels"]


def written(sentences, path):
    lines = [
        {"words": item.words, "frames": [{"pred": frame.predicate, "tags": frame.tags} for frame in item.frames]}
        for item in sentences
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return str(path)


def test_a_small_benchmark(tmp_path, monkeypatch, encoder, sentences, capsys, memory_of_forks):
    monkeypatch.setattr(parts, "read_data", lambda: ("toy", sentences, sentences[:4]))
    monkeypatch.setattr(parts, "train_file", lambda: written(sentences, tmp_path / "train.jsonl"))
    arguments = ["--encoder", encoder, "--methods", "nce_20", "--batches", "1", "--warmup-steps", "2"]
    table = table_of(tmp_path, "srl", *arguments)
    cases = set(table["case"])
    assert {"step, at the start", "step, after 2 steps", "training, an epoch", "metrics", "memory"} < cases
    assert len(cases) == 6
    epoch = table[table["case"] == "training, an epoch"].set_index(["method", "metric"])
    assert epoch.loc[("srl_bert", "seconds"), "ratio"] == 1 and epoch.loc[("cross_entropy", "rows"), "value"] > 2
    for row in table[table["metric"] == "seconds"].itertuples():
        assert row.value > 0 and row.ratio == pytest.approx(row.value / row.baseline)
    draws = table[table["metric"] == "distinct_samples"]
    assert draws["value"].between(1, 20).all() and len(draws) == 2
    shares = table.loc[table["metric"] == "progress_seconds", "ratio"]
    assert ((shares > 0) & (shares < 0.5)).all()
    speed = table[table["metric"] == "sentences_per_second"].set_index("method")["ratio"]
    assert speed["allennlp_models"] == 1 and math.isfinite(speed["seal_srl"])
    assert math.isfinite(speed["seal_srl_at_once"]) and math.isfinite(speed["seal_srl_bfloat16"])
    memory = table.loc[table["metric"] == "peak_mib"].set_index("method")
    assert memory.loc["cross_entropy", "ratio"] == 1 and memory.loc["nce_20", "value"] > 100
    assert "toy" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, word",
    [
        (["--suite", "srll"], "srll"),
        (["--suite", "srl", "--cases", "steps"], "--cases: there is no 'steps'; there are step, training, "),
        (["--suite", "srl", "--methods", "nce"], "nce_20"),
        (["--suite", "srl", "--repeats", "0"], "--repeats"),
        (["--suite", "srl", "--width", "40"], "--width"),
        (["--suite", "srl", "--methods", ","], "--methods: name one of cross_entropy, crf, "),
        (["--suite", "multilabel", "--cases", ","], "--cases: name one of step, "),
        (["--suite", "multilabel", "--layers", "6"], "--layers: the suite multilabel takes none"),
        (["--suite", "multilabel", "--dataset", "bibtexx"], "--dataset: there is no 'bibtexx'"),
        (["--suite", "multilabel", "--dataset", ","], "--dataset: name one of "),
        (["--suite", "multilabel", "--dataset", "sample,bibtex"], "--dataset: name one of "),
        (["--suite", "multilabel", "--dataset", "eurlexev"], "--dataset: the data of eurlexev are not there"),
        (["--suite", "chains", "--warmup-steps", "0"], "--warmup-steps: the suite chains takes none"),
        (["--suite", "srl", "--out", __file__], "test_benchmark.py is a file, not a folder"),
    ],
)
def test_mistakes_end_in_a_sentence(arguments, word, tmp_path, monkeypatch, capsys):
    if "eurlexev" in arguments:
        monkeypatch.setattr(bench_multilabel_parts, "is_present", lambda dataset: False)
    assert benchmark.main(["--out", str(tmp_path), *arguments]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and word in message and message.count("\n") == 1


@pytest.mark.parametrize("folder", ["none", "empty"])
def test_an_encoder_that_is_none_ends_in_a_sentence(folder, tmp_path, capfd):
    (tmp_path / "empty").mkdir()
    encoder = str(tmp_path / folder)
    arguments = ["--suite", "srl", "--out", str(tmp_path / "out"), "--cases", "step", "--encoder", encoder]
    assert benchmark.main(arguments) == 2
    message = capfd.readouterr().err.splitlines()[-1]
    assert message.startswith("error: ") and encoder in message


def test_a_relative_encoder_is_that_of_the_working_directory(tmp_path, monkeypatch, encoder, memory_of_forks):
    """Also in the process of its own that measures memory, which starts elsewhere."""
    (tmp_path / "tiny").symlink_to(encoder)
    monkeypatch.chdir(tmp_path)
    arguments = ["--cases", "memory", "--methods", "cross_entropy", "--batches", "1", "--encoder", "tiny"]
    assert table_of(Path("out"), "srl", *arguments)["value"].gt(0).all()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a folder in which nothing can be made")
def test_a_folder_that_cannot_be_made_is_told_before_anything_is_measured(monkeypatch, capsys):
    monkeypatch.setattr("scripts.measure.bench_multilabel.MultilabelBenchmark.run", None)
    assert benchmark.main(["--suite", "multilabel", "--out", "/proc/results"]) == 2
    assert capsys.readouterr().err.startswith("error: --out: /proc/results cannot be written to (")


def test_a_device(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    benchmark.choose_device("cpu")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="--device gpu: torch finds no GPU here"):
        benchmark.choose_device("gpu")


def test_a_stop_is_no_traceback(tmp_path, monkeypatch, capsys):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("scripts.measure.bench_multilabel.MultilabelBenchmark.run", stopped)
    assert benchmark.main(["--suite", "multilabel", "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "stopped; the same command begins anew\n"
