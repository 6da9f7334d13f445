"""Fields of instances: for labels that the vocabulary may lack, for words, and for the names of a table's columns."""

import copy
from collections.abc import Sequence
from typing import Any, Optional, TypeVar, Union

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Field, Instance, Vocabulary
from allennlp.data.fields import MetadataField, MultiLabelField, SequenceField, SequenceLabelField

from seal.common.tag_encodings import convert_tags, learned_encoding
from seal.common.tag_notation import notation_of
from seal.common.vocabularies import NOTATIONS, WRITTEN
from seal.files.names import composed
from seal.tasks.base.token_forms import count_forms

F = TypeVar("F", bound=Field)


def field_of(instance: Instance, name: str, kind: type[F]) -> F:
    """The field `name` of an instance, typed as `kind`."""
    field = instance[name]
    assert isinstance(field, kind)
    return field


class KnownLabelsField(SequenceLabelField):
    """
    A `SequenceLabelField` of strings in which a label that the vocabulary lacks gets the index 0. AllenNLP's field
    would raise a `KeyError`, since label namespaces have no unknown entry. Models find unknown labels in the metadata:
    they count as missed in evaluation and are an error in training (`UnknownGold`). Labels that are indices bypass the
    vocabulary.

    # Parameters

    labels, sequence_field, label_namespace : as in `SequenceLabelField`
    notation : `Optional[str]`, optional (default = `None`)
        The `TagNotation.name` of the file's span tags. The vocabulary stores it, so that predictions are written in the
        same notation.
    encoding : `Optional[str]`, optional (default = `None`)
        `"BIO"` or `"BIOES"`: the encoding of `labels`, if it was recognised in a file. For a model that has learned the
        other encoding, `index` rewrites the tags, in the given list, which the metadata of the instance has, too.
    """

    def __init__(
        self,
        labels: Union[list[str], list[int]],
        sequence_field: SequenceField,
        label_namespace: str = "labels",
        notation: Optional[str] = None,
        encoding: Optional[str] = None,
    ) -> None:
        super().__init__(labels, sequence_field, label_namespace)
        self._notation, self._encoding = notation, encoding

    def count_vocab_items(self, counter: dict[str, dict[str, int]]) -> None:
        super().count_vocab_items(counter)
        if self._notation is not None:
            counter[NOTATIONS][self._notation] += 1

    def index(self, vocab: Vocabulary) -> None:
        if self._indexed_labels is None:
            known = vocab.get_token_to_index_vocabulary(self._label_namespace)
            if self._encoding is not None:
                learned = learned_encoding(known)
                if learned != self._encoding and notation_of(vocab) is not None:
                    self.labels[:] = convert_tags(self.labels, self._encoding, learned)
            self._indexed_labels = [known.get(str(label), 0) for label in self.labels]


class LabelSetField(MultiLabelField):
    """
    A `MultiLabelField` of names with a floating-point tensor. It leaves out labels that the vocabulary lacks, for which
    AllenNLP's field would raise a `KeyError`.
    """

    def index(self, vocab: Vocabulary) -> None:
        known = vocab.get_token_to_index_vocabulary(self._label_namespace)
        self._label_ids = [known[label] for label in self.labels if label in known]
        self._num_labels = len(known)

    def as_tensor(self, padding_lengths: dict[str, int]) -> torch.Tensor:
        """0 or 1: `(labels,)`."""
        return super().as_tensor(padding_lengths).float()


class WordsField(MetadataField):
    """
    The metadata of a sentence. From its `words` the vocabulary counts the forms of brackets, quotes and similar signs;
    prediction rewrites raw text in these forms.
    """

    def count_vocab_items(self, counter: dict[str, dict[str, int]]) -> None:
        for form, count in count_forms(self.metadata["words"]).items():
            counter[WRITTEN][form] += count


class NamedColumns:
    """
    The names of a table's columns, stored in a namespace of the vocabulary. With them a model finds its columns in
    files that have them in another order.

    # Parameters

    names : `list[str]`
    namespace : `str`
        A namespace without padding and unknown entries.
    what : `str`
        The name of a column's kind, such as `"attribute"`, for messages.
    source : `str`
        The file of the names.
    wheres : `dict[str, str]`, optional (default = `None`)
        `file:line` of the names, as far as known.
    """

    def __init__(
        self, names: list[str], namespace: str, what: str, source: str, wheres: Optional[dict[str, str]] = None
    ) -> None:
        self.names = names
        self.namespace = namespace
        self._what = what
        self._source = source
        self._wheres = wheres or {}
        # Cached, because every row needs it if rows are instances.
        self._order: Optional[tuple[Vocabulary, numpy.ndarray]] = None

    def count(self, counter: dict[str, dict[str, int]]) -> None:
        """Counts every name once, so that the vocabulary preserves their order."""
        for name in self.names:
            counter[self.namespace][name] += 1

    def order(self, vocab: Vocabulary) -> numpy.ndarray:
        """
        # Returns

        `numpy.ndarray`, `(columns,)`: the table's column of each of the vocabulary's entries.

        # Raises

        `ConfigurationError` if the names and the vocabulary's entries differ as sets, or a name occurs twice.
        """
        if self._order is None or self._order[0] is not vocab:
            self._order = (vocab, self._order_of(vocab))
        return self._order[1]

    def _order_of(self, vocab: Vocabulary) -> numpy.ndarray:
        known = vocab.get_token_to_index_vocabulary(self.namespace)
        if not known.keys() >= set(self.names):
            # An older model has names of labels that are not in Unicode's composed form.
            known = {name if name in self.names else composed(name): index for name, index in known.items()}
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise ConfigurationError(f"{self._source}: the {self._what} '{name}' is there twice.")
            seen.add(name)
            if name not in known:
                where = self._wheres.get(name, self._source)
                raise ConfigurationError(
                    f"{where}: the {self._what} '{name}' is not among those the model was trained with."
                )
        if len(known) > len(self.names):
            missing = next(name for name in known if name not in seen)
            raise ConfigurationError(
                f"{self._source}: the {self._what} '{missing}' is missing, which the model was trained with."
            )
        order = numpy.empty(len(self.names), dtype=numpy.int64)
        order[[known[name] for name in self.names]] = numpy.arange(len(self.names))
        return order

    def ordered(self, order: numpy.ndarray) -> "NamedColumns":
        """The same names in another order."""
        return NamedColumns([self.names[i] for i in order], self.namespace, self._what, self._source, self._wheres)


class NamesField(MetadataField):
    """The metadata of a row: its source and `more` entries. The vocabulary counts the names of `columns` from it."""

    def __init__(self, source: Optional[str], columns: Sequence[NamedColumns], **more: Any) -> None:
        super().__init__({"source": source, **more})
        self._columns = columns

    def count_vocab_items(self, counter: dict[str, dict[str, int]]) -> None:
        for column in self._columns:
            column.count(counter)


def replace_fields(instance: Instance, known: dict[str, Any], **fields: Field) -> Instance:
    """A copy of an indexed instance with the metadata updated by `known` and with new, indexed `fields`."""
    # The copy keeps the class of the field.
    metadata: Any = copy.copy(instance["metadata"])
    metadata.metadata = {**metadata.metadata, **known}
    copied = Instance({**instance.fields, **fields, "metadata": metadata})
    copied.indexed = True
    return copied
