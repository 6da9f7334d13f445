"""What `training_configs/lib/tagging.libsonnet` offers beyond the configs that use it."""

import json
from pathlib import Path

import _jsonnet
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch
from allennlp.data.token_indexers import PretrainedTransformerMismatchedIndexer
from allennlp.predictors import Predictor

from seal.allennlp.config_imports import find_import
from seal.losses import NetTerms
from seal.nets import TaskNet
from seal.nets.encoders import Encoder
from seal.tasks.tagging.reader import TaggingReader
from tests.spine import tag_sequence, vocabulary
from tests.tiny_bert import save_tiny_bert

LIBRARY = Path(__file__).parents[2] / "training_configs" / "lib" / "tagging.libsonnet"
SENTENCES = "Rose\tS-SEL\nsells\tO\nginger\tS-ITM\n\nrose\tS-ITM\nsells\tO\nwell\tO\n"


@pytest.fixture
def data(tmp_path):
    (tmp_path / "data.tsv").write_text(SENTENCES)
    vectors = {"rose": [1.0, 0.0, 2.0], "mustard": [0.5, 0.5, 0.5], "basil": [3.0, 3.0, 3.0]}
    lines = (" ".join([word, *map(str, vector)]) + "\n" for word, vector in vectors.items())
    (tmp_path / "vectors.txt").write_text("".join(lines))
    return tmp_path


SMALL = "tagging.encoder.bilstm(word_dim=3, hidden=4, characters=0)"


def settings_of(data, encoder=SMALL, method="cross_entropy()", energies=None):
    path, energies = str(data / "data.tsv"), energies or "tagging.energies()"
    source = f"""
    local tagging = import '{LIBRARY.as_posix()}';
    tagging.experiment(
      {{ train: '{path}', dev: '{path}', reader: {{ encoding: 'BIOES', case: true }}, encoding: 'BIOES' }},
      {encoder}, tagging.method.{method}, tagging.training.default {{ epochs: 1 }}, {energies}
    )"""
    settings = json.loads(_jsonnet.evaluate_snippet("test", source))
    settings["trainer"]["enable_default_callbacks"] = False
    return settings


def trained(data, encoder=SMALL, method="cross_entropy()", energies=None):
    torch.manual_seed(0)
    return train_model(Params(settings_of(data, encoder, method, energies)), str(data / "run"))


def test_vectors_of_a_file_characters_and_features(data):
    """The inputs "NER++" of Tu, Pang & Gimpel (2020), with vectors in text form."""
    encoder = (
        f"tagging.encoder.bilstm(word_dim=3, hidden=4, vectors='{data}/vectors.txt', vector_words=2, "
        "features={ case: 2 }, characters=5)"
    )
    model = trained(data, encoder)
    words = model.vocab.get_token_to_index_vocabulary("tokens")
    # Those that stand twice, and the file's first two, of which the data lack one.
    assert set(words) == {"@@PADDING@@", "@@UNKNOWN@@", "rose", "sells", "mustard"}
    weight = model.task_net.encoder._embedder.token_embedder_tokens.weight.detach()
    torch.testing.assert_close(weight[words["mustard"]], torch.full((3,), 0.5), atol=0.01, rtol=0)
    torch.testing.assert_close(weight[words["rose"]], torch.tensor([1.0, 0.0, 2.0]), atol=0.01, rtol=0)
    # Words, 5 filters of each of 2 widths, and the first letter.
    assert model.task_net.encoder._encoder._module.input_size == 3 + 10 + 2


def test_vectors_of_another_size(data):
    """In AllenNLP's words, before the first update."""
    with pytest.raises(ConfigurationError, match="correct dimension.*embedding_dim"):
        trained(data, f"tagging.encoder.bilstm(word_dim=4, hidden=4, vectors='{data / 'vectors.txt'}')")


def test_the_shortest_word_has_a_vector_of_its_characters(data):
    """AllenNLP's encoder of characters leaves a window out that reaches into padding."""
    model = trained(data, "tagging.encoder.bilstm(word_dim=3, hidden=4, characters=50)")
    reader = Predictor.from_path(str(data / "run"))._dataset_reader
    batch = Batch([reader.text_to_instance(["a", "ginger", "so"])])
    for instance in batch.instances:
        reader.apply_token_indexers(instance)
    batch.index_instances(model.vocab)
    characters = batch.as_tensor_dict()["tokens"]["characters"]["token_characters"]
    vectors = model.task_net.encoder._embedder.token_embedder_characters(characters)[0]
    # Of each width; a filter's maximum is cut off at 0, so half of them are 0 at random.
    assert vectors.shape == (3, 100)
    assert ((vectors.view(3, 2, 50) > 0).sum(dim=-1) > 10).all()


def evaluated(expression):
    source = f"local tagging = import '{LIBRARY.as_posix()}'; {expression}"
    return json.loads(_jsonnet.evaluate_snippet("test", source, import_callback=find_import))


def test_a_term_of_the_whole_sequence_joins_the_linear_chain():
    """The full energy is Eq. 7, which has the chain, and Eq. 8 or 9."""
    types = [energy["type"] for energy in evaluated("tagging.energies({ type: 'tag_language_model' })")]
    assert types == ["local", "linear_chain", "tag_language_model"]
    assert evaluated("tagging.energies()") == [{"type": "local"}, {"type": "linear_chain"}]


TUNED, WARM = {"train": "task_net", "supervised": False}, {"epochs": 2, "energy": False}


@pytest.mark.parametrize(
    "arguments, training, phases",
    [
        ("", "", [{}, {"epochs": 3, **TUNED}]),
        ("", "epochs: 3", [{}, {"epochs": 1, **TUNED}]),
        ("", "epochs: 1", [{}]),
        ("fine_tune_epochs=5", "", [{}, {"epochs": 5, **TUNED}]),
        ("fine_tune_epochs=0", "", [{}]),
        ("", "warmup_epochs: 2", [WARM, {}, {"epochs": 2, **TUNED}]),
        ("fine_tune_epochs=0", "warmup_epochs: 2", [WARM, {}]),
    ],
)
def test_the_margin_rescaled_network_is_tuned_for_the_test(arguments, training, phases):
    config = evaluated(
        f"""tagging.experiment(tagging.data.sample, tagging.encoder.bilstm(),
        tagging.method.margin_rescaled({arguments}), tagging.training.sample {{ {training} }})"""
    )
    assert config["trainer"]["phases"] == phases


@pytest.mark.parametrize("name", ["cora/compound_shared", "cora/semi_supervised"])
def test_fine_tuning_takes_all_sentences_of_a_file(name):
    """The runs themselves train on some of theirs, or on batches of two kinds."""
    config = evaluated(f"tagging.fine_tuned(import '{LIBRARY.parent.parent}/{name}.jsonnet', 'runs/it', 'words')")
    plain = evaluated(f"(import '{LIBRARY.parent.parent}/{name}.jsonnet')")
    chosen = {"max_instances", "labelled"} & set(plain["dataset_reader"])
    assert chosen and config["dataset_reader"] == {
        key: value for key, value in plain["dataset_reader"].items() if key not in chosen
    }
    assert set(config["data_loader"]) == {"batch_sampler"}
    assert config["data_loader"]["batch_sampler"]["type"] == "by_size"


def test_a_language_model_with_words_of_its_own(data):
    """GE(c) as printed: q reads the words before t, and not the vectors of a BiLSTM that has seen all of them."""
    energies = "tagging.energies(tagging.whole.ge_c)"
    model = trained(data, method="compound_stacked()", energies=energies)
    (energy,) = [energy for energy in model.loss_net.energies if hasattr(energy, "word_embedder")]
    # The size of the words of the BiLSTM, which are brought to that of a tag.
    assert energy.word_embedder.get_output_dim() == 3
    tokens = {"tokens": {"tokens": {"tokens": torch.tensor([[2, 3, 1]])}}}
    hidden = torch.randn(1, 3, 8)
    first = energy.condition(hidden, inputs=tokens)
    assert first.shape == (1, 3, 32)
    # Each word for itself: neither the BiLSTM's vectors nor another word are in it.
    tokens["tokens"]["tokens"]["tokens"][0, 2] = 2
    second = energy.condition(torch.randn(1, 3, 8), inputs=tokens)
    assert torch.equal(first[:, :2], second[:, :2]) and not torch.equal(first[:, 2], second[:, 2])


@pytest.mark.parametrize(
    "encoder, tags, printed", [("bilstm(characters=0)", 25, 166e3), ("ner(features={})", 17, 239e3)]
)
def test_the_papers_sizes(encoder, tags, printed):
    """Tu, Pang & Gimpel (2020), section 6, without embeddings; PyTorch's LSTMs have a second bias."""
    settings = evaluated(f"tagging.encoder.{encoder}.settings")
    net = TaskNet(Encoder.from_params(Params(settings), vocab=vocabulary(["a"], "tokens")), tag_sequence(tags))
    count = sum(weight.numel() for name, weight in net.named_parameters() if "_embedder" not in name)
    assert count == pytest.approx(printed, rel=0.005)


def test_vectors_that_stay_as_they_are(data):
    encoder = f"tagging.encoder.ner(3, 4, vectors='{data}/vectors.txt', trainable=false, features={{}})"
    model = trained(data, encoder, "nce()")
    for net in (model.task_net, model.loss_net):
        weight = net.encoder._embedder.token_embedder_tokens.weight
        assert weight[model.vocab.get_token_index("rose", "tokens")].tolist() == [1, 0, 2]


@pytest.mark.parametrize("truncation", ["false", "true"])
def test_the_perceptron_with_and_without_truncation(data, truncation):
    loss = trained(data, method=f"perceptron(truncation={truncation}, tau=0.5)").task_loss
    assert loss.needs_gold_energy == (truncation == "true") and loss.cross_entropy_weight == 0.5
    terms = NetTerms(torch.tensor([2.0]), torch.tensor([3.0]), torch.tensor([9.0]))
    gold = torch.tensor([4.0]) if loss.needs_gold_energy else None
    assert loss(terms, None, gold).tolist() == [1.0 - (4.0 - 3.0) if truncation == "true" else 1.0 + 3.0]


def test_a_transformer(data):
    """AllenNLP's indexer of wordpieces would put them beside the tags, into the namespace 'tags'."""
    bert = save_tiny_bert(data / "bert", ["rose", "sells", "ginger"])
    model = trained(data, f"tagging.encoder.transformer('{bert}')", "nce()")
    assert set(model.vocab.get_token_to_index_vocabulary("tags")) == {"O", "S-SEL", "S-ITM"}
    assert model.output_space.num_labels == 3
    (record,) = Predictor.from_path(str(data / "run")).predict_batch_json([{"words": ["rose", "sells"]}])
    assert len(record["tags"]) == 2
    indexer = PretrainedTransformerMismatchedIndexer(str(bert))
    with pytest.raises(ConfigurationError, match="token_indexers.tokens.namespace"):
        TaggingReader(token_indexers={"tokens": indexer})


@pytest.mark.parametrize("tagged", [True, False])
def test_fine_tuning_on_other_words_lowers_their_energy(data, tagged):
    """Transductive: the tags of the file are wrong, and nothing looks at them; or there are none."""
    first = trained(data, method="compound_stacked()")
    (data / "other.tsv").write_text(SENTENCES.replace("S-ITM", "O"))
    words = [line.partition("\t")[0] for line in SENTENCES.split("\n")]
    (data / "words.txt").write_text("\n".join(words))
    inputs = "other.tsv', tagged=true" if tagged else "words.txt', tagged=false"
    path, run = str(data / "data.tsv"), str(data / "run")
    source = f"""
    local tagging = import '{LIBRARY.as_posix()}';
    local config = tagging.experiment(
      {{ train: '{path}', dev: '{path}', reader: {{ encoding: 'BIOES', case: true }}, encoding: 'BIOES' }},
      {SMALL}, tagging.method.compound_stacked(), tagging.training.default
    );
    tagging.fine_tuned(config, '{run}', '{data}/{inputs}, epochs=20)"""
    settings = json.loads(_jsonnet.evaluate_snippet("test", source))
    tuned = train_model(Params(settings), str(data / "tuned"))
    for net in ("loss_net", "cost_augmented_net"):
        start, end = getattr(first, net).state_dict(), getattr(tuned, net).state_dict()
        assert start and all(torch.equal(weight, end[name]) for name, weight in start.items())
    energies = []
    for model in (first, tuned):
        record = Predictor.from_path(str(data / ("run" if model is first else "tuned")))
        batch = Batch(list(record._dataset_reader.read(data / "other.tsv")))
        for instance in batch.instances:
            record._dataset_reader.apply_token_indexers(instance)
        batch.index_instances(record._model.vocab)
        with torch.no_grad():
            state = record._model.task_state(**batch.as_tensor_dict())
            relaxed = record._model.output_space.relax(state.logits, state.mask)
            energies.append(record._model.loss_net(record._model.frozen_features(state), relaxed, state.mask).mean())
    assert energies[1] < energies[0]


def test_a_language_model_of_tags_is_the_one_of_the_energies():
    def terms(energies, encoder="bilstm()"):
        loss_net = evaluated(
            f"""tagging.experiment(tagging.data.sample, tagging.encoder.{encoder}, tagging.method.language_model(),
            energies={energies})"""
        )["model"]["loss_net"]
        return loss_net["energies"], "encoder" in loss_net

    forward = {"type": "tag_language_model"}
    assert terms("tagging.energies()") == ([forward], False)
    both = {**forward, "backward": True, "hidden_dim": 7}
    assert terms("tagging.energies(tagging.whole.ge_b { hidden_dim: 7 })") == ([both], False)
    # The models of words read an embedder of their own or, with a transformer, the loss-net's vectors.
    for encoder, needed in (("bilstm()", False), ("transformer('bert-base-cased')", True)):
        (term,), given = terms("tagging.energies(tagging.whole.ge_c)", encoder)
        assert term["gamma"] == 1 and given is needed


@pytest.mark.parametrize(
    "preset, networks, patience",
    [
        ("sgd_networks", {"type": "sgd", "momentum": 0.9, "lr": 0.05}, 10),
        ("adam_networks", {"type": "fused_adamw", "weight_decay": 0, "lr": 1e-3}, 25),
    ],
)
def test_the_papers_training_of_inference_networks(preset, networks, patience):
    trainer = evaluated(
        "tagging.experiment(tagging.data.twitter_pos, tagging.encoder.bilstm(), tagging.method.perceptron(), "
        f"tagging.training.twitter_pos + tagging.training.{preset})"
    )["trainer"]
    assert trainer["task_net"]["optimizer"] == networks
    assert trainer["loss_net"]["optimizer"] == {"type": "fused_adamw", "weight_decay": 0, "lr": 1e-3}
    # Until dev is no better, and not when the epochs of AdamW are over.
    assert trainer["patience"] == patience and trainer["num_epochs"] >= 100


@pytest.mark.parametrize("task, method", [("tagging", "margin_rescaled"), ("parsing", "compound_stacked")])
def test_steps_on_fresh_batches(task, method):
    def trainer(arguments):
        source = f"""
        local lib = import '{LIBRARY.with_name(task + ".libsonnet").as_posix()}';
        lib.experiment(data=lib.data.sample, encoder=lib.encoder.bilstm(),
          method=lib.method.{method}({arguments}))"""
        return json.loads(_jsonnet.evaluate_snippet("test", source))["trainer"]

    assert "fresh_batches" not in trainer("steps=5")
    made = trainer("steps=5, fresh_batches=true")
    assert made.pop("fresh_batches") is True and made == trainer("steps=5")


@pytest.mark.parametrize(
    "inputs, names, characters, trainable",
    [
        ("NER", [], False, False),
        ("NER+", ["case", "chunk", "pos"], False, None),
        ("NER++", ["case", "chunk", "pos"], True, None),
    ],
)
def test_the_three_inputs_of_the_papers_entities(inputs, names, characters, trainable):
    source = f"""
    local tagging = import '{LIBRARY.as_posix()}';
    tagging.encoder.ner(inputs='{inputs}', vectors='glove.6B.100d')"""
    made = json.loads(_jsonnet.evaluate_snippet("test", source))
    embedders = made["settings"]["embedder"]["token_embedders"]
    assert sorted(made["settings"].get("features", {})) == names and ("characters" in embedders) == characters
    assert embedders["tokens"]["pretrained_file"] == "data/vectors/glove.6B.100d.txt"
    assert embedders["tokens"].get("trainable") is trainable
