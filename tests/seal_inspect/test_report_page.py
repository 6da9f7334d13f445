import html
import json
import re
from xml.etree import ElementTree

import pytest

from seal.files.runs import Run
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


def test_a_page_has_contents_and_folds_its_longest_parts():
    page = as_html("# Run \\*one\n\nSummary.\n\n## Scores\n\n50\n\n## Settings\n\nmany\n", {})
    assert "<title>Run *one</title>" in page and 'name="viewport"' in page
    links = dict(re.findall(r'<li><a href="#([^"]+)">([^<]+)</a></li>', page))
    folded = {name: not opened for opened, name in re.findall(r'<details( open)? id="([^"]+)">', page)}
    assert {links[name]: folded[name] for name in folded} == {"Scores": False, "Settings": True}
