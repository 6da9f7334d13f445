import html
import json
import re
from xml.etree import ElementTree

import pytest

from seal.files.runs import Run
from seal_inspect.components import escaped
from seal_inspect.report_page import Report, as_html, table
from seal_inspect.run_figures import as_svg, curves

CONFIG = {"trainer": {"validation_metric": "+f1", "num_epochs": 2}, "model": {"type": "m`|<b>"}, "train_data_path": "d"}


def run(name="one", **more):
    epochs = [{"epoch": n, "best_epoch": 1, "validation_f1": 50.0 + n, "training_energy_gold": -n} for n in (0.0, 1.0)]
    epochs[-1].update(training_energy_prediction=-0.5, training_duration="0:01:02.5")
    scores = {"validation_f1": 51.0, "validation_f1-ARG0": 40.0, "test_f1": 49.123}
    parts = {"folder": name, "config": CONFIG, "epochs": epochs, "scores": scores, "trainings": []}
    return Run(name, **{**parts, **more})


@pytest.mark.parametrize(
    "text",
    [
        "_a_ b_c __",
        "__proto__ ___a_b___ _",
        "a [b](c) *d* `e` <f> | g & &amp; \\ ~~h~~ # i",
        "<script>alert(1)</script>",
        "![x](y)",
    ],
)
def test_plain_text_stays_plain(text):
    page = as_html("# t\n\n" + table([text], [[text]]), {})
    assert [html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*)</t[hd]>", page)] == [text, text]


def test_a_short_cell_stays_on_a_line_and_a_long_word_may_break():
    row = ["ARGM-TMP", "model.loss_net.encoder.num_layers", "streets, water, potholes"]
    page = as_html("# t\n\n" + table(["role", "setting", "labels"], [row]), {})
    assert '<td class="short">ARGM-TMP</td>' in page and '<td class="long">model.loss_net' in page
    assert "<td>streets, water, potholes</td>" in page


def test_numbers_are_short():
    assert table(["a"], [[0.123456], [12.3456], [3.0], [7], [True]]).splitlines()[2:] == [
        "| 0.1235 |",
        "| 12.35 |",
        "| 3 |",
        "| 7 |",
        "| True |",
    ]


def test_a_page_needs_no_other_file_and_nests_its_figures():
    report = Report([run(config={**CONFIG, "text": "```\n</pre><img src=x>"})])
    report.add_summary()
    report.add_figure("One", "first", "one.svg")
    report.add_figure("Two", "second", "two.svg")
    report.add_settings()
    drawn = {f"{name}.svg": as_svg(curves([run()]), name) for name in ("one", "two")}
    page = as_html(report.text(), drawn)
    assert "<img" not in page and "<script" not in page and page.count("<svg") == 2
    assert not re.findall(r'(?:src|href)="(?!#|http://www.w3.org)[^"]*"', page.replace("xlink:", ""))
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert ids and len(ids) == len(set(ids))
    referred = re.findall(r'url\(#([^)]+)\)|xlink:href="#([^"]+)"', page)
    assert referred and {one or other for one, other in referred} <= set(ids)
    for figure in drawn.values():
        ElementTree.fromstring(figure)
    assert page.startswith("<!DOCTYPE html>") and "<title>Run one</title>" in page


def test_scores_with_a_structure_stand_beside_those_of_the_task_net_alone():
    scores = {"validation_loss": 9.0, "validation_f1_own": 60.0, "validation_f1": 65.5, "validation_f1_tuned": 61.0}
    report = Report([run(), run("two", scores=scores)])
    report.add_summary()
    assert "| best f1 | 51 | 65.50 |" in report.text()
    assert "| f1 of the task-net's own output | – | 60 |" in report.text()
    report = Report([run("two", scores=scores)])
    report.add_scores()
    predicted, others = report.text().split("And of the task-net's own output; labels by a tuned threshold")
    assert "| f1 | 65.50 |" in predicted and "_own" not in predicted and "loss" not in predicted
    assert all(f"| {name} | " in others for name in ("loss", "f1_own", "f1_tuned"))


def test_each_score_stands_beside_its_name_where_runs_were_chosen_by_different_ones():
    other = {**CONFIG, "trainer": {**CONFIG["trainer"], "validation_metric": "+f1_tuned"}}
    scores = {"validation_f1": 60.0, "validation_f1_tuned": 62.0}
    report = Report([run(), run("two", config=other, scores=scores)])
    report.add_summary()
    assert "| f1 of the best epoch | 51 | 60 |" in report.text() and "best f1" not in report.text()
    assert "| f1_tuned of the best epoch | – | 62 |" in report.text()


def test_the_time_of_training_has_that_of_folds_and_of_a_student(tmp_path):
    for name, lasted in {"folds/0": "0:10:00.7", "folds/1": "1 day, 0:20:00", "student": "2:00:00"}.items():
        (tmp_path / name).mkdir(parents=True)
        for number, duration in enumerate(("0:00:01", lasted)):
            text = json.dumps({"training_duration": duration})
            (tmp_path / name / f"metrics_epoch_{number}.json").write_text(text)
    (tmp_path / "folds" / "2").mkdir()
    report = Report([run(folder=str(tmp_path))])
    report.add_summary()
    wanted = "1 day, 2:31:02, with 1 day, 0:30:00 of folds and 2:00:00 of a student"
    assert f"| time of training | {wanted} |" in report.text()


def test_a_card_in_an_archive_does_not_say_that_there_is_none(tmp_path):
    report = Report([run(folder=str(tmp_path))])
    report.add_summary(archived=True)
    assert "| epochs | 2 of 2; stopped before its end |" in report.text()
    (tmp_path / "metrics.json").write_text("{}")
    for archived in (True, False):
        report = Report([run(folder=str(tmp_path))])
        report.add_summary(archived)
        assert "| epochs | 2 of 2 |" in report.text()


def test_the_parts_of_a_report():
    first, second = run(), run("two", config={**CONFIG, "seed": 2}, scores={"validation_f1": 60.0})
    report = Report([first, second])
    report.add_summary()
    report.add_scores()
    report.add_settings()
    report.add_environment()
    text = report.text()
    assert text.startswith("# Runs one, two\n")
    assert "| best f1 | 51 | 60 |" in text and "| time of training | 0:01:02 | 0:01:02 |" in text
    assert "one: In the last epoch the mean energy of gold was -1.00, that of the task-net's output -0.50" in text
    assert "| ARG0 | 40 | – |" in text and "| f1 | 49.12 | – |" in text
    assert "| seed | – | 2 |" in text and "in progress, or killed" in text
    assert "Not recorded" in text and "with structure" not in text


def test_the_environment_is_that_of_the_last_training():
    records = [{"commit": "abc", "torch": "1"}, {"commit": "def", "torch": "2"}]
    report = Report([run(trainings=records)])
    report.add_environment()
    assert "| commit | def |" in report.text() and "| trainings | 2: continued with --recover |" in report.text()


def test_escaped_text_has_one_line():
    assert escaped("a\n| b") == "a \\| b"


def test_a_page_has_contents_and_folds_its_longest_parts():
    page = as_html("# Run \\*one\n\nSummary.\n\n## Scores\n\n50\n\n## Settings\n\nmany\n", {})
    assert "<title>Run *one</title>" in page and 'name="viewport"' in page
    links = dict(re.findall(r'<li><a href="#([^"]+)">([^<]+)</a></li>', page))
    folded = {name: not opened for opened, name in re.findall(r'<details( open)? id="([^"]+)">', page)}
    assert {links[name]: folded[name] for name in folded} == {"Scores": False, "Settings": True}
