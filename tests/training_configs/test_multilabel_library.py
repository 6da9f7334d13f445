"""What the library of label sets makes of its settings."""

import pytest
from allennlp.common import Params
from allennlp.models import Model

from scripts.measure.configs import library_value
from tests.experiments import config, expression
from tests.multilabel import SIZES, vocabulary


def model_of(method, settings):
    return config("multilabel", "sample", method, settings)["model"]


@pytest.mark.parametrize("method", ["dvn", "static_regression"])
def test_a_regression_may_follow_the_path_of_its_search(method):
    """The same search with all its points, and gold; the loss is their mean, so that its scale stays."""
    plain, path = (model_of(method, f"inference_optimizer='sgd',search_path={given}") for given in ("false", "true"))
    search, adversarial = plain["sampler"]["samplers"]
    assert search["optimizer"] == adversarial["optimizer"] == "sgd" and "keep" not in search
    assert path["sampler"]["samplers"] == [{**search, "keep": "trajectory"}, adversarial, "gold"]
    assert plain["energy_loss"] == {"type": "regression"}
    assert path["energy_loss"] == {"type": "regression", "reduction": "mean"}


@pytest.mark.parametrize("method", ["spen", "dvn", "nce_energy"])
def test_the_search_that_predicts_may_have_more_steps(method):
    plain, more = (model_of(method, f"inference_steps=30{given}") for given in ("", ",prediction_steps=40"))
    assert plain["inference"]["num_steps"] == 30
    assert more == {**plain, "inference": {**plain["inference"], "num_steps": 40}}


@pytest.mark.parametrize("method", ["cross_entropy", "dvn", "static_regression", "nce", "implicit_cd"])
def test_weights_may_be_averaged(method):
    plain, averaged = (
        config("multilabel", "sample", method, given)["trainer"] for given in ("", "average_weights=0.999")
    )
    assert "moving_average" not in plain
    assert averaged == {**plain, "moving_average": {"type": "exponential", "decay": 0.999}}


def test_the_energy_of_noisy_outputs_may_be_fitted_at_gold_too():
    plain, anchored = (model_of("regression_s", given) for given in ("", "anchors=true"))
    assert plain["sampler"]["type"] == "gaussian_perturbation"
    assert anchored == {**plain, "sampler": {"type": "stack", "samplers": [plain["sampler"], "gold"]}}
    with pytest.raises(RuntimeError, match="settings: 'anchors' changes nothing for 'nce'"):
        model_of("nce", "anchors=true")


def test_two_methods_have_the_order_of_the_first_code():
    of = [("spo_fun", "regression"), ("bibtex", "regression"), ("delicious", "ranking"), ("bibtex", "ranking")]
    trainers = [config("multilabel", data, method, "")["trainer"] for data, method in of]
    assert [trainer.get("interleaved") for trainer in trainers] == [True, None, True, None]


# The papers' numbers.

# SEAL, ICLR 2022 submission, Tables 4 to 10: the energy's weight, the number of samples, and the learning rates of the
# loss-net and the task-net.
TABLES = {
    "genbase": {
        "margin": (0.001, None, 0.0002, 0.001),
        "regression": (0.002, None, 0.0003, 0.001),
        "regression_s": (0.03, 20, 0.0004, 0.001),
        "nce": (0.002, 100, 0.0005, 0.001),
        "ranking": (0.002, 100, 0.000015, 0.001),
    },
    "cal500": {
        "margin": (0.001, None, 0.0005, 0.008),
        "regression": (1.4, None, 0.006, 0.007),
        "regression_s": (9, 5, 0.008, 0.006),
        "nce": (0.4, 40, 0.007, 0.005),
        "ranking": (8, 80, 0.003, 0.0001),
    },
    "delicious": {
        "margin": (0.0002, None, 0.002, 0.004),
        "regression": (8, None, 0.0001, 0.00015),
        "regression_s": (9, 5, 0.0001, 0.003),
        "nce": (0.9, 20, 0.002, 0.001),
        "ranking": (1, 60, 0.0008, 0.0001),
    },
    "eurlexev": {
        "margin": (0.001, None, 0.0003, 0.002),
        "regression": (0.002, None, 0.0006, 0.004),
        "regression_s": (0.01, 20, 0.0004, 0.007),
        "nce": (0.5, 40, 0.001, 0.002),
        "ranking": (0.3, 40, 0.0003, 0.002),
    },
    "expr_fun": {
        "margin": (0.01, None, 0.00003, 0.001),
        "regression": (0.02, None, 0.0003, 0.0006),
        "regression_s": (2, 30, 0.007, 0.002),
        "nce": (4, 80, 0.00005, 0.0002),
        "ranking": (1, 40, 0.008, 0.0005),
    },
    "spo_fun": {
        "margin": (0.08, None, 0.0001, 0.002),
        "regression": (9, None, 0.001, 0.00015),
        "regression_s": (0.02, 10, 0.0002, 0.0009),
        "nce": (0.7, 60, 0.008, 0.0005),
        "ranking": (1.5, 40, 0.004, 0.002),
    },
    "bibtex": {
        "margin": (0.0002, None, 0.00005, 0.001),
        "regression": (3, None, 0.005, 0.003),
        "regression_s": (9, 10, 0.005, 0.001),
        "nce": (5, 20, 0.0004, 0.001),
        "ranking": (9, 40, 0.00005, 0.001),
    },
}


@pytest.mark.parametrize("dataset", SIZES)
def test_the_nets_are_those_of_the_papers(dataset):
    attributes, labels, num_layers, hidden_dim, patterns, task_net, loss_net, _, _ = SIZES[dataset]
    model = config("multilabel", dataset, "nce")["model"]
    for net in ("task_net", "loss_net"):
        encoder = model[net]["encoder"]
        assert (encoder["hidden_dim"], encoder["num_layers"]) == (hidden_dim, num_layers)
    assert model["loss_net"]["energies"][1]["hidden_dim"] == patterns
    vocab = vocabulary(map(str, range(labels)), map(str, range(attributes)))
    built = Model.from_params(Params(model), vocab=vocab)
    found = [sum(parameter.numel() for parameter in net.parameters()) for net in (built.task_net, built.loss_net)]
    assert found == [task_net, loss_net]


@pytest.mark.parametrize("dataset", TABLES)
def test_the_settings_are_those_of_the_papers(dataset):
    rows = TABLES[dataset]
    of_rows = ", ".join(f"{method}: {expression('multilabel', dataset, method)}" for method in rows)
    for method, experiment in library_value("multilabel.libsonnet", f"{{ {of_rows} }}").items():
        weight, num_samples, loss_net_lr, task_net_lr = rows[method]
        model, trainer = experiment["model"], experiment["trainer"]
        assert model["task_loss"]["energy_weight"] == weight, method
        assert trainer["loss_net"]["optimizer"]["lr"] == loss_net_lr, method
        assert trainer["task_net"]["optimizer"]["lr"] == task_net_lr, method
        assert model["sampler"].get("num_samples") == num_samples, method


def evaluated(data, method, training="{}"):
    call = f"lib.experiment(data=lib.data.sample {data}, method=lib.method.{method}, training={training})"
    return library_value("multilabel.libsonnet", call)


def test_self_training():
    config = evaluated("{ unlabelled: 'raw.arff' }", "self_training(hard=true)", "{ batches_per_epoch: 7 }")
    assert config["trainer"]["self_training"] == {"unlabelled": "raw.arff", "hard": True, "labelled_share": 0.5}
    assert config["trainer"]["folds"] == 3 and config["model"]["structure"] == {"type": "label_sets"}
    assert config["data_loader"]["batches_per_epoch"] == 7
    alone = evaluated("{ unlabelled: 'raw.arff' }", "self_training(over='cross_entropy')")
    assert "structure" not in alone["model"] and "folds" not in alone["trainer"]
    assert "batches_per_epoch" not in alone["data_loader"]
    assert "self_training" not in evaluated("{ unlabelled: 'raw.arff' }", "structured()")["trainer"]
    distilled = evaluated("{}", "distilled()")
    assert distilled["trainer"]["self_training"] == {"distil": True, "hard": False, "labelled_share": 0.5}
    for data, over, message in (("{}", "structured", "'unlabelled'"), ("{ unlabelled: 'raw.arff' }", "sael", "sael")):
        with pytest.raises(RuntimeError, match=message):
            evaluated(data, f"self_training(over='{over}')")


def test_self_training_over_a_method():
    """As in the other tasks; the settings of that method are those of the whole."""
    data = "{ unlabelled: 'raw.arff' }"
    named, called = (evaluated(data, f"self_training(over={over})") for over in ("'nce'", "lib.method.nce()"))
    assert named == called
    taught = evaluated(data, "self_training(over=lib.method_for.bibtex.nce(num_samples=7), hard=true)")
    assert taught["trainer"].pop("self_training") == {"unlabelled": "raw.arff", "hard": True, "labelled_share": 0.5}
    call = "lib.experiment(data=lib.data.sample, method=lib.method_for.bibtex.nce(num_samples=7))"
    assert taught == library_value("multilabel.libsonnet", call)
    own = "lib.method.own({ type: 'gold' }, { type: 'gold_energy' }, energy_weight=2)"
    config = evaluated(data, f"self_training(over={own})")
    assert config["model"]["sampler"] == {"type": "gold"} and config["model"]["task_loss"] == {"energy_weight": 2}
    with pytest.raises(RuntimeError, match="'over'"):
        evaluated(data, "nce(over=lib.method.cross_entropy())")


def test_a_learned_partition_function_is_a_term_of_the_energy():
    nce, partition = (evaluated("", f"{method}()") for method in ("nce", "partition"))
    assert partition["model"].pop("energy_loss") == {"type": "partition"}
    assert partition["model"]["loss_net"]["energies"].pop() == "log_partition"
    del nce["model"]["energy_loss"]
    assert partition == nce
