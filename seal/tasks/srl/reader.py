"""
The dataset reader for semantic role labelling.
"""

import logging
import zlib
from collections.abc import Iterator
from typing import Any, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance
from allennlp.data.fields import SequenceLabelField, TextField

from seal.common.setting_checks import check_choice, check_range, with_parameters_of
from seal.tasks.base.fields import WordsField
from seal.tasks.base.sentence_reader import LegalTags, SentenceReader, tags_field, text_field, with_words
from seal.tasks.srl.conllu import ROLE_SPANS
from seal.tasks.srl.data_files import read_srl_sentences
from seal.tasks.srl.frames import SrlFrame, SrlSentence

logger = logging.getLogger(__name__)


@DatasetReader.register("seal_srl")
class SrlReader(SentenceReader):
    """
    Reads predicate-argument frames from columns of CoNLL-2012, 2009 or 2005, BIO JSON lines or CoNLL-U with roles, a
    file or a folder; the formats are described at `read_srl_sentences`.

    There is one instance a frame and, with `predicate_instances`, one more a sentence (also for a sentence
    without frames), which marks no predicate and trains the predicate finder. The fields of an instance:

    - `tokens`: the words.
    - `predicate`: 1 at the frame's predicate, 0 elsewhere; 0 everywhere in a sentence instance.
    - `tags`: the BIO tags, vocabulary namespace `srl_tags`; `O` everywhere in a sentence instance.
    - `is_predicate`: 1 at every predicate of the sentence, 0 elsewhere.
    - `metadata`: a dictionary of `words`, `predicate` (its index, or `None` in a sentence instance), `tags`
      (the strings, or `None` without gold), `source` (`file:line` of the sentence, or `None`) and `lemma` (that of the
      predicate, or `None`).

    Without gold tags (prediction) `tags` and `is_predicate` are absent.

    # Parameters

    As for `SentenceReader`.

    predicate_instances : `bool`, optional (default = `True`)
        Whether to add the sentence instances.
    fraction : `float`, optional (default = `1.0`)
        The share of the sentences to keep, in (0, 1]. The choice is fixed: sentence `i` (counted from 0 over
        all files of the path) is kept where `crc32(str(i)) < fraction * 2**32`. It is thus the same in every
        run and every process, and a larger fraction keeps all that a smaller one keeps.
    role_spans : `str`, optional (default = `"head"`)
        The span of a role that CoNLL-U has on its head word: `"head"`, that word, or `"subtree"`, the words around it
        that are below it in the tree (see `read_conllu`).
    repair : `bool`, optional (default = `False`)
        Whether, in JSON lines, an `I-X` that continues no span of `X` begins one, with one warning for a file.

    # Raises

    `ConfigurationError`
        Where `fraction`, `role_spans` or `max_words` is out of range, or a file is malformed.
    """

    @with_parameters_of(SentenceReader.__init__)
    def __init__(
        self,
        *,
        predicate_instances: bool = True,
        fraction: float = 1.0,
        role_spans: str = "head",
        repair: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        check_range("dataset_reader.fraction", fraction, above=0, most=1)
        check_choice("dataset_reader.role_spans", role_spans, ROLE_SPANS)
        self._predicate_instances, self._fraction = predicate_instances, fraction
        self._role_spans = role_spans
        self._legal = LegalTags("BIO", repair)

    def _read(self, file_path: str) -> Iterator[Instance]:
        self._check(self._sentences)
        for sentence, frame in self._shard(self._examples(file_path)):
            yield self.text_to_instance(
                words=sentence.words,
                predicate=None if frame is None else frame.predicate,
                tags=["O"] * len(sentence.words) if frame is None else frame.tags,
                predicates=sentence.predicates,
                source=sentence.source,
                lemma=None if frame is None else frame.lemma,
            )

    def _sentences(self, file_path: str) -> Iterator[SrlSentence]:
        def read(path: str) -> Iterator[SrlSentence]:
            return with_words(file_path, read_srl_sentences(path, self._legal, self._role_spans))

        return self._of_part(file_path, read)

    def _examples(self, file_path: str) -> Iterator[tuple[SrlSentence, Optional[SrlFrame]]]:
        sentences = self._sentences(file_path)
        kept = (
            sentence
            for index, sentence in enumerate(sentences)
            if zlib.crc32(str(index).encode()) < self._fraction * 2**32
        )
        frames = 0
        for sentence in self._short_enough(file_path, kept):
            frames += len(sentence.frames)
            for frame in sentence.frames:
                yield sentence, frame
            if self._predicate_instances:
                yield sentence, None
        if not frames:
            logger.warning("%s: none of its sentences has a frame; a model has nothing to learn there", file_path)

    def _of_line(self, line: str, source: str) -> Instance:
        # Words, as in files of data: separated by spaces. The predicates are to be found.
        return self.text_to_instance(line.split(), source=source)

    def text_to_instance(
        self,
        words: list[str],
        predicate: Optional[int] = None,
        tags: Optional[list[str]] = None,
        predicates: Optional[list[int]] = None,
        source: Optional[str] = None,
        lemma: Optional[str] = None,
    ) -> Instance:
        """
        One instance, without token indexers (`apply_token_indexers` adds them).

        # Parameters

        words : `list[str]`
            The tokens, at least one.
        predicate : `Optional[int]`
            The predicate's index; `None` for a sentence instance.
        tags : `Optional[list[str]]`
            The gold BIO tags, one a word; `None` where there is no gold.
        predicates : `Optional[list[int]]`
            The indices of every predicate of the sentence, used where there are `tags`; by default
            `predicate` alone.
        source : `Optional[str]`
            Where the sentence is from, for messages.
        lemma : `Optional[str]`
            The predicate's lemma, where it is known.

        # Raises

        `ConfigurationError`
            Where there are no words, an index is out of range, or the tags do not number the words.
        """
        where = f"{source}: " if source else ""
        tokens = text_field(words, where)
        if predicates is None:
            predicates = [] if predicate is None else [predicate]
        for index in predicates if predicate is None else [predicate, *predicates]:
            if not 0 <= index < len(words):
                raise ConfigurationError(
                    f"{where}predicate {index} is not the index of a word, 0 to {len(words) - 1} here."
                )
        fields: dict[str, Field] = {
            "tokens": tokens,
            "predicate": _indicator([] if predicate is None else [predicate], tokens),
        }
        if tags is not None:
            fields["tags"] = tags_field(tags, tokens, "srl_tags", where)
            fields["is_predicate"] = _indicator(predicates, tokens)
        known = {"words": words, "predicate": predicate, "tags": tags, "source": source, "lemma": lemma}
        fields["metadata"] = WordsField(known)
        return Instance(fields)


def _indicator(indices: list[int], tokens: TextField) -> SequenceLabelField:
    ones = set(indices)
    return SequenceLabelField([int(index in ones) for index in range(len(tokens))], tokens)
