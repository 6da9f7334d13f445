"""A wrong setting, or a wrong value, is named."""

from functools import partial

import pytest
import torch

from seal.output_spaces import BinaryMask, LabelSet, LegalTagSequence, LinearTree, TagSequence
from seal.registry import ConfigurationError
from tests.output_spaces.test_chain import crf, legal_bio
from tests.output_spaces.test_given_outputs import INDICES, LOGITS, SHARES, TAGS
from tests.spine import LABELS, DenseSpace, vocabulary
from tests.trees import SYMBOLS

LABEL_SET, MASK, ONES = LabelSet(["a", "b", "c"]), BinaryMask([4, 3]), torch.ones(2, 5, 4, 3)
OUTPUTS = [
    (TAGS, INDICES + 3, "0 to 2 .*3"),
    (TAGS, INDICES - 1, "0 to 2 .*-1"),
    (TAGS, INDICES.float(), "torch.int64.*torch.float32"),
    (TAGS, SHARES * 4, "0 to 1 .*1.33333"),
    (TAGS, SHARES - 1, "0 to 1 .*-0.666667"),
    (TAGS, SHARES * float("nan"), "nan"),
    (TAGS, SHARES.double(), "torch.float32.*torch.float64"),
    (TAGS, SHARES.long(), "torch.float32.*torch.int64"),
    (TAGS, INDICES[0], r"\(2, candidates, 4\).*\(5, 4\)"),
    (TAGS, INDICES.numpy(), "ndarray"),
    (LABEL_SET, 2 * ONES[:, :, 0], "0 to 1"),
    (LABEL_SET, -ONES[:, :, 0].long(), "0 to 1"),
    (MASK, ONES * float("nan"), "nan"),
    (MASK, ONES.to(torch.complex64), "torch.complex64"),
    (MASK, ONES[..., 0], r"\(2, candidates, 4, 3\)"),
]


@pytest.mark.parametrize(
    "make, named",
    [
        *((partial(BinaryMask, size), "output_space.size") for size in (0, [3], [3, 0], [1, 2, 3])),
        (lambda: LegalTagSequence(vocabulary(LABELS), encoding=None), "encoding"),
        (lambda: LabelSet(vocabulary(["a"], "topic_labels")), "output_space.namespace.*'labels'"),
        (partial(LinearTree, ["B-A", "I-A", "O"]), "symbols"),
        (partial(LinearTree, ["XX", ")"]), "symbols"),
        (partial(LinearTree, SYMBOLS, max_opened=0), "max_opened"),
        (lambda: TagSequence(vocabulary(["O", "NOUN"]), constrained=False), "NOUN"),
        (lambda: TagSequence(vocabulary(), namespace="role_tags"), "output_space.namespace.*'role_tags'"),
        (lambda: TagSequence(vocabulary(), encoding="BIOUL"), "output_space.encoding.*'BIOUL'"),
    ],
)
def test_it_is_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()


@pytest.mark.parametrize("space, outputs, named", OUTPUTS)
def test_outputs_of_the_wrong_kind_are_named(space, outputs, named):
    logits = {TAGS: LOGITS, LABEL_SET: torch.zeros(2, 3), MASK: torch.zeros(2, 4, 3)}[space]
    with pytest.raises(ConfigurationError, match=f"outputs: .*{named}"):
        space.check_outputs(outputs, logits)


@pytest.mark.parametrize(
    "make, kind, named",
    [
        (lambda: MASK.relax(torch.zeros(1, 4, 3), torch.ones(1, 4)), TypeError, "BinaryMask"),
        (lambda: crf().log_prob(torch.zeros(1, 3, 5).double(), torch.rand(1, 1, 3, 5)), TypeError, "CrfTagSequence"),
        (lambda: legal_bio().relaxed_sample(torch.zeros(1, 2, 5), 1), NotImplementedError, "LegalTagSequence"),
        (lambda: DenseSpace().relaxed_sample(torch.zeros(1, 2), 3), NotImplementedError, "DenseSpace"),
        (lambda: DenseSpace().project(torch.zeros(1, 1, 2)), NotImplementedError, "DenseSpace"),
        (lambda: DenseSpace().to_logits(torch.zeros(1, 1, 2)), NotImplementedError, "DenseSpace"),
    ],
)
def test_what_a_space_lacks_is_named(make, kind, named):
    with pytest.raises(kind, match=named):
        make()
