import argparse
import json
import re
import resource
import shutil
from pathlib import Path

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal_inspect.report import ReportCommand, card
from tests.training.runs import DATA

ROOT = Path(__file__).parents[2]


@pytest.fixture
def report(capsys):
    """Runs the sub-command as `allennlp` does, without loading its plugins anew; gives what it prints."""
    parser = argparse.ArgumentParser()
    ReportCommand().add_subparser(parser.add_subparsers())

    def report(*arguments):
        given = parser.parse_args(["report", *map(str, arguments)])
        given.func(given)
        return capsys.readouterr().out

    return report


@pytest.fixture
def both(small_run):
    return small_run("nce"), small_run("cross_entropy")


def test_a_page_of_two_runs(both, tmp_path, report):
    page = tmp_path / "report.html"
    told = report(*both, "--out", page)
    text = page.read_text(encoding="utf-8")
    assert len(re.findall("<h2>(.*?)</h2>", text)) > 12
    scores = json.loads((both[0] / "metrics.json").read_text())
    assert f">{scores['best_validation_loss']:.2f}</td>" in text
    assert "model.energy_loss.type" in text and text.count("<svg") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert str(page) in told


def test_an_earlier_page_stays_on_a_full_disk(both, tmp_path, report):
    page = tmp_path / "report.html"
    page.write_text("earlier")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(ConfigurationError, match=f"^--out: '{page}'"):
            report(both[0], "--out", page, "--examples", "0")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert page.read_text() == "earlier" and [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_whether_runs_differ_by_more_than_chance(both, tmp_path, report):
    report(*both, "--out", tmp_path / "a.md")
    text = (tmp_path / "a.md").read_text(encoding="utf-8")
    scores = [json.loads((run / "metrics.json").read_text()) for run in both]
    rows = re.findall(r"^\| (\S+) \| cross_entropy – nce \| (.*) \|$", text, re.MULTILINE)
    assert [name for name, _ in rows] == ["f1", "ucr", "exact_match"]
    for name, row in rows:
        one, other, difference, p_value = map(float, row.split(" | "))
        wanted = [run[f"best_validation_{name}"] for run in reversed(scores)]
        assert [one, other, difference] == pytest.approx([*wanted, wanted[0] - wanted[1]], abs=0.01)
        assert 0 < p_value <= 1


def test_scores_of_each_role(both, tmp_path, report):
    report(both[0], "--out", tmp_path / "a.md")
    text = (tmp_path / "a.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^\| A\S+ \| \d+ \|.*\|$", text, re.M)) == 3
    # Side by side on the same examples, and one after the other on others.
    report(*both, "--out", tmp_path / "b.md")
    both_rows = re.findall(r"^\| ARG1 \| (\d+) \| .*$", (tmp_path / "b.md").read_text(), re.M)
    assert len(both_rows) == 1 and "| F1 of nce | F1 of cross" in (tmp_path / "b.md").read_text()


def test_why_runs_are_not_compared(both, tmp_path, report):
    folder = tmp_path / "copy"
    folder.mkdir()
    for name in ("metrics_epoch_0.json", "config.json"):
        (folder / name).write_text((both[0] / name).read_text())
    report(both[0], folder, "--out", tmp_path / "a.md")
    assert "copy is not compared with nce" in (tmp_path / "a.md").read_text()
    (folder / "model.tar.gz").symlink_to(both[0] / "model.tar.gz")
    config = json.loads((folder / "config.json").read_text())
    other = tmp_path / "half.gold_conll"
    sentences = (ROOT / config["validation_data_path"]).read_text(encoding="utf-8").split("\n\n")
    other.write_text("\n\n".join(sentences[:1] + sentences[2:]), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({**config, "validation_data_path": str(other)}))
    report(both[0], folder, "--out", tmp_path / "a.md")
    text = (tmp_path / "a.md").read_text()
    assert "copy is not compared with nce" in text
    assert "## nce: Scores of each role" in text and "## copy: Scores of each role" in text
    # The same model on the same data.
    report(both[0], folder, "--out", tmp_path / "a.md", "--data", other)
    assert re.search(r"^\| f1 \| copy – nce \| (\S+) \| \1 \| 0 \| 1.0000 \|$", (tmp_path / "a.md").read_text(), re.M)


def test_a_markdown_page_has_its_figures_beside_it(both, tmp_path, report):
    report(both[0], "--out", tmp_path / "card.md", "--examples", "0")
    text = (tmp_path / "card.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\((.*\.svg)\)", text)
    assert named == ["card_curves.svg"] and (tmp_path / named[0]).read_text().startswith("<svg")
    assert "confused" not in text


def test_why_there_are_no_examples(both, tmp_path, report):
    folder = tmp_path / "copy"
    folder.mkdir()
    for name in ("metrics_epoch_0.json", "config.json"):
        (folder / name).write_text((both[0] / name).read_text())
    report(folder, "--out", tmp_path / "a.md")
    assert "no model.tar.gz" in (tmp_path / "a.md").read_text()
    config = json.loads((folder / "config.json").read_text())
    (folder / "model.tar.gz").symlink_to(both[0] / "model.tar.gz")
    (folder / "config.json").write_text(json.dumps({**config, "validation_data_path": "lost/dev.conll"}))
    report(folder, "--out", tmp_path / "a.md")
    assert "'lost/dev.conll'" in (tmp_path / "a.md").read_text()
    report(folder, "--out", tmp_path / "a.md", "--data", DATA)
    assert "Examples with the largest loss" in (tmp_path / "a.md").read_text()


def test_a_report_of_a_run_whose_files_have_gone(tmp_path, report):
    data, run, page = tmp_path / "data", tmp_path / "run", tmp_path / "a.md"
    shutil.copytree(ROOT / "data" / "multilabel_sample", data)
    text = Params.from_file(str(ROOT / "training_configs" / "multilabel_cross_entropy.jsonnet")).as_dict(quiet=True)
    config = json.loads(json.dumps(text).replace("data/multilabel_sample", str(data)))
    config["trainer"]["num_epochs"] = 1
    train_model(Params(config), str(run))
    (data / "labels.xml").unlink()
    report(run, "--out", page)
    assert "## Scores on validation data" in page.read_text() and "## Settings" in page.read_text()
    assert "labels.xml: " in page.read_text()
    # Also where other data are named; but these must be there.
    report(run, "--out", page, "--data", data / "test.arff")
    assert "labels.xml: " in page.read_text()
    with pytest.raises(ConfigurationError, match="lost.arff"):
        report(run, "--out", page, "--data", data / "lost.arff")
    shutil.rmtree(data)
    report(run, "--out", page)
    assert f"'{data}/valid.arff'" in page.read_text().replace("\\", "")


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--out", "report.pdf"], "--out.*html"),
        (["--out", "none/report.html"], "--out.*'none'"),
        (["--out", "report.html", "--examples", "-1"], "--examples"),
    ],
)
def test_a_wrong_option(arguments, told, both, report):
    with pytest.raises(ConfigurationError, match=told):
        report(both[0], *arguments)


def test_the_model_card_is_the_report_without_figures(both, tmp_path):
    """It is written before the archive, of a run that has ended."""
    folder = tmp_path / "nce"
    shutil.copytree(both[0], folder, ignore=shutil.ignore_patterns("model.tar.gz"))
    text = card(str(folder))
    assert text.startswith("# Run nce") and "| commit |" in text and "predicate_f1" in text and "](" not in text
    assert "| epochs | 2 of 2 |" in text and "no model.tar.gz" not in text


def test_runs_of_different_tasks_are_refused(both, tmp_path, report):
    other = shutil.copytree(both[0], tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    config["model"]["type"] = "seal_tagging"
    (other / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigurationError, match="other .*'seal_tagging'"):
        report(both[0], other, "--out", str(tmp_path / "page.html"))
