"""
allennlp-models' `srl_bert` on our data files and under our score, as an external baseline. Its training loss and its
decoding are unchanged.
"""

from collections.abc import Iterator
from typing import Any, Optional

import torch
from allennlp.data import DatasetReader, Instance, Token, Vocabulary
from allennlp.data.token_indexers import PretrainedTransformerIndexer
from allennlp.models import Model
from allennlp_models.structured_prediction.dataset_readers.srl import SrlReader as UpstreamReader
from allennlp_models.structured_prediction.models.srl_bert import SrlBert

from seal.tasks.srl import SrlReader, SrlScore


@DatasetReader.register("srl_bert_baseline")
class SrlBertReader(SrlReader):
    """
    The sentences of our reader as instances of allennlp-models' `srl` reader, which itself reads only
    OntoNotes folders. As there, only a sentence without any predicate becomes an instance without roles.
    """

    def __init__(
        self,
        bert_model_name: str,
        fraction: float = 1.0,
        max_instances: Optional[int] = None,
        serialization_dir: Optional[str] = None,
    ) -> None:
        indexers = {"tokens": PretrainedTransformerIndexer(bert_model_name)}
        super().__init__(
            token_indexers=indexers,
            fraction=fraction,
            max_instances=max_instances,
            serialization_dir=serialization_dir,
        )
        self._upstream = UpstreamReader(token_indexers=indexers, bert_model_name=bert_model_name)
        # Upstream looks for "uncased" in the model's name, which a folder's name need not have; the tokenizer knows.
        # Without this, every capitalised word would be unknown.
        self._upstream.lowercase_input = self._upstream.bert_tokenizer.do_lower_case

    def _read(self, file_path: str) -> Iterator[Instance]:
        for instance in super()._read(file_path):
            meta = instance["metadata"].metadata
            if meta["predicate"] is not None or not meta["predicates"]:
                yield instance

    def text_to_instance(  # type: ignore[override]
        self,
        words: list[str],
        predicate: Optional[int] = None,
        tags: Optional[list[str]] = None,
        predicates: Optional[list[int]] = None,
        source: Optional[str] = None,
        lemma: Optional[str] = None,
    ) -> Instance:
        verb = [int(index == predicate) for index in range(len(words))]
        instance = self._upstream.text_to_instance([Token(word) for word in words], verb, tags)
        instance["metadata"].metadata.update(predicate=predicate, tags=tags, predicates=predicates or [], source=source)
        return instance


@Model.register("srl_bert_baseline")
class SrlBertBaseline(SrlBert):
    """
    `srl_bert`, scored by `SrlScore`. Upstream's metric starts a Perl program for every batch of validation
    and gathers its scores after every batch of training; it is left out, which changes the time that a run takes, not
    its result. The best epoch is chosen by the same F1 as in our runs.
    """

    def __init__(self, vocab: Vocabulary, bert_model: str, embedding_dropout: float = 0.0) -> None:
        super().__init__(vocab, bert_model, embedding_dropout=embedding_dropout, srl_eval_path=None)
        self._score = SrlScore()

    def forward(self, tokens, verb_indicator, metadata, tags=None) -> dict[str, Any]:  # type: ignore
        output = super().forward(tokens, verb_indicator, metadata, tags)
        if tags is not None and not self.training:
            output = self.make_output_human_readable(output)
            self._score(output["tags"], [meta["tags"] for meta in metadata], [meta["predicate"] for meta in metadata])
        return output

    def make_output_human_readable(self, output_dict: dict[str, Any]) -> dict[str, torch.Tensor]:
        # Decoding is a Python loop over words, so it is not done twice.
        return output_dict if "tags" in output_dict else super().make_output_human_readable(output_dict)

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        return {} if self.training else self._score.get_metric(reset)
