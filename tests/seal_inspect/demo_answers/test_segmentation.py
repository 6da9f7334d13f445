import base64
import io

import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from PIL import Image

from seal.tasks.segmentation import SegmentationReader
from seal_inspect.demo_alternatives import ALTERNATIVES
from seal_inspect.demo_answers import answers_of
from tests import segmentation
from tests.seal_inspect.demo_models import MASK_PARTS, archived, blocks_of


def test_masks_over_the_image(tmp_path):
    net = segmentation.model(task_net=segmentation.TASK_NET, size=[10, 12]).float()
    path = segmentation.write_npz(tmp_path)
    answers = answers_of("shapes", archived(net, SegmentationReader(), "seal_segmentation", path))
    assert answers.about()["asks"] == "image"
    example = answers.about()["examples"][0]
    original = Image.open(io.BytesIO(base64.b64decode(example.partition(",")[2])))
    assert numpy.array(original) == pytest.approx(segmentation.arrays()["images"][0], abs=1)
    (block,) = blocks_of(answers, example)
    mask = Image.open(io.BytesIO(base64.b64decode(block["mask"].partition(",")[2])))
    assert mask.size == (12, 10) and set(numpy.unique(mask)) <= {0, 255}
    assert "of 12 x 10 pixels" in block["text"] or "in 12 x 10 pixels" in block["text"]
    for wrong in ("", "data:image/png;base64,!!", "data:image/png;base64,aGVsbG8=", "/etc/passwd"):
        with pytest.raises(ConfigurationError) as error:
            blocks_of(answers, wrong)
        assert str(tmp_path) not in str(error.value) and "/tmp" not in str(error.value)


@pytest.mark.parametrize("size", [[10, 12], 8])
def test_masks_that_competed(size, tmp_path):
    net = segmentation.model(**MASK_PARTS, task_net=segmentation.TASK_NET, size=size).float()
    path = segmentation.write_npz(tmp_path)
    answers = answers_of("shapes", archived(net, SegmentationReader(), "seal_segmentation", path))
    example = answers.about()["examples"][0]
    (block,), (again,) = blocks_of(answers, example), blocks_of(answers, example)
    alternatives = block["alternatives"]
    assert alternatives == again["alternatives"] and len(alternatives) == ALTERNATIVES
    scores = [one["numbers"]["log-probability"] for one in alternatives]
    assert max(scores) == scores[0] and alternatives[0]["chosen"]
    assert all(one["numbers"]["energy of the loss-net"] is not None for one in alternatives)
    mask = Image.open(io.BytesIO(base64.b64decode(alternatives[1]["image"].partition(",")[2])))
    assert mask.size == ((12, 10) if size != 8 else (8, 8)) and set(numpy.unique(mask)) <= {0, 255}
