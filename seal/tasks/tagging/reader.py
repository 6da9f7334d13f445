"""
The dataset reader for sequence labelling: part-of-speech tags, named entities, fields of citations.
"""

import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance, TokenIndexer
from allennlp.data.fields import LabelField, SequenceLabelField

from seal.common.setting_checks import check_choice, check_range, check_that, pop_arguments, require, with_parameters_of
from seal.common.tag_encodings import ENCODINGS, convert_tags
from seal.common.tag_notation import TagNotation, TagsSeen, recognise
from seal.files.paths import expanded, not_empty
from seal.files.text_lines import text_lines
from seal.output_spaces.tag_transitions import DECODED
from seal.tasks.base.fields import KnownLabelsField, WordsField
from seal.tasks.base.sentence_reader import (
    LegalTags,
    SentenceReader,
    split_off_part,
    tags_field,
    text_field,
    with_words,
)
from seal.tasks.base.words import SPLITTERS
from seal.tasks.tagging.columns import TagColumns, TaggedSentence
from seal.tasks.tagging.json_lines import TagRecords

logger = logging.getLogger(__name__)

#: The `encoding` that is recognised from a file's tags.
AUTO = "auto"
_TAKEN = ("tokens", "tags", "metadata", "case", "labelled")


@DatasetReader.register("seal_tagging")
class TaggingReader(SentenceReader):
    """
    Reads a tag for each token from columns (see `TagColumns`) or, in files that end in `.jsonl` or `.json`, from JSON
    lines with words and tags or with a text and its entities (see `TagRecords`). The fields of an instance, one a
    sentence:

    - `tokens`: the words.
    - `tags`: vocabulary namespace `tags`; absent without gold. Tags of spans are `O`, `B-<label>` and so on, however
      the file writes them; how the training data do is kept in the vocabulary, and predictions are written so.
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
        The layout of a file: see `TagColumns`. Of JSON lines, `token_column`, `tag_column` and `feature_columns` are
        keys.
    label_names : `Optional[list[str]]`, optional (default = `None`)
        The names of tags that JSON lines write as numbers, from 0.
    case : `bool`, optional (default = `False`)
        Whether there is a field `case`.
    encoding : `Optional[str]`, optional (default = `"auto"`)
        The encoding of spans in the file's tags. `"auto"` recognises it from all tags of a file (see
        `seal.common.tag_notation`), says so in one line, and refuses a file that mixes two ways. `"IOB1"`, `"BIO"` or
        `"BIOES"`: this encoding, whose tags are `O` and `B-<label>` and so on (see `seal.common.tag_encodings`). Tags
        that break the encoding are refused. `None`: the tags write no spans, as parts of speech do not.
    target_encoding : `Optional[str]`, optional (default = `None`)
        `"BIO"` or `"BIOES"`, in which the tags are learned. `None`: with `"auto"` the encoding of the training data,
        BIO for IOB1; otherwise they are not converted.
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
        The predictor's splitter of raw text, whose words should be like the words of the files: `"english"`, with
        punctuation apart (`did n't`); `"tweets"`, where hashtags, names and emoticons stay whole; or `"white_space"`.

    # Raises

    `ConfigurationError`
        Where an option is out of range, or a file is malformed.
    """

    @with_parameters_of(TagColumns, SentenceReader.__init__)
    def __init__(
        self,
        *,
        case: bool = False,
        encoding: Optional[str] = "auto",
        target_encoding: Optional[str] = None,
        repair: bool = False,
        labelled: Optional[int] = None,
        unlabelled: Optional[str] = None,
        plain_text: bool = False,
        tokenizer: str = "english",
        label_names: Optional[list[str]] = None,
        **settings: Any,
    ) -> None:
        keys = [settings.get(name) for name in ("token_column", "tag_column")]
        features = settings.get("feature_columns") or {}
        #: The names of the features that `text_to_instance` needs.
        self.feature_names = list(features)
        self._columns = pop_arguments(TagColumns, settings)
        super().__init__(**settings)
        for name in self.feature_names:
            if name in _TAKEN:
                raise ConfigurationError(
                    f"dataset_reader.feature_columns: '{name}' is taken by another field; rename it."
                )
        _check_encodings(encoding, target_encoding)
        check_range("dataset_reader.labelled", labelled, least=0)
        if unlabelled is not None and labelled is None:
            raise ConfigurationError(
                "dataset_reader.unlabelled: it is read without its tags; set 'labelled' too, the number of sentences "
                "whose tags are known."
            )
        check_choice("dataset_reader.tokenizer", tokenizer, tuple(SPLITTERS))
        _check_namespaces(self._token_indexers)
        self._labelled, self._unlabelled, self._plain_text = labelled, unlabelled, plain_text
        #: The predictor's splitter of raw text.
        self.tokenizer = tokenizer
        self._records = TagRecords(
            *(key if isinstance(key, str) else None for key in keys),
            reads_tags=self._columns.reads_tags,
            feature_keys=features,
            label_names=label_names,
            encoding=encoding,
            splitter=SPLITTERS[tokenizer](),
        )
        self._case = case
        self._encoding, self._target_encoding, self._repair = encoding, target_encoding, repair
        # By path: its files when their tags were read, and the notation that was found.
        self._notations: dict[str, tuple[list[Any], Optional[TagNotation]]] = {}
        # The encoding of the first path, to which the tags of other paths are converted.
        self._first: Optional[TagNotation] = None
        self._legal: dict[str, LegalTags] = {}

    def _read(self, file_path: str) -> Iterator[Instance]:
        self._notation(file_path)  # Before those of further files.
        self._check(lambda path: self._with_tags(path, self._part(path)))
        for number, sentence in self._shard(enumerate(self._sentences(file_path))):
            tags = sentence.tags
            if self._labelled is not None and number >= self._labelled:
                tags = None
            yield self.text_to_instance(
                sentence.words, tags, sentence.features, sentence.source, sentence.lines, self._written(file_path)
            )

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
        sentences = self._of_part(file_path, lambda path: (one for file in expanded(path) for one in self._file(file)))
        return with_words(file_path, not_empty(sentences, f"{file_path}: this part of the file holds no sentence."))

    def _file(self, path: str) -> Iterator[TaggedSentence]:
        return self._records.read(path) if self._records.takes(path) else self._columns.read(path)

    def _lines(self, file_path: str) -> Iterator[TaggedSentence]:
        for path in expanded(file_path):
            for number, line in text_lines(path):
                words = line.split()
                if words:
                    yield TaggedSentence(words, path=path, lines=[number] * len(words))

    def _with_tags(self, file_path: str, sentences: Iterable[TaggedSentence]) -> Iterator[TaggedSentence]:
        """Yields the sentences with their tags in the notation that a model learns."""
        notation = self._notation(file_path)
        if notation is None:
            for sentence in sentences:
                found = sentence.tags or []
                if "" in found:
                    raise ConfigurationError(f"{_where(sentence, found.index(''))}: the tag is empty.")
                yield sentence
            return
        legal = self._legal.setdefault(notation.encoding, LegalTags(notation.encoding, self._repair))
        target = self._target_encoding
        if target is None and self._encoding == AUTO:
            target = require(self._first, "the first notation").learned
        try:
            for sentence in sentences:
                if sentence.tags is not None:
                    tags = _legal_tags(sentence, sentence.tags, notation, legal)
                    sentence.tags = tags if target is None else convert_tags(tags, notation.encoding, target)
                yield sentence
        finally:
            legal.warn(file_path)

    def _written(self, file_path: str) -> Optional[str]:
        """The name of a file's tag notation, which the vocabulary stores."""
        notation = self._notation(file_path)
        return None if notation is None else notation.name

    def _notation(self, file_path: str) -> Optional[TagNotation]:
        """The tag notation of a path; `None` if the tags encode no spans, or are not read."""
        if self._encoding is None or not self._columns.reads_tags:
            return None
        if self._encoding != AUTO:
            return TagNotation(self._encoding)
        # A part of a file is written as the whole file is.
        files = expanded(split_off_part(file_path)[0])
        state = [(file, *_state_of(file)) for file in files]
        known = self._notations.get(file_path)
        if known is None or known[0] != state:
            known = self._notations[file_path] = (state, self._recognised(file_path, files))
        return known[1]

    def _recognised(self, file_path: str, files: list[str]) -> Optional[TagNotation]:
        seen = TagsSeen()
        for file in files:
            for sentence in self._file(file):
                if sentence.tags is not None:
                    seen.add(sentence.tags, sentence.path, sentence.lines)
        found = recognise(seen, self._repair)
        if self._first is not None and self._first.fits(seen.counts):
            # A short file may lack some of the letters, or any span.
            if found is None or found.encoding == self._first.encoding:
                found = self._first
        if found is None:
            examples = ", ".join(sorted(seen.counts, key=seen.counts.__getitem__, reverse=True)[:3])
            logger.info("%s: its tags write no spans: %s", file_path, examples, extra={"news": True})
            return None
        logger.info("%s: its tags write spans in %s", file_path, found.name, extra={"news": True})
        self._first = self._first or found
        return found

    def text_to_instance(
        self,
        words: list[str],
        tags: Optional[list[str]] = None,
        features: Optional[dict[str, list[str]]] = None,
        source: Optional[str] = None,
        lines: Optional[list[int]] = None,
        notation: Optional[str] = None,
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
        notation : `Optional[str]`
            The `TagNotation.name` of how that file writes tags of spans, for the vocabulary.

        # Raises

        `ConfigurationError`
            Where there are no words, a feature is missing, or tags or features do not number the words.
        """
        where = f"{source}: " if source else ""
        tokens = text_field(words, where)
        fields: dict[str, Field] = {"tokens": tokens}
        columns: dict[str, list[str]] = {}
        given = features or {}
        for name in self.feature_names:
            if name not in given:
                raise ConfigurationError(f"{where}the feature '{name}' is missing, which the reader has columns of.")
            columns[name] = given[name]
        if self._case:
            columns["case"] = [first_letter(word) for word in words]
        for name, labels in columns.items():
            check_that(len(labels) == len(words), f"{where}'{name}'", f"{len(words)}, one for each word", len(labels))
            fields[name] = _FeatureField(labels, tokens, f"{name}_features")
        if tags is not None:
            encoding = None
            if notation is not None and self._first is not None and self._target_encoding is None:
                encoding = self._first.learned
            fields["tags"] = tags_field(tags, tokens, "tags", where, notation, encoding)
        if self._labelled is not None:
            # Instances of a batch need the same fields, and labels that are numbers bypass the vocabulary.
            fields.setdefault("tags", KnownLabelsField([0] * len(words), tokens, "tags"))
            fields["labelled"] = LabelField(int(tags is not None), skip_indexing=True)
        metadata: dict[str, object] = {"words": words, "tags": tags, "source": source}
        if lines is not None:
            metadata["lines"] = lines
        fields["metadata"] = WordsField(metadata)
        return Instance(fields)


def _telling_of_equal_tags(file_path: str, sentences: Iterable[TaggedSentence]) -> Iterator[TaggedSentence]:
    """Yields the sentences unchanged, and logs a warning after the last one if all tags are equal."""
    tags: set[str] = set()
    words = 0
    for sentence in sentences:
        yield sentence
        words += len(sentence.words)
        if len(tags) < 2:
            tags.update(sentence.tags or ())
    if len(tags) == 1 and words > 1:
        logger.warning(
            "%s: all of its %d words have the tag '%s'; a model has nothing to learn there", file_path, words, *tags
        )


def _where(sentence: TaggedSentence, index: int) -> str:
    return f"{sentence.path}:{sentence.lines[index]}"


def _legal_tags(sentence: TaggedSentence, tags: list[str], notation: TagNotation, legal: LegalTags) -> list[str]:
    """The tags of a sentence as `O` and `B-<label>`, checked and, if `repair` is set, repaired."""

    def complaint(index: int) -> str:
        before = f"after {tags[index - 1]!r}" if index else "at the start of the sentence"
        if not tags[index]:
            return f"{_where(sentence, index)}: the tag is empty"
        return (
            f"{_where(sentence, index)}: the tag {tags[index]!r} {before} breaks the encoding {notation.encoding}; "
            "correct the file, or the reader's 'encoding'"
        )

    return legal.of(notation.read(tags), complaint, lambda index: _where(sentence, index))


def _state_of(file: str) -> tuple[int, int]:
    """The state of a file, which differs after a change."""
    try:
        state = os.stat(file)
    except OSError:
        return 0, 0
    return state.st_mtime_ns, state.st_size


def _check_encodings(encoding: Optional[str], target_encoding: Optional[str]) -> None:
    check_choice("dataset_reader.encoding", encoding, (AUTO, *ENCODINGS, None))
    check_choice("dataset_reader.target_encoding", target_encoding, (*DECODED, None))
    if target_encoding is not None and encoding is None:
        raise ConfigurationError("dataset_reader.target_encoding: tags without an encoding have none; leave it out.")


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
    """The class of the first character of a word: `"upper"`, `"lower"`, `"digit"` or `"other"`."""
    first = word[:1]
    if first.isupper() or first.istitle():
        return "upper"
    return "lower" if first.islower() else "digit" if first.isdigit() else "other"


class _FeatureField(SequenceLabelField):
    # AllenNLP warns of a namespace with padding and unknown entries. A feature needs the latter: an input may have a
    # part of speech that the training data lack.
    def _maybe_warn_for_namespace(self, label_namespace: str) -> None:
        pass
