"""Sentences a second of our SRL predictor and of allennlp-models', given the same words and predicates."""

from collections.abc import Callable
from typing import Any

import torch
from allennlp.data import Instance, Token, Vocabulary
from allennlp.data.token_indexers import PretrainedTransformerIndexer
from allennlp.models import Model
from allennlp.predictors import Predictor
from allennlp_models.structured_prediction.dataset_readers.srl import SrlReader as UpstreamReader
from allennlp_models.structured_prediction.models.srl_bert import SrlBert
from allennlp_models.structured_prediction.predictors.srl import SemanticRoleLabelerPredictor
from transformers import BertModel

from scripts.measure.bench_srl_parts import build_model, build_reader
from seal.tasks.srl.data_files import SrlSentence

BATCH = 32


class GivenPredicates(SemanticRoleLabelerPredictor):
    """
    allennlp-models' predictor without its first step: spaCy's tagger, which splits the sentence and finds its verbs.
    Its work on given words and predicates is unchanged.
    """

    def __init__(self, model: Model, reader: UpstreamReader) -> None:
        Predictor.__init__(self, model, reader)

    def _sentence_to_srl_instances(self, json_dict: dict[str, Any]) -> list[Instance]:
        tokens = [Token(word) for word in json_dict["words"]]
        return [
            self._dataset_reader.text_to_instance(tokens, [int(i == predicate) for i in range(len(tokens))])
            for predicate in json_dict["predicates"]
        ]


def predictors(sentences: list[SrlSentence], encoder: str, vocab: Vocabulary) -> dict[str, Callable[[], None]]:
    """
    By name, a function that labels all sentences with a call of `predict_batch_json` for every 32 of them;
    `seal_srl_at_once`, with as many in a call as `seal predict` reads of a file; and `seal_srl_bfloat16`, the same with
    the encoder's `bfloat16_prediction`.
    """
    device = 0 if torch.cuda.is_available() else -1
    torch.manual_seed(0)
    indexers = {"tokens": PretrainedTransformerIndexer(encoder)}
    reader = UpstreamReader(token_indexers=indexers, bert_model_name=encoder)
    reader.lowercase_input = reader.bert_tokenizer.do_lower_case
    upstream = SrlBert(vocab, BertModel.from_pretrained(encoder), srl_eval_path=None)
    ours, half = (build_model("cross_entropy", encoder, vocab, bfloat16_prediction=half) for half in (False, True))
    half.load_state_dict(ours.state_dict())
    for model in (upstream, ours, half):
        model.eval()
        model.to(torch.device("cpu" if device < 0 else f"cuda:{device}"))
    theirs = GivenPredicates(upstream, reader)
    mine, mine_half = (Predictor.by_name("seal_srl")(model, build_reader(encoder)) for model in (ours, half))
    inputs = [{"words": sentence.words, "predicates": sentence.predicates} for sentence in sentences]

    def run(predictor: Predictor, at_once: int = BATCH) -> Callable[[], None]:
        def predict() -> None:
            for start in range(0, len(inputs), at_once):
                # A copy: a predictor may keep what it is given.
                predictor.predict_batch_json([dict(item) for item in inputs[start : start + at_once]])

        return predict

    return {
        "seal_srl": run(mine),
        "seal_srl_at_once": run(mine, mine.lines_at_once),
        "seal_srl_bfloat16": run(mine_half, mine_half.lines_at_once),
        "allennlp_models": run(theirs),
    }
