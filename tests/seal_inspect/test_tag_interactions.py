"""`allennlp tag-interactions` as a user runs it, against counts of the data and the energy's own weights."""

import json
from collections import Counter

import torch
from allennlp.models.archival import load_archive

from seal_inspect.archives import loader_of
from tests.seal_inspect.written import rows_of


def matrix_of(path):
    (_, *names), *rows = rows_of(path)
    assert names == [row[0] for row in rows]
    return names, torch.tensor([[float(cell or "nan") for cell in row[1:]] for row in rows])


def tags_of(path):
    blocks = path.read_text().strip().split("\n\n")
    return [[line.split()[-1] for line in block.splitlines() if line[0] != "#"] for block in blocks]


def test_tag_interactions(tagger, tagged, tmp_path, run, allennlp_logging):
    archive = tagger("tagging_compound_stacked")
    run("tag-interactions", archive, tagged, "--output", tmp_path / "out", "--tags", 5)
    names, negative = matrix_of(tmp_path / "out" / "negative_cross_hessian.csv")
    model = load_archive(str(archive)).model
    assert names == model.output_space.labels
    # For the linear chain, the table is its transitions.
    assert torch.allclose(negative, model.loss_net.energies[1].transitions.data, rtol=1e-4, atol=1e-6)
    sentences = tags_of(tagged)
    expected = Counter(pair for tags in sentences for pair in zip(tags, tags[1:]))
    _, bigrams = matrix_of(tmp_path / "out" / "bigrams.csv")
    assert {(a, b): int(bigrams[i, j]) for i, a in enumerate(names) for j, b in enumerate(names)} == {
        (a, b): expected[a, b] for a in names for b in names
    }
    _, information = matrix_of(tmp_path / "out" / "pointwise_mutual_information.csv")
    assert torch.equal(information.isnan(), bigrams == 0)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["differentiated_pairs"] == summary["bigrams"] == sum(expected.values())
    assert summary["different_bigrams"] == len(expected)
    assert all(-1 <= summary[name] <= 1 for name in ("spearman", "spearman_centred"))
    assert (tmp_path / "out" / "interactions.png").read_bytes()[:4] == b"\x89PNG"
    # Sentences are counted across batches, and some batches contain none of the chosen sentences.
    smaller = json.dumps({"validation_data_loader.batch_sampler.batch_size": 2})
    run("tag-interactions", archive, tagged, "--output", tmp_path / "few", "--every", 7, "-o", smaller)
    _, few = matrix_of(tmp_path / "few" / "negative_cross_hessian.csv")
    assert torch.allclose(few, negative, rtol=1e-4, atol=1e-6)
    assert rows_of(tmp_path / "few" / "bigrams.csv") == rows_of(tmp_path / "out" / "bigrams.csv")
    found = json.loads((tmp_path / "few" / "summary.json").read_text())
    # Six of 40 sentences.
    assert found["bigrams"] == summary["bigrams"]
    sizes = sorted(len(tags) - 1 for tags in sentences)
    assert sum(sizes[:6]) <= found["differentiated_pairs"] <= sum(sizes[-6:])


def test_tag_interactions_without_a_task_net(tagger, tagged, tmp_path, run, allennlp_logging):
    """At the outputs that inference finds, on which the derivatives of a language model of tags depend."""
    energies = [{"type": "local"}, {"type": "tag_language_model", "embedding_dim": 4, "hidden_dim": 5}]
    path, few = tagger("tagging_spen", energies), tmp_path / "few.tsv"
    few.write_text("\n\n".join(tagged.read_text().split("\n\n")[:3]) + "\n")
    run("tag-interactions", path, few, "--output", tmp_path / "out")
    negative = matrix_of(tmp_path / "out" / "negative_cross_hessian.csv")[1]
    archive = load_archive(str(path))
    model = archive.model.eval()
    (batch,) = loader_of(archive, str(few))
    state = model.task_state(**batch)
    features, inferred = model.frozen_features(state), model.infer(state)

    def minus_hessian(outputs):
        def energy(moved):
            return model.loss_net(features, moved.unsqueeze(1), state.mask).sum()

        # shape: (sentences, words, tags, sentences, words, tags)
        hessian = torch.autograd.functional.hessian(energy, outputs)
        pairs = [(row, t) for row, tags in enumerate(tags_of(few)) for t in range(len(tags) - 1)]
        return -sum(hessian[row, t, :, row, t + 1] for row, t in pairs) / len(pairs)

    assert torch.allclose(negative, minus_hessian(inferred), rtol=1e-3, atol=1e-6)
    elsewhere = minus_hessian(model.output_space.relax(state.logits, state.mask).squeeze(1))
    assert not torch.allclose(negative, elsewhere, rtol=0.1, atol=1e-5)
