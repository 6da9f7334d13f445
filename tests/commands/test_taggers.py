"""The sub-commands about taggers as a user runs them, against counts of the models' own predictions."""

import csv
import json
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
from allennlp.commands import main
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch
from allennlp.models.archival import load_archive

from seal.commands.compare_networks import ranked

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    source = (ROOT / "data" / "tagging_sample" / "train.tsv").read_text()
    path = tmp_path_factory.mktemp("few") / "few.tsv"
    path.write_text("\n\n".join(source.split("\n\n")[:40]) + "\n")
    return path


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """By the name of a config, its archive after an epoch."""
    found = {}

    def train(name):
        if name not in found:
            params = Params.from_file(str(ROOT / "training_configs" / f"{name}.jsonnet")).as_dict(quiet=True)
            params["trainer"]["num_epochs"] = 1
            params["train_data_path"] = params["validation_data_path"] = str(data)
            folder = tmp_path_factory.mktemp(name) / "run"
            train_model(Params(params), str(folder))
            found[name] = folder / "model.tar.gz"
        return found[name]

    return train


@pytest.fixture
def run(monkeypatch):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["allennlp", *map(str, arguments)])
        main()

    return run


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def matrix_of(path):
    (_, *names), *rows = rows_of(path)
    assert names == [row[0] for row in rows]
    return names, torch.tensor([[float(cell or "nan") for cell in row[1:]] for row in rows])


def tags_of(path):
    blocks = path.read_text().strip().split("\n\n")
    return [[line.split()[-1] for line in block.splitlines() if line[0] != "#"] for block in blocks]


def test_tag_interactions(trained, data, tmp_path, run, allennlp_logging):
    archive = trained("tagging_compound_stacked")
    run("tag-interactions", archive, data, "--output", tmp_path / "out", "--tags", 5)
    names, negative = matrix_of(tmp_path / "out" / "negative_cross_hessian.csv")
    model = load_archive(str(archive)).model
    assert names == model.output_space.labels
    # Of the linear chain, the table is its transitions.
    assert torch.allclose(negative, model.loss_net.energies[1].transitions.data, rtol=1e-4, atol=1e-6)
    sentences = tags_of(data)
    expected = Counter(pair for tags in sentences for pair in zip(tags, tags[1:]))
    _, bigrams = matrix_of(tmp_path / "out" / "bigrams.csv")
    assert {(a, b): int(bigrams[i, j]) for i, a in enumerate(names) for j, b in enumerate(names)} == {
        (a, b): expected[a, b] for a in names for b in names
    }
    _, information = matrix_of(tmp_path / "out" / "mutual_information.csv")
    assert torch.equal(information.isnan(), bigrams == 0)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["differentiated_pairs"] == summary["bigrams"] == sum(expected.values())
    assert summary["different_bigrams"] == len(expected)
    assert all(-1 <= summary[name] <= 1 for name in ("spearman", "spearman_centred"))
    assert (tmp_path / "out" / "interactions.png").read_bytes()[:4] == b"\x89PNG"
    # Sentences are counted through all batches, some of which have none of the chosen.
    smaller = json.dumps({"validation_data_loader.batch_sampler.batch_size": 5})
    run("tag-interactions", archive, data, "--output", tmp_path / "few", "--every", 7, "-o", smaller)
    _, few = matrix_of(tmp_path / "few" / "negative_cross_hessian.csv")
    assert torch.allclose(few, negative, rtol=1e-4, atol=1e-6)
    assert rows_of(tmp_path / "few" / "bigrams.csv") == rows_of(tmp_path / "out" / "bigrams.csv")
    found = json.loads((tmp_path / "few" / "summary.json").read_text())
    # Of 40 sentences, six.
    assert found["bigrams"] == summary["bigrams"]
    sizes = sorted(len(tags) - 1 for tags in sentences)
    assert sum(sizes[:6]) <= found["differentiated_pairs"] <= sum(sizes[-6:])


def test_tag_interactions_without_a_task_net(trained, data, tmp_path, run, allennlp_logging):
    run("tag-interactions", trained("tagging_spen"), data, "--output", tmp_path)
    assert matrix_of(tmp_path / "negative_cross_hessian.csv")[1].isfinite().all()


def test_compare_networks(trained, data, tmp_path, run, capsys, allennlp_logging):
    archive = trained("tagging_compound_stacked")
    run("compare-networks", archive, data, "--output", tmp_path, "--most", 2)
    printed = capsys.readouterr().out.splitlines()

    loaded = load_archive(str(archive))
    model, reader = loaded.model.eval(), loaded.validation_dataset_reader
    confusions, right, scores = Counter(), Counter(), Counter()
    for instance in reader.read(str(data)):
        reader.apply_token_indexers(instance)
        instance.index_fields(model.vocab)
        batch = Batch([instance]).as_tensor_dict()
        with torch.no_grad():
            output = model(**batch)
        ours, theirs = (output[name][0].tolist() for name in ("tags", "cost_augmented_tags"))
        gold = batch["tags"][0].tolist()
        for one, other, tag in zip(ours, theirs, gold):
            scores["words"] += 1
            scores["ours"] += one == tag
            scores["theirs"] += other == tag
            if one == tag:
                right[model.output_space.labels[tag]] += 1
                if other != tag:
                    confusions[model.output_space.labels[tag], model.output_space.labels[other]] += 1

    head, *rows = rows_of(tmp_path / "confusions.csv")
    assert head == ["task_net", "cost_augmented", "words", "words_of_task_net"]
    assert {(row[0], row[1]): int(row[2]) for row in rows} == dict(confusions) and confusions
    assert all(int(row[3]) == right[row[0]] for row in rows)
    counts = [int(row[2]) for row in rows]
    assert counts == sorted(counts, reverse=True)
    metrics = {row[0]: list(map(float, row[1:])) for row in rows_of(tmp_path / "metrics.csv")[1:]}
    assert set(metrics) == {"accuracy", "precision", "recall", "f1"}
    ours, theirs = (100 * scores[name] / scores["words"] for name in ("ours", "theirs"))
    assert metrics["accuracy"] == pytest.approx([ours, theirs, ours - theirs], abs=1e-3)
    shown = [["A", "F^c", "words", "of"], *rows[:2]]
    assert [line.split() for line in printed[-len(shown) :]] == shown
    assert (tmp_path / "confusions.png").read_bytes()[:4] == b"\x89PNG"


def test_equal_counts_are_ranked_by_name():
    found = ranked({("N", "V"): 2, ("A", "N"): 2, ("V", "A"): 5, ("A", "D"): 2})
    assert found == [("V", "A", 5), ("A", "D", 2), ("A", "N", 2), ("N", "V", 2)]


@pytest.mark.parametrize(
    "command, config, more, words",
    [
        ("tag-interactions", "tagging_cross_entropy", [], "no loss-net"),
        ("tag-interactions", "tagging_compound_stacked", ["--tags", 1], "--tags must be at least 2"),
        ("tag-interactions", "tagging_compound_stacked", ["--every", 0], "--every must be at least 1"),
        ("compare-networks", "tagging_cross_entropy", [], "with a cost_augmented_net"),
        ("compare-networks", "tagging_compound_stacked", ["--most", 0], "--most must be at least 1"),
    ],
)
def test_mistakes(command, config, more, words, trained, data, tmp_path, run, allennlp_logging):
    with pytest.raises(ConfigurationError, match=words):
        run(command, trained(config), data, "--output", tmp_path / "out", *more)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["tag-interactions", "compare-networks"])
def test_data_that_do_not_serve(command, trained, tmp_path, run, allennlp_logging):
    empty = tmp_path / "empty.tsv"
    empty.write_text("")
    with pytest.raises(ConfigurationError, match="empty.tsv"):
        run(command, trained("tagging_compound_stacked"), empty, "--output", tmp_path / "out")
