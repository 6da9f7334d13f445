"""The pages of `demo` and `report` in a real browser."""

import shutil
import threading
from contextlib import contextmanager

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive

from scripts.upkeep.screenshots import open_browser
from seal.tasks.segmentation import SegmentationReader
from seal_inspect.demo import DemoServer
from seal_inspect.demo_alternatives import ALTERNATIVES
from seal_inspect.demo_answers import answers_of
from seal_inspect.label_colours import colours_of
from tests import segmentation, trees
from tests.seal_inspect import demo_models

pytest.importorskip("selenium.webdriver", reason="requirements-dev.txt is not installed")
MISSING = shutil.which("chromedriver") is None
pytestmark = pytest.mark.skipif(MISSING, reason="Chromium with its driver (chromedriver) is not installed")


EXAMPLES = ["Ann <b>saw</b> Bo", "wrong"]


class Spans:
    """Answers with one frame, and with one that competed."""

    asks = task = "text"

    def __init__(self, name, role):
        self.name, self.role = name, role
        self.colours = colours_of(["ARGM-MOD", "ARG1"])

    def about(self):
        return {"name": self.name, "asks": self.asks, "hint": "Each line is an input.", "examples": EXAMPLES}

    def answer(self, given):
        if given == "wrong":
            raise ConfigurationError("'words' is empty; a sentence needs at least one word.")
        words, spans = given.split(), [[self.role, 0, 0], ["V", 1, 1]]
        competed = {"words": words, "spans": [["V", 1, 1]], "chosen": False, "numbers": {"energy": 2.0}}
        frame = {"kind": "spans", "heading": "saw", "words": words, "spans": spans, "numbers": {"probability": 0.25}}
        alternatives = [{**competed, "spans": spans, "chosen": True}, competed]
        block = {**frame, "alternatives": alternatives, "decides": "energy", "why": "So."}
        yield {"blocks": [block], "done": 1, "of": 1}


@pytest.fixture
def browser():
    driver = open_browser()
    yield driver
    driver.quit()


@contextmanager
def served(browser, *answers):
    """The browser, with the page of models."""
    with DemoServer(0) as server:
        server.answers = list(answers)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            browser.get(server.address)
            yield browser
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def page(browser):
    """The browser, with the page of two models."""
    with served(browser, Spans("one", "ARGM-MOD"), Spans("two", "ARG1")) as page:
        yield page


def first_answered(page):
    """Clicks the first example, and opens what competed; gives the block of the answer."""
    page.find_element("css selector", "#examples button").click()
    block = page.find_element("css selector", ".block")
    for summary in page.find_elements("tag name", "summary"):
        summary.click()
    assert page.get_log("browser") == []
    # Nothing is wider than the page.
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    return block


def loaded(page, selector):
    """The images, in pixels as they are: `(width, height)`; `(0, 0)` of one that cannot be shown."""
    script = "return [...document.querySelectorAll(arguments[0])].map(i => [i.naturalWidth, i.naturalHeight])"
    return [tuple(sizes) for sizes in page.execute_script(script, selector)]


def texts(page, selector):
    return [found.text for found in page.find_elements("css selector", selector)]


def test_an_example_is_answered_by_both_models(page):
    page.find_element("css selector", "#examples button").click()
    page.find_element("css selector", ".column:nth-child(2) .block")
    assert page.title == "seal: try a model" and texts(page, ".column h2") == ["one", "two"]
    # What is typed stays text.
    assert texts(page, ".block > .words") == [f"Ann\n{role}\n<b>saw</b>\nV\nBo" for role in ("ARGM-MOD", "ARG1")]
    assert texts(page, ".numbers") == ["probability 0.250"] * 2
    first = page.find_element("css selector", ".block > .words .span")
    label = first.find_element("tag name", "small")
    # A label lies below its word, and is not wider than its span.
    assert label.rect["y"] > first.rect["y"] and label.size["width"] <= first.size["width"]
    page.find_element("tag name", "summary").click()
    assert texts(page, ".column:first-child tr td:last-child") == ["2.000", "2.000"]
    assert len(page.find_elements("css selector", ".column:first-child tr.chosen")) == 1
    assert texts(page, ".column:first-child details p") == ["So."]
    colours = [one.value_of_css_property("background-color") for one in page.find_elements("css selector", ".span")]
    assert "rgba(0, 0, 0, 0)" not in colours and len(set(colours)) == 3
    assert page.get_log("browser") == []


@pytest.mark.parametrize("width, beside", [(1500, True), (1000, False)])
def test_models_stand_side_by_side_where_their_tables_have_room(width, beside, page):
    page.set_window_size(width, 1000)
    first_answered(page)
    columns = page.find_elements("css selector", ".column")
    assert (columns[0].rect["y"] == columns[1].rect["y"]) == beside


def test_a_mistake_shows_its_sentence(page):
    given = page.find_element("id", "given")
    given.clear()
    given.send_keys("wrong")
    page.find_element("id", "send").click()
    page.find_element("css selector", ".column:nth-child(2) .error")
    assert texts(page, ".error") == ["'words' is empty; a sentence needs at least one word."] * 2


def test_bars_of_labels_with_the_threshold_of_each(browser):
    with served(browser, demo_models.texts(thresholds=[0.3, 0.8])) as page:
        first_answered(page)
        bars = page.find_elements("css selector", ".bar")
        assert len(bars) == 2
        for bar in bars:
            whole = bar.find_element("tag name", "div").rect
            share = (bar.find_element("tag name", "b").rect["x"] - whole["x"]) / whole["width"]
            number = float(bar.find_elements("tag name", "span")[1].text)
            assert bar.find_element("tag name", "i").rect["width"] / whole["width"] == pytest.approx(number, abs=0.01)
            threshold = min((0.3, 0.8), key=lambda one: abs(one - share))
            assert share == pytest.approx(threshold, abs=0.01)
            assert ("predicted" in bar.get_attribute("class")) == (number >= threshold)
        assert "reaches the line" in texts(page, ".numbers")[0]


@pytest.mark.parametrize("option", ["blend", "likeliest"])
def test_bars_of_labels_that_a_structure_chooses(option, browser, tmp_path):
    with served(browser, demo_models.label_sets(tmp_path, option)) as page:
        first_answered(page)
        bars = page.find_elements("css selector", ".bar")
        predicted = {bar.text.split("\n")[0] for bar in page.find_elements("css selector", ".bar.predicted")}
        assert set(page.find_element("css selector", "tr.chosen td").text.split(", ")) == predicted
        lines = [bar.find_element("tag name", "b").rect["x"] for bar in bars] if option == "blend" else []
        assert len(set(lines)) == len(page.find_elements("css selector", ".bar b")) / len(bars)
        for bar, line in zip(bars, lines):
            end = bar.find_element("tag name", "i").rect
            # The line is two pixels wide.
            assert ("predicted" in bar.get_attribute("class")) == (end["x"] + end["width"] > line - 2)
        assert ("whole set was chosen" in texts(page, ".numbers")[0]) == (option == "likeliest")


def test_masks_of_an_example_and_of_a_file(browser, tmp_path):
    net = segmentation.model(**demo_models.MASK_PARTS, task_net=segmentation.TASK_NET, size=[10, 12]).float()
    path = segmentation.write_npz(tmp_path)
    answers = answers_of("shapes", demo_models.archived(net, SegmentationReader(), "seal_segmentation", path))
    with served(browser, answers) as page:
        first_answered(page)
        assert loaded(page, ".mask img") == [(12, 10)] * 2 and loaded(page, "td img") == [(12, 10)] * ALTERNATIVES
        assert len(page.find_elements("css selector", "tr.chosen img")) == 1
        assert "of 12 x 10 pixels" in page.find_element("css selector", ".block").text
        file = tmp_path / "image.png"
        file.write_bytes(demo_models.png(11, 13))
        page.execute_script("document.getElementById('columns').replaceChildren()")
        page.find_element("id", "given").send_keys(str(file))
        assert "of 13 x 11 pixels" in page.find_element("css selector", ".block").text
        assert loaded(page, ".mask img") == [(13, 11)] * 2 and page.get_log("browser") == []


def test_a_tree_and_those_that_competed(browser):
    model = trees.model_of(beam=3, structure={"type": "trees", "num_candidates": 4}).eval()
    record = model.held_out(trees.batch_of())
    model.fit_structure([record], [record])
    answers = answers_of("parser", demo_models.archived(model, trees.READER, "seal_parsing"))
    answers.samples = ("Rose sells ginger",)
    with served(browser, answers) as page:
        block = first_answered(page)
        ((width, height),) = loaded(page, "img.tree")
        assert width > 50 and height > 20
        rows = texts(page, "tr td:first-child")
        assert len(rows) >= 3 and all("Rose" in row and "ginger)" in row and "XX" not in row for row in rows)
        chosen = page.find_element("css selector", "tr.chosen td").text
        assert block.find_element("tag name", "img").get_attribute("alt") == chosen
        # A wide tree is scrolled in its place, and the page is not.
        given = page.find_element("id", "given")
        given.clear()
        given.send_keys("Rose " * 40)
        page.find_element("id", "send").click()
        page.find_element("css selector", "img.tree[alt*='Rose Rose Rose']")
        ((width, _),) = loaded(page, "img.tree")
        assert width > page.execute_script("return innerWidth")
        assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def test_tags_of_words_and_what_competed(browser, tagger):
    with served(browser, answers_of("tagger", load_archive(tagger("tagging_nce", epochs=4)))) as page:
        first_answered(page)
        assert len(page.find_elements("css selector", "tr")) == 1 + ALTERNATIVES
        colours = {}
        for span in page.find_elements("css selector", ".block .span"):
            label = span.find_element("tag name", "small").text
            colours.setdefault(label, set()).add(span.value_of_css_property("background-color"))
        # A label has one colour, and no other label has it.
        assert colours and all(len(of_label) == 1 for of_label in colours.values())
        assert len(set.union(*colours.values())) == len(colours)
        page.find_element("css selector", "#examples button:nth-child(2)").click()
        words = page.find_element("id", "given").get_attribute("value").split()
        labels = set(page.execute_script("return Object.keys(colours)"))
        shown = page.find_element("css selector", ".block > .words").text.split()
        assert [word for word in shown if word not in labels] == words
