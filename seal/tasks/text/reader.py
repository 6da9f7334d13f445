"""
The dataset reader for multi-label classification of texts.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance, Token, Tokenizer
from allennlp.data.fields import TextField
from allennlp.data.tokenizers import PretrainedTransformerTokenizer, WhitespaceTokenizer

from seal.common.setting_checks import abbreviate, check_choice, check_range, with_parameters_of
from seal.common.vocabularies import LABELS
from seal.files.names import check_text
from seal.files.paths import expanded, not_empty
from seal.files.taxonomy import Taxonomy
from seal.tasks.base.fields import LabelSetField, NamedColumns, NamesField
from seal.tasks.base.sentence_reader import SentenceReader
from seal.tasks.text.label_scheme import LabelScheme
from seal.tasks.text.labelled_texts import (
    FORMATS,
    LabelledText,
    TextOptions,
    read_labelled_texts,
    text_of,
)

logger = logging.getLogger(__name__)


@DatasetReader.register("seal_text_multilabel")
class TextMultilabelReader(SentenceReader):
    """
    Reads texts, each with any number of labels: JSON lines, CSV, and TSV with names or numbers for labels; see
    `labelled_texts`. The fields of an instance:

    - `tokens`: the text's words or wordpieces.
    - `labels`: 0 or 1 for each label of the vocabulary's namespace `labels`; absent without gold.
    - `metadata`: a dictionary of `labels` (the names, or `None` without gold) and `source` (`file:line` of the text, or
      `None`).

    A path is a file, packed or not, or a pattern with `*`.

    The settings for a transformer, which reads the ids of wordpieces:

        {type: 'seal_text_multilabel', max_tokens: 128,
         tokenizer: {type: 'pretrained_transformer', model_name: 'NAME', add_special_tokens: false},
         token_indexers: {tokens: {type: 'pretrained_transformer', model_name: 'NAME'}}}

    # Parameters

    As for `SentenceReader`, except `also_check`.
    The limit of Yang et al. 2018 on words is 500.

    format : `Optional[str]`, optional (default = `None`)
        `"json_lines"`, `"csv"`, `"tsv"` (names) or `"indexed_tsv"` (numbers). `None`: by the file's name, or its first
        line; a `.tsv` has numbers where `labels` lists their names, and names otherwise.
    labels : `Optional[str]`, optional (default = `None`)
        A file with the name of a label a line. All of them are labels of the model, whether or not a text has them,
        and the data may have no others. Formats with numbers in place of names need it.
    taxonomy : `Optional[str]`, optional (default = `None`)
        A file that says which label is below which (see `read_taxonomy_file`).
    ancestors : `bool`, optional (default = `False`)
        Whether to give a text all ancestors of its labels in the `taxonomy`. How many labels the taxonomy lacks is
        logged.
    text_keys : `Optional[list[str]]`, optional (default = `None`)
        For JSON and CSV: the keys or columns whose texts are joined, such as `["title", "text"]`.
    label_columns : `Optional[list[str]]`, optional (default = `None`)
        For CSV or JSON with a column or key for each label, 1 where a text has it and 0 elsewhere: these columns.
        `None`: they are found where at most two columns have anything else (see `read_csv`).
    tokenizer : `Optional[Tokenizer]`, optional (default = `WhitespaceTokenizer()`)
        A transformer's tokenizer needs `add_special_tokens: false` and no `max_length`: the reader itself adds special
        tokens and cuts texts.
    max_tokens : `Optional[int]`, optional (default = `None`)
        The number of tokens, special ones included, after which a text is cut. How many texts of a file are cut is
        logged, and so is each that is cut in the prediction of raw text.

    # Raises

    `ConfigurationError`
        Where an option is out of range, a file is malformed, no text of a path has a label, or the taxonomy for
        `ancestors` has no label of the list or, without one, of a path with at least 10 labels.
    """

    @with_parameters_of(SentenceReader.__init__, without=("also_check",))
    def __init__(
        self,
        *,
        format: Optional[str] = None,
        labels: Optional[str] = None,
        taxonomy: Optional[str] = None,
        ancestors: bool = False,
        text_keys: Optional[list[str]] = None,
        label_columns: Optional[list[str]] = None,
        tokenizer: Optional[Tokenizer] = None,
        max_tokens: Optional[int] = None,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        check_choice("dataset_reader.format", format, (*FORMATS, None))
        self._format = format
        self._tokenizer = tokenizer or WhitespaceTokenizer()
        self.max_tokens = max_tokens
        _check_limit(self._tokenizer, max_tokens)
        if max_tokens is not None and isinstance(self._tokenizer, PretrainedTransformerTokenizer):
            # It tokenizes whole texts, and would warn of tokens that the transformer never gets.
            self._tokenizer.tokenizer.deprecation_warnings[_TOO_LONG] = True
        self._scheme = LabelScheme(labels, taxonomy, ancestors)
        self._text_keys = tuple(text_keys) if text_keys else None
        self._label_columns = tuple(label_columns) if label_columns else None

    def taxonomy(self) -> Optional[Taxonomy]:
        """The taxonomy of the file `taxonomy`; `None` if it is not set."""
        return self._scheme.taxonomy()

    def text_of(self, record: dict[str, Any]) -> str:
        """
        The text of an object of JSON, as `text_keys` join it.

        # Raises

        `ConfigurationError` if a key is missing, or holds no text.
        """
        return text_of(record, self._text_keys)

    def _read(self, file_path: str) -> Iterator[Instance]:
        scheme, cut, count = self._scheme, 0, 0
        names = scheme.names()
        # Read before the texts, so that a mistake in it is reported at once.
        scheme.taxonomy()
        found: dict[str, None] = {}
        # The first instance names the listed labels to the vocabulary, for all texts.
        columns = [NamedColumns(names, LABELS, "label", scheme.labels_path)] if names and scheme.labels_path else []
        try:
            texts = self._short_enough(file_path, self._texts(file_path))
            for text in self._shard(_noting_labels(texts, found)):
                tokens, is_cut = self._tokens(text.text, text.source)
                cut, count = cut + is_cut, count + 1
                yield self._instance(tokens, scheme.complete(text.labels, text.source), text.source, columns)
                columns = []
            if not found:
                raise ConfigurationError(
                    f"{file_path}: no text has a label; is this the file with the labels filled in? (To predict, leave "
                    "--use-dataset-reader out.)"
                )
            scheme.check_placed(list(found), file_path)
        finally:
            # Also where `max_instances` ends the reading.
            if cut:
                logger.warning("%s: cut %d of %d texts at %d tokens", file_path, cut, count, self.max_tokens)

    def _of_line(self, line: str, source: str) -> Instance:
        return self.text_to_instance(line, source=source)

    def _without_gold(self, file_path: str) -> Iterator[Instance]:
        # To `_read` a file without any label is a mistake.
        return (self.text_to_instance(text.text, source=text.source) for text in self._texts(file_path))

    def texts(self, file_path: str) -> Iterator[tuple[str, list[str]]]:
        """Yields the unchanged texts of a file or a part of one, each with its labels as completed by `_read`."""
        for text in self._texts(file_path):
            yield text.text, self._scheme.complete(text.labels, text.source)

    def _texts(self, file_path: str) -> Iterator[LabelledText]:
        options = TextOptions(self._scheme.names(), self._text_keys, self._label_columns)

        def texts_of(path: str) -> Iterator[LabelledText]:
            for file in expanded(path):
                texts = read_labelled_texts(file, self._format, options)
                yield from not_empty(texts, f"{file}:1: the file holds no text.")

        return not_empty(self._of_part(file_path, texts_of), f"{file_path}: this part holds no text.")

    def _tokens(self, text: str, source: Optional[str] = None) -> tuple[list[Token], bool]:
        """The tokens of a text, special ones included, and whether the text was cut."""
        where = f"{source}: " if source else ""
        if not text.strip():
            raise ConfigurationError(f"{where}the text is empty.")
        check_text(text, f"{where}the text")
        tokens = self._tokenizer.tokenize(text)
        if not tokens:
            raise ConfigurationError(f"{where}the tokenizer makes no token of the text {text[:40]!r}.")
        cut = False
        if self.max_tokens is not None:
            room = self.max_tokens - self._tokenizer.num_special_tokens_for_sequence()
            cut = len(tokens) > room
            tokens = tokens[:room]
        return self._tokenizer.add_special_tokens(tokens), cut

    def text_to_instance(self, text: str, labels: Optional[list[str]] = None, source: Optional[str] = None) -> Instance:
        """
        One instance, without token indexers (`apply_token_indexers` adds them). A warning tells that the text is cut.

        # Parameters

        text : `str`
        labels : `Optional[list[str]]`
            `None` where there is no gold.
        source : `Optional[str]`
            Where the text is from, for messages.

        # Raises

        `ConfigurationError` if the text is empty.
        """
        tokens, is_cut = self._tokens(text, source)
        if is_cut:
            where = f"{source}: " if source else ""
            logger.warning("%scut the text %s at %d tokens", where, abbreviate(text), self.max_tokens)
        return self._instance(tokens, labels, source)

    def _instance(
        self,
        tokens: list[Token],
        labels: Optional[list[str]],
        source: Optional[str],
        columns: Sequence[NamedColumns] = (),
    ) -> Instance:
        fields: dict[str, Field] = {"tokens": TextField(tokens)}
        if labels is not None:
            fields["labels"] = LabelSetField(labels, LABELS)
        fields["metadata"] = NamesField(source, columns, labels=labels)
        return Instance(fields)


# The key under which a tokenizer of transformers notes that it has warned of a text too long for the transformer.
_TOO_LONG = "sequence-length-is-longer-than-the-specified-maximum"


def _noting_labels(texts: Iterable[LabelledText], found: dict[str, None]) -> Iterator[LabelledText]:
    """
    Passes the texts on, and adds their labels to `found`: before they are shared out, so that the labels of a path are
    judged alike by all workers.
    """
    for text in texts:
        found.update(dict.fromkeys(text.labels))
        yield text


def _check_limit(tokenizer: Tokenizer, max_tokens: Optional[int]) -> None:
    if isinstance(tokenizer, PretrainedTransformerTokenizer):
        if tokenizer._add_special_tokens or tokenizer._max_length is not None:
            raise ConfigurationError(
                "dataset_reader.tokenizer: set its add_special_tokens to false and leave out its max_length; the "
                "reader adds the tokens, and cuts texts at its own max_tokens."
            )
    least = 1 + tokenizer.num_special_tokens_for_sequence()
    check_range("dataset_reader.max_tokens", max_tokens, least=least)
