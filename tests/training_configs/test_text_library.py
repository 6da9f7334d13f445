"""
The data sets of `training_configs/lib/text.libsonnet` that no test has: their files as they are published, and
converted by the commands of data/README.md.
"""

import json
from pathlib import Path

import _jsonnet
import pytest
from allennlp.common import Params
from allennlp.data import DatasetReader

import seal.plugin  # noqa: F401
from tests.scripts.converted import convert_as_documented

LIBRARY = Path(__file__).parents[2] / "training_configs" / "lib" / "text.libsonnet"


def book(title, body, topics):
    levels = "".join(f"<d{level}>{topic}</d{level}>" for level, topic in topics)
    return (
        f'<book date="2018-08-18" xml:lang="en">\n<title>{title}</title>\n<body>{body}</body>\n'
        f"<copyright>(c) A & B</copyright>\n<metadata>\n<topics>{levels}</topics>\n<author>A Writer</author>\n"
        "<published>Jan 01, 2001 </published>\n<isbn>9780000000000</isbn>\n</metadata>\n</book>\n"
    )


def tokens_of(*documents):
    return "".join(f".I {number}\n.W\n{words}\n\n" for number, words in documents)


TOPIC = "parent: {:10} child: {:10} child-description: {}\n"
FILES = {
    "aapd": {
        **{f"text_{split}": f"the {split} of codes\na field\n" for split in ("train", "val", "test")},
        **{f"label_{split}": "cs.it math.it\nhep-th\n" for split in ("train", "val", "test")},
    },
    "rcv1": {
        "lyrl2004_tokens_train.dat": tokens_of((2286, "recov recov\nexcit"), (2287, "vienna fund")),
        **{f"lyrl2004_tokens_test_pt{part}.dat": tokens_of((3000 + part, f"share part{part}")) for part in range(4)},
        "rcv1-v2.topics.qrels": "E11 2286 1\nECAT 2286 1\nC15 2287 1\n" + "".join(f"E11 300{i} 1\n" for i in range(4)),
        "rcv1.topics.hier.orig": TOPIC.format("None", "Root", "Root")
        + TOPIC.format("Root", "CCAT", "CORPORATE/INDUSTRIAL")
        + TOPIC.format("Root", "ECAT", "ECONOMICS")
        + TOPIC.format("CCAT", "C15", "PERFORMANCE")
        + TOPIC.format("ECAT", "E11", "ECONOMIC PERFORMANCE"),
    },
    "bgc": {
        **{
            f"BlurbGenreCollection_EN_{split}.txt": book("Cats & Dogs", f"A {split} tale.", [(0, "Humor")])
            + book("Stars", "On the sky.", [(0, "Nonfiction"), (1, "Science"), (1, "Popular Science")])
            for split in ("train", "dev", "test")
        },
        "hierarchy.txt": "Nonfiction\tScience\nNonfiction\tPopular Science\nHumor\n",
    },
    "nyt": {
        **{
            f"nyt_{split}.json": json.dumps({"token": ["A", split, "story"], "label": ["News/World"]})
            + "\n"
            + json.dumps({"token": ["Stocks"], "label": ["News", "Features"]})
            + "\n"
            for split in ("train", "val", "test")
        },
        "nyt.taxonomy": "Root\tNews\tFeatures\nNews\tNews/World\n",
    },
}
# Texts and labels of train, dev and test: as published, and what `ancestors` adds.
TEXTS = {
    "aapd": [
        [(f"the {split} of codes", {"cs.it", "math.it"}, set()), ("a field", {"hep-th"}, set())]
        for split in ("train", "val", "test")
    ],
    "rcv1": [
        [("vienna fund", {"C15"}, {"CCAT"})],
        [("recov recov excit", {"E11", "ECAT"}, set())],
        [(f"share part {part}", {"E11"}, {"ECAT"}) for part in range(4)],
    ],
    "bgc": [
        [
            (f"Cats & Dogs A {split} tale .", {"Humor"}, set()),
            ("Stars On the sky .", {"Nonfiction", "Science", "Popular Science"}, set()),
        ]
        for split in ("train", "dev", "test")
    ],
    "nyt": [
        [(f"A {split} story", {"News/World"}, {"News"}), ("Stocks", {"News", "Features"}, set())]
        for split in ("train", "val", "test")
    ],
}


@pytest.mark.parametrize(
    "name, ancestors",
    # The labels of AAPD have no taxonomy.
    [(name, ancestors) for name in FILES for ancestors in (False, True) if name != "aapd" or not ancestors],
)
def test_published_files_are_read_by_the_librarys_entry(name, ancestors, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / name
    folder.mkdir(parents=True)
    for file, content in FILES[name].items():
        (folder / file).write_text(content, encoding="utf-8")
    if name != "nyt":
        convert_as_documented(name)
    source = f"""
    local text = import '{LIBRARY.as_posix()}';
    local data = text.data.{name} {"{ reader+: { ancestors: true } }" if ancestors else ""};
    {{
      config: text.experiment(data, text.encoder.cnn(), text.method.cross_entropy(), text.training.{name}),
      paths: [data.train, data.dev, data.test],
    }}"""
    found = json.loads(_jsonnet.evaluate_snippet("test", source))
    config, paths = found["config"], found["paths"]
    assert paths[:2] == [config["train_data_path"], config["validation_data_path"]]
    reader = DatasetReader.from_params(Params(config["dataset_reader"]))
    for path, texts in zip(paths, TEXTS[name]):
        instances = list(reader.read(path))
        words = [" ".join(token.text for token in instance["tokens"].tokens) for instance in instances]
        assert words == [text for text, _, _ in texts]
        for instance, (_, published, above) in zip(instances, texts):
            labels = instance["labels"].labels
            assert len(labels) == len(set(labels))
            assert set(labels) == published | (above if ancestors else set())


def test_a_vocabulary_of_so_many_words():
    source = f"(import '{LIBRARY.as_posix()}').encoder.bilstm(vocabulary_size=50000).vocabulary"
    assert json.loads(_jsonnet.evaluate_snippet("test", source))["max_vocab_size"] == {"tokens": 50000}


@pytest.mark.parametrize(
    "training, score",
    [("{}", "micro_f1"), ("{ metric: 'f1_tuned' }", "f1"), ("{ metric: 'subset_accuracy' }", "subset_accuracy")],
)
def test_a_structure_predicts_for_the_score_that_chooses_the_epoch(training, score):
    source = f"""
    local text = import '{LIBRARY.as_posix()}';
    local config(method) = text.experiment(text.data.sample, text.encoder.cnn(), method, {training});
    [config(text.method.structured()), config(text.method.cross_entropy())]"""
    structured, plain = json.loads(_jsonnet.evaluate_snippet("test", source))
    assert structured["model"]["score"] == score and structured["trainer"]["validation_metric"].startswith(f"+{score}")
    assert "score" not in plain["model"]
