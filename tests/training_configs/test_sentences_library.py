"""What the libraries of tagging, SRL and texts share: which weights a transformer's small learning rate is not for."""

import json
import re
from pathlib import Path

import _jsonnet
import pytest
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.training import TrainerCallback
from transformers import PreTrainedModel

import seal.plugin  # noqa: F401
from scripts.measure.configs import library_value
from seal.nets import Encoder
from tests.tiny_bert import save_tiny_bert
from tests.training import runs

LIBRARIES = Path(__file__).parents[2] / "training_configs" / "lib"
TAGS = ["O", "B-A", "B-V"]
Q = "{ type: 'lstm', input_size: 6, hidden_size: 4 }"
CASES = [
    ("tagging", "cross_entropy()", ""),
    ("tagging", "crf()", ""),
    ("tagging", "nce()", "energies=lib.energies(lib.whole.ge_c)"),
    ("tagging", "nce(share_encoder=true)", ""),
    ("tagging", "compound_separated()", ""),
    ("tagging", "compound_shared()", ""),
    ("tagging", "compound_stacked()", ""),
    ("tagging", f"compound_stacked(q={Q})", ""),
    ("tagging", "spen()", ""),
    ("tagging", "spen_end_to_end()", ""),
    ("srl", "crf()", ""),
    ("srl", "crf(over=lib.method.spen_end_to_end())", ""),
    ("srl", "margin()", ""),
    ("text", "nce()", ""),
]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return save_tiny_bert(tmp_path_factory.mktemp("tiny_bert"), ["rose", "sells"])


def config_of(library, bert, method, more, head_lr="0.25"):
    return json.loads(
        _jsonnet.evaluate_snippet(
            "test",
            f"""
            local lib = import '{(LIBRARIES / library).as_posix()}.libsonnet';
            lib.experiment(lib.data.sample, lib.encoder.transformer('{bert}'), lib.method.{method},
              lib.training.default {{ head_lr: {head_lr} }}, {more})""",
        )
    )


@pytest.mark.parametrize("library, method, more", CASES)
def test_what_starts_at_random_has_the_rate_of_heads(bert, library, method, more):
    config = config_of(library, bert, method, more)
    vocab = Vocabulary.empty()
    for namespace in ("tags", "srl_tags", "labels"):
        vocab.add_tokens_to_namespace(TAGS, namespace)
    model = Model.from_params(Params(config["model"]), vocab=vocab)
    pretrained = {
        id(weight) for part in model.modules() if isinstance(part, PreTrainedModel) for weight in part.parameters()
    }
    assert pretrained
    players = [player for player in ("task_net", "loss_net") if player in config["trainer"]]
    assert players
    for player in players:
        ((patterns, changed),) = config["trainer"][player]["optimizer"]["parameter_groups"]
        assert changed == {"lr": 0.25}
        # As `make_parameter_groups` of AllenNLP looks for them, which warns of an expression that no name has.
        assert len(patterns) == 1
        head = {name for name, _ in model.named_parameters() if any(re.search(part, name) for part in patterns)}
        assert head == {name for name, weight in model.named_parameters() if id(weight) not in pretrained}


@pytest.mark.parametrize("q", ["null", Q])
@pytest.mark.parametrize("head_lr", ["null", "0.25"])
def test_the_map_of_a_stacked_network_has_a_rate_of_its_own(bert, q, head_lr):
    config = config_of("tagging", bert, f"compound_stacked(q={q})", "", head_lr=f"{head_lr}, map_lr: 0.5")
    vocab = Vocabulary.empty()
    vocab.add_tokens_to_namespace(TAGS, "tags")
    model = Model.from_params(Params(config["model"]), vocab=vocab)
    groups = config["trainer"]["task_net"]["optimizer"]["parameter_groups"]
    names = [name for name, _ in model.named_parameters()]
    found = {
        settings["lr"]: {name for name in names if any(re.search(part, name) for part in patterns)}
        for patterns, settings in groups
    }
    map_weights = {name for name in names if name.startswith("cost_augmented_net.")}
    assert map_weights and found.pop(0.5) == map_weights
    if head_lr == "0.25":
        assert found[0.25] >= {"task_net._head.weight"} and not found[0.25] & map_weights
    else:
        assert found == {}
    # It is the task-net's optimizer that moves the map.
    groups = config["trainer"]["loss_net"]["optimizer"].get("parameter_groups", [])
    assert [settings["lr"] for _, settings in groups] == ([0.25] if head_lr == "0.25" else [])


def evaluated(library, data, method, training="{}", encoder="bilstm()"):
    source = f"""
      local lib = import '{(LIBRARIES / library).as_posix()}.libsonnet';
      lib.experiment(lib.data.sample {data}, lib.encoder.{encoder}, lib.method.{method},
        lib.training.default {training})"""
    return json.loads(_jsonnet.evaluate_snippet("test", source))


@pytest.mark.parametrize("library", ["srl", "tagging", "text"])
def test_self_training(library):
    config = evaluated(library, "{ unlabelled: 'raw.txt', plain_text: true }", "self_training(hard=true)")
    assert config["trainer"]["self_training"] == {
        "unlabelled": "raw.txt",
        "plain_text": True,
        "hard": True,
        "labelled_share": 0.5,
    }
    assert config["trainer"]["folds"] == 3 and "structure" in config["model"]
    alone = evaluated(library, "{ unlabelled: 'raw.txt' }", "self_training(over=lib.method.cross_entropy())")
    assert "structure" not in alone["model"] and "plain_text" not in alone["trainer"]["self_training"]
    # A path that no method reads changes nothing.
    assert "self_training" not in evaluated(library, "{ unlabelled: 'raw.txt' }", "structured()")["trainer"]
    distilled = evaluated(library, "{}", "distilled()")
    assert distilled["trainer"]["self_training"] == {"distil": True, "hard": False, "labelled_share": 0.5}
    assert "structure" in distilled["model"]
    more = evaluated(library, "{ unlabelled: 'raw.txt' }", "distilled()")
    assert more["trainer"]["self_training"]["unlabelled"] == "raw.txt"


@pytest.mark.parametrize("library, hidden, layers, word_dropout", [("srl", 96, 2, 0.25), ("tagging", 100, 1, 0)])
def test_the_defaults_that_were_searched(library, hidden, layers, word_dropout):
    """A config without settings has those of docs/measurements; those of before are one line away."""
    before = "bilstm(layers=1, characters=0, word_dropout=0)"
    vocabulary = Vocabulary.empty()
    for call, *expected in (("bilstm()", layers, word_dropout, 24), (before, 1, 0, 0)):
        config = evaluated(library, "{}", "crf()", encoder=call)
        settings = config["model"]["task_net"]["encoder"]
        embedders = settings["embedder"]["token_embedders"]
        filters = embedders["characters"]["encoder"]["num_filters"] if "characters" in embedders else 0
        assert ("characters" in config["dataset_reader"]["token_indexers"]) is (filters > 0)
        encoder = Encoder.from_params(Params(settings), vocab=vocabulary)
        assert [encoder._encoder._module.num_layers, encoder._word_dropout, filters] == expected
        assert encoder.get_output_dim() == 2 * hidden


@pytest.mark.parametrize("call", ["tagging.libsonnet').encoder.ner()", "citation_tagging.libsonnet').encoder"])
def test_the_papers_encoders_read_words_alone(call):
    settings = json.loads(_jsonnet.evaluate_snippet("test", f"(import '{LIBRARIES.as_posix()}/{call}.settings"))
    assert "word_dropout" not in settings and list(settings["embedder"]["token_embedders"]) == ["tokens"]


@pytest.mark.parametrize("library", ["srl", "tagging", "text"])
@pytest.mark.parametrize("frozen", [False, True])
def test_the_settings_for_few_data(library, frozen, bert, tmp_path):
    """The rate rises over a tenth of all updates and falls again, and a frozen encoder stays as it is."""
    name = "small_data_frozen" if frozen else "small_data"
    config = json.loads(
        _jsonnet.evaluate_snippet(
            "test",
            f"""
            local lib = import '{(LIBRARIES / library).as_posix()}.libsonnet';
            lib.experiment(lib.data.sample, lib.encoder.transformer('{bert}', frozen={json.dumps(frozen)}),
              lib.method.cross_entropy(), lib.training.default + lib.training.{name})""",
        )
    )
    trainer = config["trainer"]
    assert (trainer["num_epochs"], config["data_loader"]["batch_sampler"]["batch_size"]) == (20, 8)
    player, settings = trainer["task_net"], config["model"]["task_net"]["encoder"]
    assert ("parameter_groups" in player["optimizer"]) != frozen == ("train_parameters" in settings)
    encoder = Encoder.from_params(Params(settings))
    assert frozen == (not any(parameter.requires_grad for parameter in encoder.parameters()))
    if (library, frozen) != ("srl", False):  # The others have the same schedule.
        return

    rates = []

    class Follow(TrainerCallback):
        def on_batch(self, trainer, *args, is_training, **kwargs):
            if is_training:
                rates.append(trainer.optimizer.players["task_net"].param_groups[0]["lr"])

    schedule = {"trainer__task_net__learning_rate_scheduler": player["learning_rate_scheduler"]}
    built = runs.config("cross_entropy", epochs=10, **schedule)
    made = runs.build(built, tmp_path / "run")
    made._callbacks.append(Follow(str(tmp_path)))
    made.train()
    top = rates.index(max(rates))
    assert len(rates) >= 20 and abs(top - len(rates) / 10) <= 1
    assert rates == sorted(rates[: top + 1]) + sorted(rates[top + 1 :], reverse=True) and rates[-1] < max(rates) / 10


def value(expression):
    names = ("srl", "tagging", "text", "parsing")
    imports = "".join(f"local {name} = import '{(LIBRARIES / name).as_posix()}.libsonnet'; " for name in names)
    return json.loads(_jsonnet.evaluate_snippet("test", imports + expression))


@pytest.mark.parametrize("library, shared", [("srl", False), ("tagging", False), ("text", False), ("parsing", True)])
def test_what_the_loss_net_of_implicit_gradients_reads(library, shared):
    """A parser's loss-net reads the task-net's features `f` (Tu, Pang & Gimpel 2020, appendix A.1)."""
    parts = f"{library}.data.sample, {library}.encoder.bilstm(), {library}.method.implicit_cd({{}})"
    call = f"{library}.experiment({parts})"
    plain, own, of_task_net = value(
        "[" + ", ".join(call.format(given) for given in ("", "share_encoder=false", "share_encoder=true")) + "]"
    )
    assert plain == (of_task_net if shared else own)
    assert own["model"]["loss_net"]["encoder"] == own["model"]["task_net"]["encoder"]
    assert "encoder" not in of_task_net["model"]["loss_net"] and of_task_net["trainer"] == own["trainer"]


@pytest.mark.parametrize(
    "library, data, checked",
    [
        ("tagging", "sample", "data/tagging_sample/test.tsv"),
        ("tagging", "twitter_pos", None),  # Its tags have no encoding that a file could break.
        ("srl", "sample", "data/srl_sample/test.gold_conll"),
        ("srl", "ewt", None),  # There is none.
    ],
)
def test_the_test_file_is_checked_before_training(library, data, checked):
    experiment = f"lib.experiment(lib.data.{data}, lib.encoder.bilstm(), lib.method.cross_entropy())"
    config = library_value(f"{library}.libsonnet", experiment)
    assert config["dataset_reader"].get("also_check") == checked
    assert "test_data_path" not in config and "also_check" not in config.get("validation_dataset_reader", {})


@pytest.mark.parametrize(
    "library, training, of_words, pretrained, scheduled",
    [
        ("srl", "sample { epochs: 3 }", (3e-3, None), (1e-4, 1e-3), (True, True)),
        ("tagging", "default", (3e-3, None), (5e-5, 1e-3), (False, False)),
        ("text", "sample", (3e-3, None), (5e-5, 1e-3), (False, True)),
        ("parsing", "sample", (2e-3, None), (5e-5, 1e-3), (False, False)),
    ],
)
def test_rates_are_those_of_the_encoder(library, training, of_words, pretrained, scheduled):
    """One line changes, the encoder's; settings of training that name a rate have it."""
    for encoder, rates, schedule in (("bilstm()", of_words, 0), ("transformer('a/b')", pretrained, 1)):
        for more, lr in (("", rates[0]), ("+ { task_net_lr: 0.5, head_lr: null, scheduler: null }", 0.5)):
            call = f"lib.experiment(lib.data.sample, lib.encoder.{encoder}, lib.method.cross_entropy(), "
            player = library_value(f"{library}.libsonnet", f"{call} lib.training.{training} {more}).trainer.task_net")
            optimizer = player["optimizer"]
            heads = [group["lr"] for _, group in optimizer.get("parameter_groups", [])]
            assert optimizer["lr"] == lr
            assert heads == ([rates[1]] if rates[1] and not more else [])
            assert ("learning_rate_scheduler" in player) == (scheduled[schedule] and not more)
