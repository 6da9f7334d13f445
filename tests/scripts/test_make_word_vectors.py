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


def test_mistakes_name_the_option_or_the_file(write, encoder, tmp_path):
    broken, blank, pieces = tmp_path / "broken.tsv", tmp_path / "blank.tsv", tmp_path / "pieces.json"
    broken.write_text("a\tO\nb\n")
    blank.write_text("a b\tO\n")
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"text": "rose sells roses", "labels": ["a"]}\n')
    tokenizer = {"type": "pretrained_transformer", "model_name": encoder, "add_special_tokens": False}
    indexers = {"tokens": {"type": "pretrained_transformer", "model_name": encoder}}
    reader = {"type": "seal_text_multilabel", "tokenizer": tokenizer, "token_indexers": indexers}
    pieces.write_text(json.dumps({"dataset_reader": reader}))
    multilabel = str(ROOT / "training_configs" / "multilabel_cross_entropy.jsonnet")
    for more, changed, word in (
        (["--layer", "3"], {}, "--layer"),
        (["--batch-size", "0"], {}, "--batch-size"),
        (["--encoder", "no/such"], {}, "'no/such'"),
        (["--out", str(broken / "a.txt")], {}, "broken.tsv"),
        (["--out", str(tmp_path)], {}, "is a folder"),
        ([], {"data": [tmp_path / "none.tsv"]}, "none.tsv"),
        ([], {"data": [broken]}, "broken.tsv:2"),
        ([], {"data": [blank]}, "blank.tsv"),
        ([], {"config": multilabel, "data": [ROOT / "data/multilabel_sample/valid.arff"]}, "reads no words"),
        ([], {"config": str(pieces), "data": [texts]}, "word pieces"),
    ):
        status, out, told = write(*more, **changed)
        assert status == 2 and word in told and not out.exists(), (more, changed)
