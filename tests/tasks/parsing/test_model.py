import math

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.common.linear_trees import check_tree
from seal.tasks.base.scored_rows import NonFiniteOutput
from tests.trees import ENCODER, ENERGIES, STACKED, VOCAB, batch_of, model_of

SYMBOLS = list(VOCAB.get_token_to_index_vocabulary("tree_tags"))
NCE = {
    "loss_net": {"energies": ENERGIES},
    "sampler": {"type": "discrete", "num_samples": 4},
    "energy_loss": {"type": "nce_ranking"},
}


def test_the_loss_by_hand():
    model = model_of().double()
    total = 0.0
    for row in range(3):
        batch = batch_of([row])
        tree = batch["symbols"][0].tolist()
        # Each symbol, given those of gold before it.
        inputs = {"tokens": batch["tokens"], "words": torch.ones(1, len(batch["metadata"][0]["words"])).bool()}
        for step, symbol in enumerate(tree):
            earlier = torch.tensor([[len(SYMBOLS), *tree[:step]]])
            scores = model.task_net({**inputs, "earlier": earlier}).logits[0, -1].tolist()
            total += math.log(sum(map(math.exp, scores))) - scores[symbol]
    assert model(**batch_of())["loss"].item() == pytest.approx(total / 3)
    # What trainers call is the same loss.
    assert model.task_net_loss(model.task_state(**batch_of())).item() == pytest.approx(total / 3)


def test_it_learns_three_trees():
    model = model_of()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        model(**batch_of())["loss"].backward()
        optimizer.step()
    model.eval()
    output = model.make_output_human_readable(model(**batch_of()))
    assert output["symbols"] == [item["symbols"] for item in batch_of()["metadata"]]
    assert output["constituents"][2] == [("NP", 0, 1)]
    metrics = model.get_metrics(reset=True)
    assert metrics["f1"] == metrics["exact_match"] == metrics["step_accuracy"] == 100
    assert (output["log_prob"] > math.log(0.5)).all()


def test_each_output_of_a_new_net_is_a_tree_over_its_sentence():
    for seed in range(3):
        model = model_of(beam=seed + 1).eval()
        torch.manual_seed(seed)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter)
        output = model.make_output_human_readable(model(**batch_of(gold=False)))
        for symbols, item in zip(output["symbols"], batch_of()["metadata"]):
            check_tree(symbols, len(item["words"]))
        assert "loss" not in output


def test_the_loss_net_has_a_layer_above_shared_vectors():
    model = model_of(**STACKED)
    state = model.task_state(**batch_of())
    features = model.loss_net.encode(state.inputs, state.hidden, state.mask)
    vectors = torch.tanh(model.loss_net._layer(state.hidden))
    assert torch.equal(features[0], model.loss_net.energies[0].label_embeddings(vectors))
    assert model.loss_net._layer.out_features == 6


def test_the_energy_of_what_is_predicted():
    model = model_of(**NCE).eval()
    model.with_energy = True
    with torch.no_grad():
        output = model(**batch_of(gold=False))
        for row, energy in enumerate(output["energy"].tolist()):
            # That of the tree as gold.
            batch = batch_of([row])
            steps = int(output["num_steps"][row])
            batch["symbols"] = output["symbols"][row : row + 1, :steps]
            batch["metadata"][0]["symbols"] = [SYMBOLS[symbol] for symbol in batch["symbols"][0].tolist()]
            state = model.task_state(**batch)
            assert model.energy(state, state.gold.unsqueeze(1)).item() == pytest.approx(energy, rel=1e-4)


def test_gold_that_the_vocabulary_lacks_is_missed():
    model = model_of().eval()
    batch = batch_of([2])
    batch["metadata"][0]["symbols"] = ["(WHNP" if s == "(NP" else s for s in batch["metadata"][0]["symbols"]]
    output = model(**batch)
    assert output["loss"].item() == 0
    assert model.get_metrics()["recall"] == 0
    model.train()
    with pytest.raises(ConfigurationError, match="WHNP"):
        model(**batch)


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_the_energy_chooses_among_the_trees_of_the_beam(weight):
    reranking = {"type": "rerank", "num_samples": 6, "log_prob_weight": weight}
    model, batch = model_of(**NCE, beam=2, inference=reranking).eval(), batch_of()
    with torch.no_grad():
        for parameter in model.loss_net_parameters():
            parameter.normal_()  # The energies of a new net are all but alike.
        output = model(**batch)
        assert "loss" not in output
        beam = model.search(batch["tokens"], for_structure=False)
        values = model.energies(batch["tokens"], beam) - weight * beam.log_prob
        assert beam.symbols.shape[1] == 6
        chosen = values.masked_fill(beam.log_prob.isneginf(), torch.inf).argmin(dim=1)
        for row, place in enumerate(chosen.tolist()):
            steps = int(output["num_steps"][row])
            assert steps == int(beam.mask[row, place].sum())
            assert torch.equal(output["symbols"][row, :steps], beam.symbols[row, place, :steps])
            assert output["log_prob"][row] == beam.log_prob[row, place]
        assert weight or chosen.any()


DESCENT = {"type": "gradient_based_inference", "start": "half", "keep": "best"}
TAGS = {"type": "tag_sequence", "namespace": "tree_tags", "encoding": None}


@pytest.mark.parametrize(
    "make, named",
    [
        (lambda: model_of().task_state(**batch_of(gold=False)), "trees"),
        (lambda: model_of(**NCE, inference=DESCENT), "model.inference"),
        (lambda: model_of(task_net={"encoder": ENCODER["source"]}), "'attention_decoder'"),
        (lambda: model_of(output_space=TAGS), "'linear_tree'"),
        (lambda: model_of(beam=0), "model.beam"),
    ],
)
def test_what_cannot_be_is_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()


def test_structure_chooses_among_the_trees_of_the_beam():
    model = model_of(structure={"type": "trees", "num_candidates": 6}, beam=2).eval()
    with torch.no_grad():
        record = model.held_out(batch_of())
        assert [len(trees) for trees in record["trees"]] == [6, 6, 6]
        assert record["gold"] == [item["symbols"] for item in batch_of()["metadata"]]
        own = model(**batch_of())
        # As if one of the candidates, the fourth, were gold.
        record["gold"] = [trees[3] for trees in record["trees"]]
        report = model.fit_structure([record], [record])
        assert report["gold_competes"] == 1 and set(report["decisions"]) == {"f1", "exact_match"}
        model.structure.chosen["f1"] = "likeliest"
        output = model(**batch_of())
    chosen = model.structure.decide(model.best_trees(model.last_beam, batch_of()["metadata"])).tolist()
    rows = zip(output["symbols"].tolist(), output["num_steps"].tolist())
    found = [[SYMBOLS[symbol] for symbol in row[:n]] for row, n in rows]
    assert found == [trees[place] for trees, place in zip(record["trees"], chosen)]
    assert output["log_prob"].tolist() == pytest.approx(
        [record["log_prob"][row, place].item() for row, place in enumerate(chosen)], abs=1e-4
    )
    metrics = model.get_metrics(reset=True)
    assert {"f1", "f1_own", "exact_match", "exact_match_own"} <= set(metrics)
    # What is called its own is what the net predicts without a structure, by its own beam.
    found = zip(own["symbols"].tolist(), own["num_steps"].tolist())
    narrow = [[SYMBOLS[symbol] for symbol in row[:n]] for row, n in found]
    assert record["own"] == narrow
    assert model.own_trees(model.last_beam, batch_of()["tokens"]) == narrow
    # Where the gate is closed, the tree is that of the beam of prediction.
    model.structure.chosen["f1"] = "own"
    assert torch.equal(model(**batch_of())["symbols"], own["symbols"])


def test_gold_without_parts_of_speech_is_scored():
    model, batch = model_of().eval(), batch_of()
    for item in batch["metadata"]:
        item["tags"] = None
    model(**batch)
    assert model.get_metrics()["f1"] >= 0


def test_a_net_that_is_not_finite_finds_no_tree():
    model = model_of().eval()
    model.task_net.label_weights.data.fill_(math.nan)
    output = model.make_output_human_readable(model(**batch_of(gold=False)))
    assert output["symbols"] == [[], [], []] and output["constituents"] == [[], [], []]
    with pytest.raises(NonFiniteOutput):
        model(**batch_of())
