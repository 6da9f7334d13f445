import json
import math
import re
from pathlib import Path

import pytest
import torch
from allennlp.common import Params
from allennlp.data import Batch, DatasetReader, Vocabulary
from allennlp.models import Model, load_archive
from allennlp.predictors import Predictor

from seal.common.tag_encodings import first_broken, spans_to_bio
from seal.tasks.srl import SrlPredictor
from tests.tiny_bert import save_tiny_bert

KITCHEN = Path(__file__).resolve().parents[2] / "fixtures" / "srl" / "kitchen.gold_conll"

COOK = "The old cook gave her a knife and left."
INPUTS = [
    {"sentence": COOK},
    {"sentence": "Rain."},
    {"words": ["She", "peels", "and", "eats", "pears", "."], "predicates": [3, 1]},
    {"sentence": "  It is easy,\tpeople say, to get lost.  "},
    {"words": "People say it is easy to get lost in caf\u00e9s .".split()},
    {"words": ["Rain", "."], "predicates": []},
    {"words": ["The old", "cook", "left"], "predicates": [2, 0]},
    {"sentence": "Cooks say " + "people say , " * 20 + "she left ."},
]


def assert_same(found, expected):
    """Checks that records are equal, except for rounding in probabilities and energies."""
    assert [{**record, "frames": len(record["frames"])} for record in found] == [
        {**record, "frames": len(record["frames"])} for record in expected
    ]
    for left, right in zip(frames_of(found), frames_of(expected)):
        assert left.keys() == right.keys()
        for key in left:
            if key in ("probability", "energy"):
                assert left[key] == pytest.approx(right[key], abs=1e-6, rel=1e-5)
            else:
                assert left[key] == right[key]


def frames_of(records):
    return [frame for record in records for frame in record["frames"]]


def test_the_frames_the_model_has_learnt_are_told_in_full(predictor):
    record = predictor.predict(COOK)
    assert record["words"] == COOK[:-1].split() + ["."]
    gave, left = record["frames"]
    assert (gave["predicate"], gave["index"], left["predicate"], left["index"]) == ("gave", 3, "left", 8)
    assert gave["tags"] == "B-ARG0 I-ARG0 I-ARG0 B-V B-ARG2 B-ARG1 I-ARG1 O O O".split()
    assert gave["spans"] == [
        {"role": "ARG0", "start": 0, "end": 2, "text": "The old cook"},
        {"role": "V", "start": 3, "end": 3, "text": "gave"},
        {"role": "ARG2", "start": 4, "end": 4, "text": "her"},
        {"role": "ARG1", "start": 5, "end": 6, "text": "a knife"},
    ]
    assert gave["description"] == "[ARG0 The old cook] [V gave] [ARG2 her] [ARG1 a knife] and left ."
    assert left["description"] == "[ARG0 The old cook] gave her a knife and [V left] ."
    assert predictor.predict("Rain.") == {"words": ["Rain", "."], "offsets": [[0, 4], [4, 5]], "frames": []}


def test_records_agree_with_their_input_and_with_themselves(predictor):
    records = predictor.predict_batch_json(INPUTS)
    assert len(records) == len(INPUTS)
    for inputs, record in zip(INPUTS, records):
        assert list(record) == ["words", "offsets", "frames"]
        text = inputs.get("sentence") or " ".join(inputs["words"])
        assert [text[start:end] for start, end in record["offsets"]] == record["words"]
        assert record["words"] == inputs.get("words", record["words"])
        if "predicates" in inputs:
            assert [frame["index"] for frame in record["frames"]] == inputs["predicates"]
        for frame in record["frames"]:
            assert frame["predicate"] == record["words"][frame["index"]]
            assert len(frame["tags"]) == len(record["words"]) and first_broken(frame["tags"], "BIO") is None
            spans = [(span["role"], span["start"], span["end"]) for span in frame["spans"]]
            assert spans_to_bio(spans, len(record["words"])) == frame["tags"]
            for span in frame["spans"]:
                start, end = record["offsets"][span["start"]][0], record["offsets"][span["end"]][1]
                assert span["text"] == text[start:end]
            # No word here contains a bracket: without brackets and roles the words remain, in order.
            assert re.sub(r"\[\S+ |\]", "", frame["description"]) == " ".join(record["words"])
            assert 0 < frame["probability"] <= 1
    assert len(frames_of(records)) > 10


@pytest.mark.parametrize("frames_per_batch", [1, 3, 64])
def test_a_batch_gives_what_its_sentences_give_one_at_a_time(archive, predictor, frames_per_batch):
    one_at_a_time = [predictor.predict_json(inputs) for inputs in INPUTS]
    batched = Predictor.from_path(archive, energy=True, frames_per_batch=frames_per_batch)
    assert_same(batched.predict_batch_json(INPUTS), one_at_a_time)
    assert_same(batched.predict_batch_json(INPUTS[::-1]), one_at_a_time[::-1])
    assert batched.predict_batch_json([]) == []


@pytest.mark.parametrize("name", ["archive", "crf_archive"])
def test_frames_are_what_the_model_gives_for_the_readers_instances(name, request):
    loaded = load_archive(request.getfixturevalue(name))
    model, reader = loaded.model, loaded.validation_dataset_reader
    has_energy = model.loss_net is not None
    predictor = Predictor.from_archive(loaded, extra_args={"energy": has_energy})
    for record in predictor.predict_batch_json(INPUTS):
        for frame in record["frames"]:
            instance = reader.text_to_instance(words=record["words"], predicate=frame["index"])
            reader.apply_token_indexers(instance)
            output = model.forward_on_instance(instance)
            assert output["tags"] == frame["tags"]
            # A CRF subtracts two sums over the words, whose rounding depends on the padding.
            rounding = 1e-6 if name == "archive" else 2e-5
            assert math.exp(output["log_prob"]) == pytest.approx(frame["probability"], abs=rounding)
            assert ("energy" in frame) == has_energy
            if has_energy:
                # The energy is computed again from the tags alone, by the loss-net itself.
                batch = Batch([instance])
                batch.index_instances(model.vocab)
                inputs = batch.as_tensor_dict()
                inputs.pop("metadata")
                tags = [model.vocab.get_token_index(tag, "srl_tags") for tag in frame["tags"]]
                mask = torch.ones(1, len(tags), dtype=torch.bool)
                with torch.no_grad():
                    features = model.loss_net.encode(inputs, model.task_net(inputs).hidden, mask)
                    energy = model.loss_net(features, torch.tensor([[tags]]), mask).item()
                assert frame["energy"] == pytest.approx(energy, rel=1e-6, abs=1e-5)


def test_the_model_runs_once_a_batch_and_not_once_a_frame(archive, monkeypatch):
    predictor = Predictor.from_path(archive, frames_per_batch=8)
    rows = []
    run = predictor._model.task_net.forward

    def forward(inputs, mask=None):
        rows.append(len(inputs["predicate"]))
        return run(inputs, mask)

    monkeypatch.setattr(predictor._model.task_net, "forward", forward)
    records = predictor.predict_batch_json([{"sentence": COOK}] * 8)
    assert len(frames_of(records)) == 16
    # One pass finds all predicates, and two passes decode all frames.
    assert rows == [8, 8, 8]
    rows.clear()
    predictor.predict_batch_json([{"words": COOK.split(), "predicates": [3]}] * 8)
    assert rows == [8]


def test_a_line_of_600_words_is_labelled_beside_short_ones(predictor):
    words = (COOK[:-1].split() + [","]) * 60
    records = predictor.predict_batch_json(
        [{"sentence": COOK}, {"sentence": " ".join(words)}, {"words": words, "predicates": [599, 3]}]
    )
    assert [len(record["words"]) for record in records] == [10, 600, 600]
    assert [frame["index"] for frame in records[2]["frames"]] == [599, 3]
    assert len(records[1]["frames"]) >= 60
    assert {len(frame["tags"]) for frame in frames_of(records[1:])} == {600}
    assert all(first_broken(frame["tags"], "BIO") is None for frame in frames_of(records))
    assert_same(records[:1], [predictor.predict(COOK)])


def test_instances_of_the_reader_get_the_same_records(predictor):
    reader = predictor._dataset_reader
    words = COOK[:-1].split() + ["."]
    instances = [
        reader.text_to_instance(words=words, predicate=8, source="file:1"),
        reader.text_to_instance(words=words, source="file:1"),
    ]
    one, all_frames = predictor.predict_batch_instance(instances)
    expected = {"id": "file:1", **predictor.predict_json({"words": words})}
    assert_same([all_frames], [{**expected, "predicates": "found"}])
    assert_same([one], [{**expected, "predicates": "given", "frames": expected["frames"][1:]}])
    assert_same([predictor.predict_instance(instances[0])], [one])


def test_numbers_that_are_not_finite_are_null(archive):
    predictor = Predictor.from_path(archive, energy=True)
    run = predictor._model.forward

    def forward(**inputs):
        output = run(**inputs)
        output["log_prob"] = output["log_prob"] * float("nan")
        output["energy"] = output["energy"] * float("-inf")
        return output

    predictor._model.forward = forward
    line = predictor.dump_line(predictor.predict(COOK))
    frame = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))["frames"][0]
    assert frame["probability"] is None and frame["energy"] is None


def test_a_transformer_labels_windows_and_words_without_pieces(tmp_path):
    words = COOK[:-1].split() + ["."]
    torch.manual_seed(0)
    bert = save_tiny_bert(tmp_path / "bert", words)
    config = tmp_path / "config.jsonnet"
    library = KITCHEN.parents[3] / "training_configs" / "lib" / "srl.libsonnet"
    config.write_text(
        f"""local srl = import '{library}';
        srl.experiment(
          data={{ train: null, dev: null }},
          encoder=srl.encoder.transformer('{bert}', max_length=64),
          method=srl.method.cross_entropy(),
        )"""
    )
    params = Params.from_file(str(config))
    reader = DatasetReader.from_params(params["dataset_reader"])
    vocab = Vocabulary.from_instances(reader.read(str(KITCHEN)))
    predictor = SrlPredictor(Model.from_params(params["model"], vocab=vocab), reader)
    inputs = [
        {"words": words, "predicates": [3, 8]},
        {"words": words * 60, "predicates": [599, 3]},
        {"words": ["\u200b", "New York", "left"], "predicates": [0, 1, 2]},
        {"sentence": "She\u200b left \u0000 ."},
    ]
    records = predictor.predict_batch_json(inputs)
    assert [len(record["words"]) for record in records[:3]] == [10, 600, 3]
    assert [[f["index"] for f in record["frames"]] for record in records[:3]] == [[3, 8], [599, 3], [0, 1, 2]]
    assert_same(records, [predictor.predict_json(each) for each in inputs])
