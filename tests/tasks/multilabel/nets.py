"""Small, untrained models for the tests of multi-label prediction: all but their thresholds is random."""

import torch
from allennlp.data import Vocabulary

from seal.tasks.multilabel import MultilabelPredictor
from seal.tasks.multilabel.reader import MultilabelReader
from tests.multilabel import DESCENT, LABELS, LOSS_NET, model, seal_parts

# The attributes in the order of the vocabularies here. In the file the order is weight, ripe, size.
ORDER = ["size", "weight", "ripe"]
ROWS_IN_ORDER = [[2.5, 1, 0.5], [-1, 0.5, 3], [0, 2, 1], [4, -1, 2]]
ENERGY_ONLY = {
    "loss_net": LOSS_NET,
    "sampler": DESCENT,
    "energy_loss": {"type": "regression"},
    "inference": DESCENT,
}


def vocabulary(attributes):
    vocab = Vocabulary()
    for namespace, names in (("labels", LABELS), ("attribute_labels", attributes)):
        for name in names:
            vocab.add_token_to_namespace(name, namespace)
    return vocab


def net(attributes=ORDER, tuned=True, **parts):
    # The predicted labels differ from row to row, under every decision.
    made = model(5, vocabulary(attributes), **(parts or seal_parts())).float()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(1.5)
    if tuned:
        made.is_tuned.fill_(True)
        made.tuned_threshold.fill_(0.3)
        made.label_thresholds.copy_(torch.tensor([0.1, 0.6, 0.9]))
    return made


def predictor(reader=None, **arguments):
    return MultilabelPredictor(net(), reader or MultilabelReader(), **arguments)


def by_hand(made, rows, thresholds=0.5):
    """Probabilities of the task-net, and the names of the predicted labels, the likeliest first."""
    with torch.no_grad():
        logits, *_ = made.eval().task_net({"features": torch.tensor(rows, dtype=torch.float)})
    probabilities = torch.sigmoid(logits).tolist()
    if isinstance(thresholds, float):
        thresholds = [thresholds] * len(LABELS)
    labels = []
    for row in probabilities:
        chosen = [(p, name) for p, name, least in zip(row, LABELS, thresholds) if p >= least]
        labels.append([name for _, name in sorted(chosen, reverse=True)])
    return probabilities, labels
