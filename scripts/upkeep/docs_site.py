"""
Writes a site: a page of each module, from the docstrings, and the pages of `docs/`.

    make docs
"""

import argparse
import pkgutil
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

PAGES = sorted((ROOT / "docs").glob("*.md"))
TEMPLATES = Path(__file__).parent / "docs_templates"


def with_links_of_the_site(text: str) -> str:
    """Links between the pages of `docs/`, which are `.html` in the site; those to other files are dropped."""
    names = {page.name for page in PAGES}

    def link(found: "re.Match[str]") -> str:
        words, page, anchor = found["words"], found["page"], found["anchor"] or ""
        if page in names:
            return f"[{words}]({page.removesuffix('.md')}.html{anchor})"
        is_there = not page or "://" in page or page.startswith("figures/")
        return found[0] if is_there else words

    return re.sub(r"\[(?P<words>[^\]\n]+)\]\((?P<page>[^)#\n]*)(?P<anchor>#[^)\n]*)?\)", link, text)


def write(folder: Path) -> None:
    import pdoc

    import seal

    modules = [module.name for module in pkgutil.iter_modules(seal.__path__, prefix="seal.")]
    modules.remove("seal.__main__")  # It runs the command.
    pages = [(page.stem, page.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")) for page in PAGES]
    pdoc.render.configure(docformat="markdown", template_directory=TEMPLATES, search=False, mermaid=True)
    pdoc.render.env.globals["pages"] = pages
    pdoc.pdoc("seal", *modules, output_directory=folder)
    template = pdoc.render.env.get_template("page.html.jinja2")
    for page, (name, title) in zip(PAGES, pages):
        body = pdoc.render_helpers.to_html(with_links_of_the_site(page.read_text(encoding="utf-8")))
        (folder / f"{name}.html").write_text(template.render(title=title, body=body), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "figures", folder / "figures", dirs_exist_ok=True)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "site")
    write(parser.parse_args(arguments).out)


if __name__ == "__main__":
    main(sys.argv[1:])
