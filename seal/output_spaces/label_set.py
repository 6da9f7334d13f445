from seal.common.vocabularies import Vocabulary, labels_of
from seal.output_spaces.binary_variables import BinaryVariables
from seal.output_spaces.output_space import OutputSpace
from seal.registry import ConfigurationError


@OutputSpace.register("label_set")
class LabelSet(BinaryVariables):
    """
    Any number of `L` labels, each present or absent independently of the others (`BinaryVariables`). `logits` is
    `(batch, labels)`.

    # Parameters

    vocab : `Vocabulary` or `list[str]`
        With the labels, or a list of them.
    namespace : `str`, optional (default = `"labels"`)
        The vocabulary's namespace of the labels.

    # Raises

    `ConfigurationError` if the namespace holds no labels.
    """

    no_mask_because = "every instance has all labels"

    def __init__(self, vocab: Vocabulary, namespace: str = "labels") -> None:
        super().__init__()
        self.namespace = namespace
        self.labels = labels_of(vocab, namespace)
        self.num_labels = len(self.labels)
        if self.num_labels == 0:
            raise ConfigurationError(
                f"output_space.namespace: the vocabulary has no labels in '{namespace}'; name the namespace "
                "the dataset reader gives its labels; or no example of the training data has one."
            )
