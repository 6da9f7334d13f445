"""`seal.load`: a model by its name, called with what a program has."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from allennlp.predictors import Predictor
from PIL import Image

import seal
from seal.allennlp import model_names
from seal.cli.main import main
from seal.tasks.base import InputError
from seal.tasks.base.pipeline import Pipeline
from tests.tasks.test_every_task import MAKERS, close

ARCHIVES = Path(__file__).parents[2] / "fixtures" / "archives"
TEXT = "Rose sells ginger. Mr. Kay sells  tea in York!"


@pytest.fixture
def ready(tmp_path, monkeypatch):
    """A folder of models that come with the package: a tagger, `english-pos`."""
    folder = tmp_path / "ready"
    folder.mkdir()
    shutil.copy(ARCHIVES / "tagging_nce.tar.gz", folder / "english-pos.tar.gz")
    monkeypatch.setattr(model_names, "READY_MODELS", folder)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture(scope="module")
def tagger():
    return seal.load(ARCHIVES / "tagging_nce.tar.gz")


def written(capsys, *arguments):
    """The records that `seal predict` prints."""
    capsys.readouterr()
    main(["predict", *map(str, arguments)])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_model_that_comes_with_the_package_is_named_without_a_path(ready, capsys):
    (ready.parent / "lines.txt").write_text("Rose sells ginger\n")
    (record,) = written(capsys, "english-pos", "lines.txt")
    found = seal.load("english-pos")("Rose sells ginger")
    assert {**record, **close(found)} == record and found["tags"]


def test_a_file_of_a_models_name_is_that_file(ready):
    (ready.parent / "english-pos").write_text("no archive")
    with pytest.raises(ValueError, match="english-pos"):
        seal.load("english-pos")


def test_a_wrong_name_is_told_of_those_that_there_are(ready):
    shutil.copy(ready / "english-pos.tar.gz", ready / "english-srl.tar.gz")
    with pytest.raises(ValueError, match="english-tags: .* english-pos, english-srl"):
        seal.load("english-tags")
    with pytest.raises(FileNotFoundError, match="runs/model"):
        seal.load("runs/model")


def test_text_is_the_same_to_a_program_as_to_the_command(tagger, tmp_path, capsys):
    (tmp_path / "lines.txt").write_text(f"{TEXT}\nginger\n")
    found = written(capsys, ARCHIVES / "tagging_nce.tar.gz", tmp_path / "lines.txt", "--split-sentences")
    for record, text in zip(found, [TEXT, "ginger"]):
        assert (record.pop("input"), record.pop("line") > 0) == (text, True)
        assert record == close(tagger(text))


def test_a_text_of_several_sentences_has_a_record_of_each_with_places_in_the_text(tagger):
    record = tagger(TEXT)
    assert list(record) == ["sentences"]
    assert [one["words"] for one in record.sentences] == [
        ["Rose", "sells", "ginger", "."],
        ["Mr.", "Kay", "sells", "tea", "in", "York", "!"],
    ]
    for one in record.sentences:
        assert [TEXT[start:end] for start, end in one["offsets"]] == one["words"]
        assert all(span["text"] in TEXT for span in one["spans"])
    alone = tagger("Rose sells ginger.")
    assert alone.sentences == [alone] and record.sentences[0] == close(alone)
    together = seal.load(ARCHIVES / "tagging_nce.tar.gz", split_sentences=False)(TEXT)
    assert len(together["words"]) == 11


def test_a_sentence_that_cannot_be_predicted_leaves_the_others(tmp_path, caplog):
    one = seal.load(ARCHIVES / "tagging_nce.tar.gz", max_words=4)
    record = one(TEXT)
    assert "tags" in record.sentences[0] and "error" in record.sentences[1]
    (tmp_path / "lines.txt").write_text(f"{TEXT}\n")
    with pytest.raises(SystemExit) as ended:
        main(["predict", str(ARCHIVES / "tagging_nce.tar.gz"), str(tmp_path / "lines.txt"), "--split-sentences",
              "--predictor-args", '{"max_words": 4}'])  # fmt: skip
    assert ended.value.code == 3


def test_several_inputs_are_read_as_their_records_are_asked_for(tagger):
    read = []

    def texts():
        for text in ["Rose sells ginger", "", 5, {"words": ["a"]}, "tea"]:
            read.append(text)
            yield text

    found = tagger(texts(), batch_size=2)
    assert read == []
    first = next(found)
    assert len(read) == 2 and first == close(tagger("Rose sells ginger"))
    rest = list(found)
    assert ["error" in record for record in rest] == [True, True, False, False]
    assert list(tagger([])) == []


@pytest.mark.parametrize("given", ["", " ", None, 5, b"text", {"text": "x"}, {"sentence": "half \ud83d"}])
def test_a_wrong_input_is_an_error_of_one_sentence(tagger, given):
    with pytest.raises(InputError) as error:
        tagger(given)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("form", [list, tuple, numpy.array, "object"])
def test_a_row_of_features_and_several(form):
    pipeline = Pipeline(MAKERS["features"]())
    values = [1.0, 2.0, 3.0]
    row = dict(zip(pipeline.predictor._rows.names, values)) if form == "object" else form(values)
    record = pipeline.predictor.predict_json({"features": values})
    assert pipeline(row) == record
    assert list(pipeline([row, row])) == close([record, record])


def test_images_of_a_program(tmp_path):
    pipeline = Pipeline(MAKERS["masks"]())
    pixels = numpy.random.default_rng(0).integers(0, 256, (12, 10, 3), dtype=numpy.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    record = {**pipeline(tmp_path / "a.png"), "image": "image"}
    assert record["size"] == [10, 12]
    for given in (pixels, Image.fromarray(pixels)):
        assert pipeline(given) == close(record)
    assert list(pipeline([pixels, Image.fromarray(pixels)])) == close([record, record])
    assert list(pipeline(pixels[None])) == close([record])
    for wrong in (pixels[..., 0], pixels.astype(float), Image.new("RGBA", (3, 3))):
        with pytest.raises(InputError):
            pipeline(wrong)


def test_an_argument_of_another_task_is_refused(tagger):
    with pytest.raises(ValueError, match="'top_k'"):
        seal.load(ARCHIVES / "tagging_nce.tar.gz", top_k=3)
    with pytest.raises(ValueError, match="split_sentences"):
        seal.load(ARCHIVES / "text_nce.tar.gz", split_sentences=True)


def test_a_program_that_loads_a_model_imports_no_more_than_the_command():
    """And a model can be loaded twice."""
    program = (
        "import sys, seal\n"
        "assert not any(name.startswith(('allennlp.data', 'seal.tasks')) for name in sys.modules)\n"
        f"model = seal.load({str(ARCHIVES / 'text_nce.tar.gz')!r}, device='cpu')\n"
        "print(model('red kite')['labels'] == next(model(['red kite']))['labels'], 'sklearn' in sys.modules)\n"
        f"print(bool(seal.load({str(ARCHIVES / 'multilabel_dvn.tar.gz')!r})))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("True False\nTrue\n", "")


def test_long_text_and_other_languages(tagger):
    text = "Rose sells ginger in York, and Kay buys it. " * 2300
    record = tagger(text)
    assert len(text) > 100_000 and len(record.sentences) == 2300
    assert not any("error" in one for one in record.sentences)
    assert [text[start:end] for start, end in record.sentences[-1]["offsets"]] == record.sentences[-1]["words"]
    for other in (
        "\u732b\u306f\u3069\u3053\u3067\u3059\u304b\u3002",
        "\u041a\u0442\u043e \u044d\u0442\u043e?",
        "\U0001f600",
    ):
        assert "".join(tagger(other)["words"]) == other.replace(" ", "")


def test_a_text_without_sentences_is_one_and_may_be_too_long(tagger):
    with pytest.raises(InputError, match="100,000"):
        tagger("a " * 100_000)


def test_a_model_of_another_version_is_told_in_a_sentence(ready, tmp_path):
    shutil.unpack_archive(ready / "english-pos.tar.gz", tmp_path / "inside")
    config = json.loads((tmp_path / "inside" / "config.json").read_text())
    config["model"]["type"] = "seal_of_tomorrow"
    (tmp_path / "inside" / "config.json").write_text(json.dumps(config))
    (tmp_path / "inside" / "SHA256SUMS").unlink(missing_ok=True)
    shutil.make_archive(str(ready / "later"), "gztar", tmp_path / "inside")
    with pytest.raises(ValueError, match="seal_of_tomorrow"):
        seal.load("later")


def test_evaluate_and_allennlp_take_a_model_by_its_name(ready, capsys):
    data = Path(__file__).parents[3] / "data" / "tagging_sample" / "test.tsv"
    capsys.readouterr()
    main(["evaluate", "english-pos", str(data)])
    assert "f1" in json.loads(capsys.readouterr().out)
    assert Predictor.from_path("english-pos").predict("Rose") == close(seal.load("english-pos")("Rose"))
