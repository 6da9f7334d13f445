import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, Vocabulary
from allennlp.data.fields import TextField

from seal.dataset_readers.known_labels import KnownLabelsField


def test_an_unknown_label_names_its_place_and_itself():
    vocab = Vocabulary(tokens_to_add={"srl_tags": ["O", "B-V"]})
    words = TextField([Token("cats"), Token("sleep")])
    known = KnownLabelsField(["O", "B-V"], words, "srl_tags", "dev.conll:7")
    known.index(vocab)
    assert known.as_tensor(known.get_padding_lengths()).tolist() == [0, 1]
    with pytest.raises(ConfigurationError, match=r"^dev.conll:7: the label 'B-ARG7' is not in"):
        KnownLabelsField(["B-ARG7", "B-V"], words, "srl_tags", "dev.conll:7").index(vocab)
