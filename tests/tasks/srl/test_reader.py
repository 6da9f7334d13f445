import json
import os
from collections import Counter

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.dataset_readers.dataset_reader import DistributedInfo, WorkerInfo

from seal.tasks.srl.reader import SrlReader

FIXTURES = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "srl")
COLUMNS = os.path.join(FIXTURES, "kitchen.gold_conll")


def sentences_file(path, lengths):
    with open(path, "w") as file:
        for number, length in enumerate(lengths):
            words = [f"w{number}"] * length
            frames = [{"pred": i, "tags": ["O"] * i + ["B-V"] + ["O"] * (length - i - 1)} for i in range(number % 3)]
            file.write(json.dumps({"words": words, "frames": frames}) + "\n")
    return str(path)


def index_of(source):
    return int(source.rsplit(":", 1)[1]) - 1


def key(instance):
    return instance["metadata"]["source"], instance["metadata"]["predicate"]


def test_fields_of_frames_and_sentences():
    instances = list(SrlReader().read(COLUMNS))
    assert [instance["metadata"]["predicate"] for instance in instances] == [3, 8, None, None, 1, 5, 8, None]

    frame = instances[1]
    words = "The old cook gave her a knife and left .".split()
    tags = ["B-ARG0", "I-ARG0", "I-ARG0"] + ["O"] * 5 + ["B-V", "O"]
    assert [token.text for token in frame["tokens"]] == words
    assert frame["predicate"].labels == [0, 0, 0, 0, 0, 0, 0, 0, 1, 0]
    assert frame["is_predicate"].labels == [0, 0, 0, 1, 0, 0, 0, 0, 1, 0]
    assert frame["tags"].labels == tags
    known = {"words": words, "predicate": 8, "tags": tags, "source": f"{COLUMNS}:2", "lemma": "leave"}
    assert frame["metadata"].metadata == known

    sentence = instances[2]
    assert sentence["predicate"].labels == [0] * 10
    assert sentence["is_predicate"].labels == frame["is_predicate"].labels
    assert sentence["tags"].labels == ["O"] * 10

    rain = instances[3]
    assert rain["is_predicate"].labels == [0, 0] and rain["predicate"].labels == [0, 0]
    frames = SrlReader(predicate_instances=False).read(COLUMNS)
    assert [instance["metadata"]["predicate"] for instance in frames] == [3, 8, 1, 5, 8]


def test_vocabulary_and_tensors():
    instances = list(SrlReader().read(COLUMNS))
    vocab = Vocabulary.from_instances(instances)
    names = set(vocab.get_token_to_index_vocabulary("srl_tags"))
    # No padding or unknown entry, and the indicators do not go through the vocabulary.
    assert names == {"O", "B-V", "B-ARG0", "I-ARG0", "B-ARG1", "I-ARG1", "B-ARG2", "B-C-ARG1", "I-C-ARG1"}
    assert vocab.get_vocab_size("labels") == 0
    instances[0].index_fields(vocab)
    tensors = instances[0].as_tensor_dict()
    assert tensors["predicate"].tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert tensors["tags"].shape == tensors["tokens"]["tokens"]["tokens"].shape == (10,)


def test_fraction_is_fixed_nested_and_close(tmp_path):
    path = sentences_file(tmp_path / "x.jsonl", [2] * 2000)
    kept = {}
    for fraction in (0.1, 0.25, 0.5, 1.0):
        instances = list(SrlReader(fraction=fraction).read(path))
        counts = Counter(key(instance)[0] for instance in instances)
        kept[fraction] = set(counts)
        assert len(kept[fraction]) / 2000 == pytest.approx(fraction, abs=0.02)
        # Whole sentences: with all their frames, and the sentence instance.
        assert all(count == 1 + index_of(source) % 3 for source, count in counts.items())
    assert kept[0.1] < kept[0.25] < kept[0.5] < kept[1.0]
    # The choice itself, so that results stay comparable from release to release.
    assert sorted(map(index_of, kept[0.25]))[:4] == [2, 6, 13, 17]


def shards(path, ranks, workers, **kwargs):
    found = []
    for rank in range(ranks):
        for worker in range(workers):
            reader = SrlReader(**kwargs)
            if ranks > 1:
                reader._set_distributed_info(DistributedInfo(ranks, rank))
            if workers > 1:
                reader._set_worker_info(WorkerInfo(workers, worker))
            found.append([key(instance) for instance in reader.read(path)])
    return found


@pytest.mark.parametrize("ranks, workers", [(1, 1), (1, 3), (2, 1), (2, 2), (3, 2)])
def test_shards_are_even_and_complete(tmp_path, ranks, workers):
    path = sentences_file(tmp_path / "x.jsonl", [3] * 50)
    everything = [key(instance) for instance in SrlReader().read(path)]
    parts = shards(path, ranks, workers)
    assert sorted(sum(parts, []), key=str) == sorted(everything, key=str)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    # `max_instances` is a total.
    found = sum(shards(path, ranks, workers, max_instances=7), [])
    assert len(found) == len(set(found)) == 7


def frames_file(path, *tags):
    record = {"words": ["w"] * len(tags), "frames": [{"pred": tags.index("B-V"), "tags": list(tags)}]}
    path.write_text(json.dumps(record) + "\n")
    return str(path)


def test_stray_insides_are_repaired_with_one_warning(tmp_path, caplog):
    path = frames_file(tmp_path / "a.jsonl", "I-A0", "I-A0", "B-V", "I-A1", "O")
    reader = SrlReader(predicate_instances=False, repair=True)
    for _ in range(2):
        (frame,) = reader.read(path)
        assert frame["tags"].labels == ["B-A0", "I-A0", "B-V", "B-A1", "O"]
    (warning,) = [record.getMessage() for record in caplog.records if "repaired" in record.getMessage()]
    assert "2" in warning and f"{path}:1" in warning


def test_further_files_are_checked_before_a_training_begins(tmp_path):
    train = frames_file(tmp_path / "train.jsonl", "B-V", "O", "O")
    test = frames_file(tmp_path / "test.jsonl", "B-V", "O", "I-A1")
    options = {"serialization_dir": str(tmp_path), "also_check": test}
    with pytest.raises(ConfigurationError, match="test.jsonl:1: tag 2"):
        list(SrlReader(**options).read(train))
    assert len(list(SrlReader(**options, repair=True).read(train))) == 2


@pytest.mark.parametrize(
    "role_spans, tags", [("head", "O B-A0 O O B-V O B-A1"), ("subtree", "B-A0 I-A0 I-A0 I-A0 B-V B-A1 I-A1")]
)
def test_conllu_with_roles_is_read(role_spans, tags):
    reader = DatasetReader.from_params(Params({"type": "seal_srl", "role_spans": role_spans}))
    instances = list(reader.read(os.path.join(FIXTURES, "kitchen.conllu")))
    assert [instance["metadata"]["predicate"] for instance in instances] == [3, 4, None, 2, None]
    assert instances[1]["tags"].labels == tags.split()
