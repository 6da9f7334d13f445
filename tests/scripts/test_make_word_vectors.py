"""
scripts/make_word_vectors.py: each vector against the transformer's word by word, the order of words, and mistakes.
"""

import json

import pytest
import torch
from allennlp.data import Instance, Token, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.modules.token_embedders import Embedding
from transformers import AutoModel, AutoTokenizer

from scripts import make_word_vectors
from scripts.measure.suite import ROOT
from tests.tiny_bert import save_tiny_bert

CONFIG = str(ROOT / "training_configs" / "tagging_cross_entropy.jsonnet")
TRAIN, TEST = "Rose\tO\nsells\tO\nroses\tO\n\nrose\tO\nlane\tO\n", "sells\tO\nhoney\tO\n"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    torch.manual_seed(3)
    return str(save_tiny_bert(tmp_path_factory.mktemp("bert"), ["rose", "sells", "lane"]))


@pytest.fixture
def write(encoder, tmp_path, capsys):
    files = [tmp_path / "train.tsv", tmp_path / "test.tsv"]
    for file, text in zip(files, (TRAIN, TEST)):
        file.write_text(text)

    def run(*more, config=CONFIG, data=files):
        out = tmp_path / "vectors.txt"
        paths = [str(path) for path in data]
        status = make_word_vectors.main([config, *paths, "--encoder", encoder, "--out", str(out), *more])
        return status, out, capsys.readouterr().err

    return run


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("batch_size", ["2", "256"])
def test_a_word_has_the_mean_of_its_pieces(write, encoder, layer, batch_size):
    status, out, _ = write("--layer", str(layer), "--batch-size", batch_size)
    assert status == 0
    first, *lines = out.read_text().splitlines()
    assert first == "5 16"
    # `rose` and `sells` stand twice; of equals, the first in the files.
    assert [line.split(" ")[0] for line in lines] == ["rose", "sells", "roses", "lane", "honey"]
    tokenizer, model = AutoTokenizer.from_pretrained(encoder), AutoModel.from_pretrained(encoder).eval()
    for line in lines:
        word, *numbers = line.split(" ")
        with torch.no_grad():
            told = model(**tokenizer(word, return_tensors="pt"), output_hidden_states=True)
        # The first piece and the last are special.
        expected = told.hidden_states[layer][0, 1:-1].mean(dim=0)
        torch.testing.assert_close(torch.tensor([float(n) for n in numbers]), expected, rtol=1e-4, atol=1e-4)


def test_embeddings_load_it(write):
    _, out, _ = write()
    # As `vectors` of the library's BiLSTM does: a word of the file is known without standing in train.
    words = {"tokens": TextField([Token("rose")], {"tokens": SingleIdTokenIndexer()})}
    vocab = Vocabulary.from_instances(
        [Instance(words)],
        pretrained_files={"tokens": str(out)},
        min_pretrained_embeddings={"tokens": 100000},
    )
    embedding = Embedding(embedding_dim=16, pretrained_file=str(out), vocab=vocab)
    vector = embedding.weight[vocab.get_token_index("honey", "tokens")]
    written = [line for line in out.read_text().splitlines() if line.startswith("honey ")][0].split(" ")[1:]
    torch.testing.assert_close(vector.detach(), torch.tensor([float(number) for number in written]))


@pytest.mark.parametrize(
    "more, words",
    [
        (("--layer", "3"), "--layer: from 0 to 2 for this transformer, not 3"),
        (("--batch-size", "0"), "--batch-size must be at least 1, not 0"),
        (("--encoder", "no/such"), "--encoder: 'no/such' is not a transformer that is available here"),
    ],
)
def test_mistakes(write, more, words):
    status, out, told = write(*more)
    assert status == 2 and words in told and not out.exists()


def test_files_that_are_not_there_or_not_tagged(write, tmp_path):
    status, _, told = write(data=[tmp_path / "none.tsv"])
    assert status == 2 and "there is no" in told and "none.tsv" in told
    broken = tmp_path / "broken.tsv"
    broken.write_text("a\tO\nb\n")
    status, out, told = write(data=[broken])
    assert status == 2 and "broken.tsv:2: found 1 column" in told and not out.exists()


def test_files_whose_words_no_line_of_vectors_can_hold(write, tmp_path):
    blank = tmp_path / "blank.tsv"
    blank.write_text("a b\tO\n")
    status, out, told = write(data=[blank])
    assert status == 2 and "blank.tsv: there is no word" in told and not out.exists()


def test_a_config_that_reads_no_words(write, tmp_path):
    config = str(ROOT / "training_configs" / "multilabel_cross_entropy.jsonnet")
    status, _, told = write(config=config, data=[ROOT / "data" / "multilabel_sample" / "valid.arff"])
    assert status == 2 and "reads no words" in told


def test_a_config_that_reads_pieces_of_words(write, encoder, tmp_path):
    tokenizer = {"type": "pretrained_transformer", "model_name": encoder, "add_special_tokens": False}
    indexers = {"tokens": {"type": "pretrained_transformer", "model_name": encoder}}
    reader = {"type": "seal_text_multilabel", "tokenizer": tokenizer, "token_indexers": indexers}
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"dataset_reader": reader}))
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"text": "rose sells roses", "labels": ["a"]}\n')
    status, _, told = write(config=str(config), data=[texts])
    assert status == 2 and "reads word pieces" in told


@pytest.mark.parametrize("out, words", [("file/a.txt", "is a file, not a folder"), ("folder", "folder is a folder")])
def test_a_name_that_no_file_can_have(out, words, tmp_path, capsys):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    arguments = ["config.jsonnet", "data.tsv", "--encoder", "none", "--out", str(tmp_path / out)]
    assert make_word_vectors.main(arguments) == 2
    assert words in capsys.readouterr().err
