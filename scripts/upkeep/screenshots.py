"""
Takes the pictures of pages in the docs, in a real browser: `seal demo` with a model, and `seal report` of two runs.

  make demo
  python scripts/upkeep/screenshots.py runs/demo/runs/srl_sample-structured{,_nce}-1/model

Writes demo.png and report.png. Needs Chromium with its driver (chromedriver), and selenium of requirements-dev.txt.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SEAL = [sys.executable, "-m", "seal"]
SENTENCE = "Who will Bruno escort to the library ?"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", help="the folders of runs; the page of `seal demo` has the first one")
    parser.add_argument("--sentence", default=SENTENCE, help=f"what is predicted (default: {SENTENCE})")
    parser.add_argument("--out", default="docs/figures", help="the folder of the pictures (default: docs/figures)")
    args = parser.parse_args()
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    browser = open_browser()
    try:
        demo(browser, args.runs[0], args.sentence, out / "demo.png")
        report(browser, args.runs, out / "report.png")
    finally:
        browser.quit()


def open_browser():
    """Chromium without a window."""
    driver = shutil.which("chromedriver")
    try:
        from selenium import webdriver
    except ImportError:
        driver = None
    if driver is None:
        sys.exit("error: needs Chromium with its driver (chromedriver), and `pip install -r requirements-dev.txt`")
    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1000,1000"):
        options.add_argument(option)
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    browser.implicitly_wait(30)
    return browser


def demo(browser, run: str, sentence: str, picture: Path) -> None:
    server = subprocess.Popen([*SEAL, "demo", run, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        # Open http://127.0.0.1:PORT/ in a browser; Control-C ends this.
        address = server.stdout.readline().split()[1]
        browser.set_window_size(1000, 1080)
        browser.get(address)
        given = browser.find_element("id", "given")
        given.clear()
        given.send_keys(sentence)
        browser.find_element("id", "send").click()
        browser.find_element("tag name", "summary").click()
        browser.save_screenshot(str(picture))
    finally:
        server.terminate()
        server.wait()


def report(browser, runs: list[str], picture: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        subprocess.run([*SEAL, "report", *runs, "--out", page], check=True)
        browser.set_window_size(1000, 1450)
        browser.get(page.as_uri())
        browser.save_screenshot(str(picture))


if __name__ == "__main__":
    main()
