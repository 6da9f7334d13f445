"""The pages of `demo` and `report` in a real browser."""

import shutil
import threading

import pytest
from allennlp.common.checks import ConfigurationError

from scripts.upkeep.screenshots import open_browser
from seal.commands.demo import DemoServer

pytest.importorskip("selenium.webdriver", reason="requirements-dev.txt is not installed")
MISSING = shutil.which("chromedriver") is None
pytestmark = pytest.mark.skipif(MISSING, reason="Chromium with its driver (chromedriver) is not installed")


EXAMPLES = ["Ann <b>saw</b> Bo", "wrong"]


class Spans:
    """Answers with one frame, and with one that competed."""

    asks = "text"

    def __init__(self, name, role):
        self.name, self.role = name, role

    def about(self):
        return {"name": self.name, "asks": self.asks, "examples": EXAMPLES, "labels": ["ARGM-MOD", "ARG1", "V"]}

    def answer(self, given):
        if given == "wrong":
            raise ConfigurationError("'words' is empty; a sentence needs at least one word.")
        words, spans = given.split(), [[self.role, 0, 0], ["V", 1, 1]]
        competed = {"words": words, "spans": [["V", 1, 1]], "chosen": False, "numbers": {"energy": 2.0}}
        frame = {"kind": "spans", "heading": "saw", "words": words, "spans": spans, "numbers": {"probability": 0.25}}
        return [{**frame, "alternatives": [{**competed, "spans": spans, "chosen": True}, competed], "why": "So."}]


@pytest.fixture
def browser():
    driver = open_browser()
    yield driver
    driver.quit()


@pytest.fixture
def page(browser):
    """The browser, with the page of two models."""
    with DemoServer(0) as server:
        server.answers = [Spans("one", "ARGM-MOD"), Spans("two", "ARG1")]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        browser.get(server.address)
        yield browser
        server.shutdown()
        thread.join()


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


def test_a_mistake_shows_its_sentence(page):
    given = page.find_element("id", "given")
    given.clear()
    given.send_keys("wrong")
    page.find_element("id", "send").click()
    page.find_element("css selector", ".column:nth-child(2) .error")
    assert texts(page, ".error") == ["'words' is empty; a sentence needs at least one word."] * 2
