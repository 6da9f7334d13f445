"""`allennlp compare-networks` as a user runs it, against counts of the model's own predictions."""

import json
from collections import Counter

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch
from allennlp.models.archival import load_archive

from tests.seal_inspect.written import rows_of


def test_compare_networks(tagger, tagged, tmp_path, run, capsys, allennlp_logging):
    archive = tagger("tagging_compound_stacked")
    run("compare-networks", archive, tagged, "--output", tmp_path, "--most", 1)
    printed = capsys.readouterr().out.splitlines()

    loaded = load_archive(str(archive))
    model, reader = loaded.model.eval(), loaded.validation_dataset_reader
    confusions, right, scores = Counter(), Counter(), Counter()
    for instance in reader.read(str(tagged)):
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
    assert {(row[0], row[1]): int(row[2]) for row in rows} == dict(confusions) and len(confusions) > 1
    assert all(int(row[3]) == right[row[0]] for row in rows)
    counts = [int(row[2]) for row in rows]
    assert counts == sorted(counts, reverse=True)
    metrics = {row[0]: list(map(float, row[1:])) for row in rows_of(tmp_path / "metrics.csv")[1:]}
    assert set(metrics) == {"accuracy", "exact_match", "precision", "recall", "f1"}
    ours, theirs = (100 * scores[name] / scores["words"] for name in ("ours", "theirs"))
    assert metrics["accuracy"] == pytest.approx([ours, theirs, ours - theirs], abs=1e-3)
    shown = [["A", "F^c", "words", "of"], *rows[:1]]
    assert [line.split() for line in printed[-len(shown) :]] == shown
    assert (tmp_path / "confusions.png").read_bytes()[:4] == b"\x89PNG"


def test_another_archive_gives_the_cost_augmented_network(tagger, tagged, tmp_path, run, allennlp_logging):
    tuned, before = tagger("tagging_cross_entropy", epochs=20), tagger("tagging_cross_entropy")
    run("compare-networks", tuned, tagged, "--output", tmp_path / "both", "--cost-augmented", before)
    evaluated = []
    for archive in (tuned, before):
        run("evaluate", archive, tagged, "--output-file", tmp_path / "metrics.json")
        evaluated.append(json.loads((tmp_path / "metrics.json").read_text()))
    for name, ours, theirs, gap in rows_of(tmp_path / "both" / "metrics.csv")[1:]:
        wanted = [scores[name] for scores in evaluated]
        assert [float(ours), float(theirs)] == pytest.approx(wanted, abs=1e-3)
        assert float(gap) == pytest.approx(wanted[0] - wanted[1], abs=1e-3)
    words = sum(map(bool, tagged.read_text().split("\n")))
    right, theirs = (round(words * scores["accuracy"] / 100) for scores in evaluated)
    confusions = rows_of(tmp_path / "both" / "confusions.csv")[1:]
    assert right > sum(int(row[2]) for row in confusions) >= right - theirs > 0

    # With itself, there is nothing to tell.
    run("compare-networks", tuned, tagged, "--output", tmp_path / "same", "--cost-augmented", tuned)
    assert rows_of(tmp_path / "same" / "confusions.csv")[1:] == []
    assert all(float(row[3]) == 0 for row in rows_of(tmp_path / "same" / "metrics.csv")[1:])


def test_another_archive_that_does_not_fit(tagger, tagged, tmp_path, run, allennlp_logging):
    more = tmp_path / "more.tsv"
    more.write_text(tagged.read_text() + "\nMira\tCAP\tB-BUYER\n")
    other = tagger("tagging_cross_entropy", data=more)
    archive = tagger("tagging_cross_entropy")
    with pytest.raises(ConfigurationError, match="tags"):
        run("compare-networks", archive, tagged, "--output", tmp_path / "out", "--cost-augmented", other)
    assert not (tmp_path / "out").exists()
