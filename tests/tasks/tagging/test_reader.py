import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.dataset_readers.dataset_reader import WorkerInfo

from seal.tasks.base import UnknownGold
from tests.one_sentence import message_of
from tests.tasks.tagging.test_columns import CONLL2003, NAMES

NER_PLUS = {
    "type": "seal_tagging",
    "columns": NAMES,
    "token_column": "word",
    "tag_column": "ner",
    "feature_columns": {"pos": "pos", "chunk": "chunk"},
    "case": True,
    "encoding": "IOB1",
    "target_encoding": "BIOES",
}


def reader_of(**options):
    return DatasetReader.from_params(Params({"type": "seal_tagging", **options}))


def numbered(write, lengths):
    return write("x", "\n\n".join("\n".join(f"w{i}\tX" for _ in range(n)) for i, n in enumerate(lengths)))


def told_of(reader, path):
    return message_of(reader.read, path)


def test_conll2003_with_features_in_bioes(write):
    path = write("eng.train", CONLL2003)
    first, second = DatasetReader.from_params(Params(dict(NER_PLUS))).read(path)
    assert [token.text for token in first["tokens"]] == ["Anna", "Meyer", "sails"]
    assert first["tags"].labels == ["B-PER", "E-PER", "O"]
    assert first["pos"].labels == ["NNP", "NNP", "VBZ"] and first["chunk"].labels == ["I-NP", "I-NP", "I-VP"]
    assert first["case"].labels == ["upper", "upper", "lower"]
    assert first["metadata"].metadata == {
        "words": ["Anna", "Meyer", "sails"], "tags": ["B-PER", "E-PER", "O"], "source": f"{path}:3", "lines": [3, 4, 5]
    }  # fmt: skip
    assert second["tags"].labels == ["S-LOC", "S-LOC", "O"]
    assert second["case"].labels == ["upper", "upper", "other"]
    reader = reader_of(encoding="IOB1", target_encoding="BIO")
    assert [instance["tags"].labels for instance in reader.read(path)] == [
        ["B-PER", "I-PER", "O"], ["B-LOC", "B-LOC", "O"]
    ]  # fmt: skip
    as_it_is = [instance["tags"].labels for instance in reader_of(encoding="IOB1").read(path)]
    assert as_it_is == [["I-PER", "I-PER", "O"], ["I-LOC", "B-LOC", "O"]]


def test_vocabulary_and_tensors(write, caplog):
    first, second = DatasetReader.from_params(Params(dict(NER_PLUS))).read(write("x", CONLL2003))
    vocab = Vocabulary.from_instances([first])
    # Tags have no padding or unknown entry; features have.
    assert set(vocab.get_token_to_index_vocabulary("tags")) == {"B-PER", "E-PER", "O"}
    assert vocab.get_token_from_index(1, "pos_features") == vocab._oov_token
    second.fields.pop("tags")
    second.index_fields(vocab)
    tensors = second.as_tensor_dict()
    nnp = vocab.get_token_index("NNP", "pos_features")
    assert tensors["pos"].tolist() == [nnp, nnp, 1] and nnp > 1
    assert tensors["case"].shape == tensors["tokens"]["tokens"]["tokens"].shape == (3,)
    assert "label namespace" not in caplog.text


def test_an_unknown_tag_names_its_line(write):
    train = list(reader_of().read(write("train", "a X\n")))
    path = write("dev", "a X\n\na X\nb Y\n")
    vocab, (known, unknown) = Vocabulary.from_instances(train), reader_of().read(path)
    unknown.index_fields(vocab)
    gold = UnknownGold(vocab.get_token_to_index_vocabulary("tags"), "tags", "tags")
    with pytest.raises(ConfigurationError, match=f"^{path}:4: .*'Y'"):
        gold.refuse([instance["metadata"].metadata for instance in (known, unknown)])


def test_instances_to_predict(write):
    instance = reader_of().text_to_instance(["we", "go"])
    assert set(instance.fields) == {"tokens", "metadata"}
    assert instance["metadata"].metadata == {"words": ["we", "go"], "tags": None, "source": None}
    (unlabelled,) = reader_of(tag_column=None, encoding="BIO").read(write("x", "we X\ngo Y\n"))
    assert "tags" not in unlabelled.fields
    reader = reader_of(feature_columns={"pos": 1}, case=True)
    assert reader.text_to_instance(["We"], features={"pos": ["PRP"]})["case"].labels == ["upper"]


def tags_of(reader, path):
    return [instance["tags"].labels for instance in reader.read(path)]


def file_of(*sentences):
    return (
        "\n\n".join("\n".join(f"w{n}{tag}" for n, tag in enumerate(sentence.split(" "))) for sentence in sentences)
        + "\n"
    )


@pytest.mark.parametrize(
    "written, learned, name",
    [
        (("\tI-A \tI-A \tO", "\tI-B"), [["B-A", "I-A", "O"], ["B-B"]], "IOB1 B-X I-X O"),
        (("\tB \tI \tO", "\tB"), [["B-SPAN", "I-SPAN", "O"], ["B-SPAN"]], "BIO B I O"),
        (("\tB_a \tI_a \t-", "\tB_b"), [["B-a", "I-a", "O"], ["B-b"]], "BIO B_X I_X -"),
        (("\tB-a \tE-a \t", "\tW-b"), [["B-a", "E-a", "O"], ["S-b"]], 'BIOES B-X M-X E-X W-X ""'),
    ],
)
def test_spans_are_recognised_over_the_whole_file(write, caplog, written, learned, name):
    path = write("x", file_of(*written))
    caplog.set_level("INFO")
    reader = reader_of()
    for _ in range(2):
        assert tags_of(reader, path) == learned
    (line,) = [record for record in caplog.records if record.name == "seal.tasks.tagging.reader"]
    assert line.news and line.getMessage() == f"{path}: its tags write spans in {name}"
    # The vocabulary has it, for predictions.
    vocab = Vocabulary.from_instances(list(reader.read(path)))
    assert vocab.get_index_to_token_vocabulary("tag_notation_labels") == {0: name}
    (part,) = reader_of(valid_every=2).read(f"{path}#valid")
    assert part["tags"].labels == learned[0]


BIO, BIOES, IOB1 = "\tB-A \tI-A \tB-A", "\tB-A \tE-A \tS-A", "\tI-A \tI-A \tB-A"


@pytest.mark.parametrize(
    "trained, scored, learned",
    [(BIO, BIOES, ["B-A", "I-A", "B-A"]), (BIOES, BIO, ["B-A", "E-A", "S-A"]), (BIOES, IOB1, ["B-A", "E-A", "S-A"])],
)
def test_a_trained_model_scores_files_of_another_encoding(write, trained, scored, learned):
    vocab = Vocabulary.from_instances(list(reader_of().read(write("train", file_of(trained)))))
    # The reader of `evaluate` has not read the training data.
    (instance,) = reader_of().read(write("test", file_of(scored)))
    instance.index_fields(vocab)
    assert instance["tags"].labels == instance["metadata"]["tags"] == learned
    assert instance["tags"]._indexed_labels == [vocab.get_token_index(tag, "tags") for tag in learned]


def test_further_files_are_learned_in_the_encoding_of_the_first(write):
    reader = reader_of()
    assert tags_of(reader, write("train", file_of("\tB-A \tI-A", "\tB-B \tO"))) == [["B-A", "I-A"], ["B-B", "O"]]
    assert tags_of(reader, write("dev", file_of("\tA_u \tO", "\tA_b \tA_i \tA_l"))) == [
        ["B-A", "O"],
        ["B-A", "I-A", "I-A"],
    ]
    # Files that are too short to tell.
    assert tags_of(reader, write("short", file_of("\tO"))) == [["O"]]
    reader = reader_of()
    list(reader.read(write("other", file_of("\tA-B \tA-I \t-", "\tB-B \tB-I \t-"))))
    assert tags_of(reader, write("none", file_of("\t- \t-"))) == [["O", "O"]]
    assert tags_of(reader_of(target_encoding="BIO"), write("bioes", file_of("\tB-A \tE-A"))) == [["B-A", "I-A"]]


STRAY = "a O\nb I-PER\nc I-PER\n\nd B-LOC\ne I-PER\n\nf O\n"


def test_stray_insides_are_repaired_with_one_warning(write, caplog):
    path = write("x", STRAY)
    for options, expected in (
        ({}, [["O", "B-PER", "I-PER"], ["B-LOC", "B-PER"], ["O"]]),
        ({"target_encoding": "BIOES"}, [["O", "B-PER", "E-PER"], ["S-LOC", "S-PER"], ["O"]]),
    ):
        reader = reader_of(encoding="BIO", repair=True, **options)
        caplog.clear()
        for _ in range(2):  # As it is read for folds, or again and again where not all of it is in memory.
            found = list(reader.read(path))
            assert [instance["tags"].labels for instance in found] == expected
            assert found[0]["metadata"]["tags"] == expected[0]
        (warning,) = [record.getMessage() for record in caplog.records if "repaired" in record.getMessage()]
        assert "2" in warning and f"{path}:2, 'I-PER' read as 'B-PER'" in warning


def test_further_files_are_checked_before_a_training_begins(tmp_path, write):
    train, test = write("train", "a B-X\nb O\n"), write("test", STRAY)
    run = tmp_path / "run"
    run.mkdir()
    options = {"encoding": "BIO", "serialization_dir": str(run), "also_check": [str(tmp_path / "absent"), test]}
    assert told_of(reader_of(**options), train).startswith(f"{test}:2: ")
    reader = reader_of(**{**options, "also_check": f"{train}#valid"}, repair=True)
    assert len(list(reader.read(train))) == 1
    # In Python, and of a trained model, whose vocabulary is there: what is read is what is asked for.
    for folder in (None, str(tmp_path / "unpacked archive, gone by now")):
        assert len(list(reader_of(**{**options, "serialization_dir": folder}).read(train))) == 1
    (run / "vocabulary").mkdir()
    assert len(list(reader_of(**options).read(train))) == 1


def test_only_the_first_sentences_keep_their_tags(write):
    path = numbered(write, [2, 3, 1, 4])
    instances = list(reader_of(labelled=2).read(path))
    assert [instance["labelled"].label for instance in instances] == [1, 1, 0, 0]
    assert [instance["metadata"].metadata["tags"] for instance in instances] == [["X"] * 2, ["X"] * 3, None, None]
    assert instances[3]["tags"].labels == [0] * 4
    assert all("labelled" not in instance.fields for instance in reader_of().read(path))
    # Those that are too long are not counted.
    assert [i["labelled"].label for i in reader_of(labelled=2, max_words=2).read(path)] == [1, 1]


def test_workers_together_keep_the_tags_of_the_first_sentences(write):
    path, found = numbered(write, [2, 3, 1, 4]), []
    for worker in range(2):
        reader = reader_of(labelled=2)
        reader._set_worker_info(WorkerInfo(2, worker))
        found.append([(len(instance["tokens"]), instance["labelled"].label) for instance in reader.read(path)])
    assert found == [[(2, 1), (1, 0)], [(3, 1), (4, 0)]]


@pytest.mark.parametrize("plain", [False, True])
def test_further_sentences_without_tags(write, plain):
    path = numbered(write, [2, 3])
    lines = ["a b", "w0 w0", "", "w9 w0 w0"]
    rows = "\n\n".join("\n".join(f"{word}\tZ" for word in line.split()) for line in lines if line)
    further = write("further", "\n".join(lines) if plain else rows)
    # Also where `labelled` is more than the data have; those that the data have are left out.
    for labelled, known in ((1, [1, 0, 0, 0]), (9, [1, 1, 0, 0])):
        instances = list(reader_of(labelled=labelled, unlabelled=further, plain_text=plain).read(path))
        assert [instance["labelled"].label for instance in instances] == known
        assert [token.text for token in instances[2]["tokens"]] == ["a", "b"]
        assert [token.text for token in instances[3]["tokens"]] == ["w9", "w0", "w0"]
        assert all(instance["metadata"].metadata["tags"] is None for instance in instances[2:])
    assert instances[3]["metadata"].metadata["source"] == f"{further}:{4 if plain else 7}"
    assert len(list(reader_of(labelled=1, unlabelled=further, plain_text=plain, max_words=2).read(path))) == 2


def test_two_parts_of_a_file(write):
    path = numbered(write, range(1, 24))
    reader = reader_of(valid_every=5)
    parts = [[len(i["tokens"]) for i in reader.read(f"{path}{part}")] for part in ("#train", "#valid", "")]
    train, valid, whole = parts
    assert valid == [1, 6, 11, 16, 21] and sorted(train + valid) == whole == list(range(1, 24))
    # The same sentences have tags whatever stands between.
    few = list(reader_of(valid_every=5, labelled=2).read(f"{path}#train"))
    assert [len(i["tokens"]) for i in few if i["labelled"].label] == [2, 3] and len(few) == 18
