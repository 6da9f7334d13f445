import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from sklearn.metrics import accuracy_score, jaccard_score

from seal.tasks.segmentation import MaskScore


def example(seed, images=5):
    random = numpy.random.default_rng(seed)
    return torch.tensor(random.random((images, 4, 6))), torch.tensor(random.random((images, 4, 6)) < 0.4)


def test_against_sklearn():
    score = MaskScore()
    everything = [example(0), example(1, images=3)]
    for probabilities, gold in everything:
        score(probabilities, gold.double())
    found = score.get_metric(reset=True)
    predicted = (torch.cat([p for p, _ in everything]) >= 0.5).flatten(1).numpy()
    gold = torch.cat([g for _, g in everything]).flatten(1).numpy()
    each = [jaccard_score(theirs, ours) for theirs, ours in zip(gold, predicted)]
    assert found["mean_iou"] == pytest.approx(100 * numpy.mean(each))
    assert found["global_iou"] == pytest.approx(100 * jaccard_score(gold.ravel(), predicted.ravel()))
    assert found["pixel_accuracy"] == pytest.approx(100 * accuracy_score(gold.ravel(), predicted.ravel()))
    assert found["mean_iou"] != pytest.approx(found["global_iou"], abs=0.01)
    assert score.get_metric() == {"mean_iou": 0.0, "global_iou": 0.0, "pixel_accuracy": 0.0}


@pytest.mark.parametrize("empty_iou", [1.0, 0.0])
def test_an_image_without_foreground(empty_iou):
    score = MaskScore(empty_iou)
    score(torch.tensor([[[0.1]], [[0.5]]]), torch.tensor([[[0]], [[1]]]))
    assert score.get_metric(reset=True)["mean_iou"] == 50 * (1 + empty_iou)
    score(torch.tensor([[[0.1]]]), torch.tensor([[[0]]]))
    assert score.get_metric(reset=True)["global_iou"] == 100 * empty_iou
    # Nothing predicted where there is foreground, and the other way round, are wrong either way.
    score(torch.tensor([[[0.1]], [[0.9]]]), torch.tensor([[[1]], [[0]]]))
    assert score.get_metric()["mean_iou"] == 0


def test_an_iou_that_is_none():
    with pytest.raises(ConfigurationError, match="model.empty_iou"):
        MaskScore(1.5)
