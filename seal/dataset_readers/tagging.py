"""
The dataset reader for sequence labelling: part-of-speech tags, named entities, fields of citations.
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance, TokenIndexer
from allennlp.data.fields import LabelField, SequenceLabelField

from seal.common.setting_checks import check_choice, check_range, taken, with_parameters_of
from seal.common.tag_encodings import check_encoding, convert_tags
from seal.dataset_readers.fields import KnownLabelsField, WordsField
from seal.dataset_readers.sentences import LegalTags, SentenceReader, tags_field, text_field, with_words
from seal.dataset_readers.tag_columns import TagColumns, TaggedSentence
from seal.files.paths import expanded, not_empty
from seal.files.text_lines import text_lines
from seal.output_spaces.tag_transitions import DECODED

logger = logging.getLogger(__name__)

#: The names of the ways in which raw text is split into words.
TOKENIZERS = ("english", "tweets", "white_space")
_TAKEN = ("tokens", "tags", "metadata", "case", "labelled")


@DatasetReader.register("seal_tagging")
class TaggingReader(SentenceReader):
    """
    Reads one tag a token from columns; the formats are described at `TagColumns`. The fields of an instance, one
    a sentence:

    - `tokens`: the words.
    - `tags`: vocabulary namespace `tags`; absent without gold.
    - one field for each of `feature_columns`, by its name, vocabulary namespace `<name>_features`, which has
      entries for padding (0) and for values that the training data lack (1).
    - `case`, where asked for: how each word begins, `upper`, `lower`, `digit` or `other`; namespace
      `case_features`.
    - `metadata`: a dictionary of `words`, `tags` (the strings, or `None` without gold), `source` (`file:line`, or
      `None`) and, for a sentence of a file, `lines` (the line of each word).
    - `labelled`, with the option of that name: 1 where `tags` are gold, 0 where they are placeholders.

    A path is a file, or a pattern with `*`.

    CoNLL-2003 with the inputs of Tu, Pang & Gimpel 2020, section 6 ("NER+"):

        {type: 'seal_tagging', columns: ['word', 'pos', 'chunk', 'ner'], tag_column: 'ner', case: true,
         feature_columns: {pos: 'pos', chunk: 'chunk'}, encoding: 'IOB1', target_encoding: 'BIOES'}

    # Parameters

    As for `SentenceReader`.

    token_column, tag_column, feature_columns, columns, separator, comment, id_column, sentence_column : optional
        The layout of a file: see `TagColumns`.
    case : `bool`, optional (default = `False`)
        Whether there is a field `case`.
    encoding : `Optional[str]`, optional (default = `None`)
        The encoding of spans in the file's tags, which is checked: `"IOB1"`, `"BIO"` or `"BIOES"` (see
        `seal.common.tag_encodings`). `None`: the tags are not checked, as parts of speech have no spans.
    target_encoding : `Optional[str]`, optional (default = `None`)
        `"BIO"` or `"BIOES"`, to which the tags are converted. `None`: they are not converted.
    repair : `bool`, optional (default = `False`)
        Whether tags that break `encoding` are repaired, with one warning for a path: an `I-X` that continues no span of
        `X` begins one, as `conlleval` reads it. A string that is no tag of the encoding stays an error.
    labelled : `Optional[int]`, optional (default = `None`)
        Only this many sentences, the first, keep their tags; for `seal_partly_labelled_tagging`. `None`: all do. Give
        validation data a reader without it (`validation_dataset_reader`).
    unlabelled : `Optional[str]`, optional (default = `None`)
        With `labelled`, a path of further sentences without their tags, in the format of the data; those whose words
        the data have are left out.
    plain_text : `bool`, optional (default = `False`)
        Whether each line of `unlabelled` is a sentence instead, with spaces between its words.
    tokenizer : `str`, optional (default = `"english"`)
        How the predictor splits raw text into words, which should be as in the files: `"english"`, with punctuation
        apart (`did n't`); `"tweets"`, where hashtags, names and emoticons stay whole; or `"white_space"`.

    # Raises

    `ConfigurationError`
        Where an option is out of range, or a file is malformed.
    """

    @with_parameters_of(TagColumns, SentenceReader.__init__)
    def __init__(
        self,
        *,
        case: bool = False,
        encoding: Optional[str] = None,
        target_encoding: Optional[str] = None,
        repair: bool = False,
        labelled: Optional[int] = None,
        unlabelled: Optional[str] = None,
        plain_text: bool = False,
        tokenizer: str = "english",
        **settings: Any,
    ) -> None:
        #: The names of the features that `text_to_instance` needs.
        self.feature_names = list(settings.get("feature_columns") or {})
        self._columns = taken(TagColumns, settings)
        super().__init__(**settings)
        for name in self.feature_names:
            if name in _TAKEN:
                raise ConfigurationError(
                    f"dataset_reader.feature_columns: '{name}' is taken by another field; rename it."
                )
        _check_encodings(encoding, target_encoding)
        if repair and encoding is None:
            raise ConfigurationError("dataset_reader.repair: set 'encoding' too, which says what is to be repaired.")
        check_range("dataset_reader.labelled", labelled, least=0)
        if unlabelled is not None and labelled is None:
            raise ConfigurationError(
                "dataset_reader.unlabelled: it is read without its tags; set 'labelled' too, the number of sentences "
                "whose tags are known."
            )
        check_choice("dataset_reader.tokenizer", tokenizer, TOKENIZERS)
        _check_namespaces(self._token_indexers)
        self._labelled, self._unlabelled, self._plain_text = labelled, unlabelled, plain_text
        #: How the predictor splits raw text into words.
        self.tokenizer = tokenizer
        self._case = case
        self._encoding = encoding
        self._legal = None if encoding is None else LegalTags(encoding, repair)
        self._target_encoding = target_encoding

    def _read(self, file_path: str) -> Iterator[Instance]:
        self._check(lambda path: self._with_tags(path, self._part(path)))
        for number, sentence in self._shard(enumerate(self._sentences(file_path))):
            tags = sentence.tags
            if self._labelled is not None and number >= self._labelled:
                tags = None
            yield self.text_to_instance(sentence.words, tags, sentence.features, sentence.source, sentence.lines)

    def _of_line(self, line: str, source: str) -> Instance:
        # Words, as in files of data: separated by spaces.
        return self.text_to_instance(line.split(), source=source)

    def _sentences(self, file_path: str) -> Iterator[TaggedSentence]:
        known = set()
        sentences = self._short_enough(file_path, _telling_of_equal_tags(file_path, self._part(file_path)))
        for sentence in self._with_tags(file_path, sentences):
            if self._unlabelled is not None:
                known.add(tuple(sentence.words))
            yield sentence
        if self._unlabelled is not None:
            lines = self._lines(self._unlabelled) if self._plain_text else self._part(self._unlabelled)
            for sentence in self._short_enough(self._unlabelled, lines):
                if tuple(sentence.words) not in known:
                    yield replace(sentence, tags=None)

    def _part(self, file_path: str) -> Iterator[TaggedSentence]:
        read = self._columns.read
        sentences = self._of_part(file_path, lambda path: (one for file in expanded(path) for one in read(file)))
        return with_words(file_path, not_empty(sentences, f"{file_path}: this part of the file holds no sentence."))

    def _lines(self, file_path: str) -> Iterator[TaggedSentence]:
        for path in expanded(file_path):
            for number, line in text_lines(path):
                words = line.split()
                if words:
                    yield TaggedSentence(words, path=path, lines=[number] * len(words))

    def _with_tags(self, file_path: str, sentences: Iterable[TaggedSentence]) -> Iterator[TaggedSentence]:
        """Passes the sentences on with the tags that a model learns."""
        if self._legal is None:
            yield from sentences
            return
        try:
            for sentence in sentences:
                if sentence.tags is not None:
                    sentence.tags = self._tags(sentence, sentence.tags, self._legal)
                yield sentence
        finally:
            self._legal.warn(file_path)

    def _tags(self, sentence: TaggedSentence, tags: list[str], legal: LegalTags) -> list[str]:
        def where(index: int) -> str:
            return f"{sentence.path}:{sentence.lines[index]}"

        def complaint(index: int) -> str:
            before = f"after {tags[index - 1]!r}" if index else "at the start of the sentence"
            return (
                f"{where(index)}: the tag {tags[index]!r} {before} breaks the encoding {self._encoding}; correct the "
                "file, or the reader's 'encoding'"
            )

        tags = legal.of(tags, complaint, where)
        if self._target_encoding is None:
            return tags
        return convert_tags(tags, self._encoding, self._target_encoding)

    def text_to_instance(  # type: ignore[override]
        self,
        words: list[str],
        tags: Optional[list[str]] = None,
        features: Optional[dict[str, list[str]]] = None,
        source: Optional[str] = None,
        lines: Optional[list[int]] = None,
    ) -> Instance:
        """
        One instance, without token indexers (`apply_token_indexers` adds them).

        # Parameters

        words : `list[str]`
            The tokens, at least one.
        tags : `Optional[list[str]]`
            The gold tags, one a word, in the encoding the model learns; `None` where there is no gold.
        features : `Optional[dict[str, list[str]]]`
            One string a word for each of the reader's `feature_columns`.
        source : `Optional[str]`
            Where the sentence is from, `file:line`, for messages.
        lines : `Optional[list[int]]`
            The line of each word in that file, for messages about its tag.

        # Raises

        `ConfigurationError`
            Where there are no words, a feature is missing, or tags or features do not number the words.
        """
        where = f"{source}: " if source else ""
        tokens = text_field(words, where)
        fields: dict[str, Field] = {"tokens": tokens}
        columns: dict[str, list[str]] = {}
        for name in self.feature_names:
            if name not in (features or {}):
                raise ConfigurationError(f"{where}the feature '{name}' is missing, which the reader has columns of.")
            columns[name] = features[name]
        if self._case:
            columns["case"] = [first_letter(word) for word in words]
        for name, labels in columns.items():
            if len(labels) != len(words):
                raise ConfigurationError(f"{where}found {len(labels)} of '{name}' for {len(words)} words.")
            fields[name] = _FeatureField(labels, tokens, f"{name}_features")
        if tags is not None:
            fields["tags"] = tags_field(tags, tokens, "tags", where)
        if self._labelled is not None:
            # Instances of a batch need the same fields, and labels that are numbers bypass the vocabulary.
            fields.setdefault("tags", KnownLabelsField([0] * len(words), tokens, "tags"))
            fields["labelled"] = LabelField(int(tags is not None), skip_indexing=True)
        metadata = {"words": words, "tags": tags, "source": source}
        if lines is not None:
            metadata["lines"] = lines
        fields["metadata"] = WordsField(metadata)
        return Instance(fields)


def _telling_of_equal_tags(file_path: str, sentences: Iterable[TaggedSentence]) -> Iterator[TaggedSentence]:
    """Passes the sentences on, and warns after the last one where all tags are the same: it may be meant."""
    tags, words = set(), 0
    for sentence in sentences:
        yield sentence
        words += len(sentence.words)
        if len(tags) < 2:
            tags.update(sentence.tags or ())
    if len(tags) == 1 and words > 1:
        logger.warning(
            "%s: all of its %d words have the tag '%s'; a model has nothing to learn there", file_path, words, *tags
        )


def _check_encodings(encoding: Optional[str], target_encoding: Optional[str]) -> None:
    if encoding is not None:
        check_encoding(encoding, "dataset_reader.encoding")
    if target_encoding is not None:
        if encoding is None:
            raise ConfigurationError("dataset_reader.target_encoding: set 'encoding' too, which is that of the file.")
        check_choice("dataset_reader.target_encoding", target_encoding, (*DECODED, None))


def _check_namespaces(indexers: dict[str, TokenIndexer]) -> None:
    for name, indexer in indexers.items():
        # A mismatched indexer has a matched one inside.
        if "tags" in (_namespace(indexer), _namespace(getattr(indexer, "_matched_indexer", None))):
            raise ConfigurationError(
                f"dataset_reader.token_indexers.{name}.namespace: 'tags' is where the tags are, and a pretrained "
                "transformer would put its wordpieces there; set it to 'wordpiece_tags'."
            )


def _namespace(indexer: Any) -> Optional[str]:
    return getattr(indexer, "_namespace", None)


def first_letter(word: str) -> str:
    """How a word begins: `"upper"`, `"lower"`, `"digit"` or `"other"`."""
    first = word[:1]
    if first.isupper() or first.istitle():
        return "upper"
    return "lower" if first.islower() else "digit" if first.isdigit() else "other"


class _FeatureField(SequenceLabelField):
    # AllenNLP warns of a namespace with padding and unknown entries. A feature needs the latter: an input may have a
    # part of speech that the training data lack.
    def _maybe_warn_for_namespace(self, label_namespace: str) -> None:
        pass
