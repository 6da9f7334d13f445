from collections.abc import Iterable

from allennlp.common.util import JsonDict

from seal_inspect.demo_answers.tagging import TagAnswers


class FrameAnswers(TagAnswers):
    """Roles: a block for each frame."""

    def _blocks(self, request: JsonDict, record: JsonDict) -> Iterable[JsonDict]:
        if not record["frames"]:
            yield {"kind": "text", "text": f"{' '.join(record['words'])}: no predicate was found"}
        sentence, _ = self.predictor.prepare(request)
        for frame in record["frames"]:
            instance = self.reader.text_to_instance(sentence.words, frame["index"])
            yield self._block(frame, record["words"], instance, frame["predicate"])
