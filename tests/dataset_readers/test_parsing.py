import gzip

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, DatasetReader, Vocabulary

from seal.dataset_readers.parsing import ParsingReader

# As published: no label at the root, function tags, a trace, a tree over two lines.
TREEBANK = """\
( (S (NP-SBJ-1 (NNP Rose)) (VP (VBZ wants)
     (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB sell))))) (. .)))
( (UH Yes) )
"""
FIRST = "(S (NP XX ) (VP XX (S (VP XX (VP XX ) ) ) ) XX )".split()


def write(path, text=TREEBANK):
    path.write_text(text, encoding="utf-8")
    return str(path)


def reader_of(**options):
    return DatasetReader.from_params(Params({"type": "seal_parsing", **options}))


def message_of(path, **options):
    with pytest.raises(ConfigurationError) as error:
        list(reader_of(**options).read(path))
    assert "\n" not in error.value.message
    return error.value.message


def test_trees_as_published(tmp_path):
    path = write(tmp_path / "wsj_0001.mrg")
    first, second = reader_of().read(path)
    assert first["metadata"].metadata == {
        "words": "Rose wants to sell .".split(),
        "symbols": FIRST,
        "tags": "NNP VBZ TO VB .".split(),
        "source": f"{path}:1",
    }
    assert [token.text for token in first["tokens"]] == "Rose wants to sell .".split()
    assert first["symbols"].labels == FIRST
    # A word alone has a root.
    assert second["symbols"].labels == ["(TOP", "XX", ")"] and second["metadata"]["source"] == f"{path}:3"


def test_steps_are_padded_apart_from_words(tmp_path):
    instances = list(reader_of().read(write(tmp_path / "a.mrg")))
    reader = ParsingReader()
    for instance in instances:
        reader.apply_token_indexers(instance)
    batch = Batch(instances)
    batch.index_instances(Vocabulary.from_instances(instances))
    tensors = batch.as_tensor_dict()
    assert tensors["tokens"]["tokens"]["tokens"].shape == (2, 5)
    assert tensors["symbols"].shape == (2, len(FIRST)) and tensors["symbols"][1, 3:].eq(0).all()


def test_a_folder_is_all_files_below_it(tmp_path):
    (tmp_path / "02").mkdir()
    write(tmp_path / "02" / "wsj_0200.mrg")
    with gzip.open(tmp_path / "wsj_0001.mrg.gz", "wt", encoding="utf-8") as file:
        file.write("(NP (NN tea))\n")
    write(tmp_path / "README", "no tree")
    sources = [instance["metadata"]["source"] for instance in reader_of().read(str(tmp_path))]
    assert sources == [
        f"{tmp_path / '02' / 'wsj_0200.mrg'}:1",
        f"{tmp_path / '02' / 'wsj_0200.mrg'}:3",
        f"{tmp_path / 'wsj_0001.mrg.gz'}:1",
    ]
    (tmp_path / "other").mkdir()
    assert "no file in this folder has a name that ends in .mrg," in message_of(str(tmp_path / "other"))


def test_punctuation_may_go(tmp_path):
    first, _ = reader_of(punctuation=False).read(write(tmp_path / "a.mrg"))
    assert first["metadata"]["words"] == "Rose wants to sell".split() and first["symbols"].labels[-2:] == [")", ")"]


def test_parts_of_a_file_and_long_sentences(tmp_path):
    path = write(tmp_path / "a.mrg", "".join(f"(NP {'(NN tea) ' * n}(NN ale))\n" for n in range(6)))
    words = {
        part: [len(instance["tokens"]) for instance in reader_of(valid_every=3).read(path + part)]
        for part in ("", "#train", "#valid")
    }
    assert words == {"": [1, 2, 3, 4, 5, 6], "#train": [2, 3, 5, 6], "#valid": [1, 4]}
    assert [len(instance["tokens"]) for instance in reader_of(max_words=2).read(path)] == [1, 2]


def test_plain_text_is_an_input(tmp_path):
    path = write(tmp_path / "raw.txt", "Rose sells tea\n\nyes\n")
    instances = list(ParsingReader().read_inputs(path, plain_text=True))
    assert [instance["metadata"]["words"] for instance in instances] == [["Rose", "sells", "tea"], ["yes"]]
    assert "symbols" not in instances[0].fields


def test_mistakes(tmp_path):
    path = write(tmp_path / "a.mrg", "(NP (NN tea))\n(NP (NN tea)\n")
    assert message_of(path).startswith(f"{path}:2: ")
    nothing = write(tmp_path / "b.mrg", "( (S (-NONE- *)))\n")
    assert message_of(nothing) == f"{nothing}: it has no tree with a word."
    assert "there is no such file or folder" in message_of(str(tmp_path / "c.mrg"))
    with pytest.raises(ConfigurationError, match="a sentence needs at least one word"):
        ParsingReader().text_to_instance([])
    with pytest.raises(ConfigurationError, match="a.mrg:7: the tree has 1 words, and the sentence has 2"):
        ParsingReader().text_to_instance(["old", "tea"], ["(NP", "XX", ")"], source="a.mrg:7")
    placeholders = write(tmp_path / "d.mrg", "(NP (NN _) (NN _))\n" * 5)
    assert "these are data without their words" in message_of(placeholders)
