import json

import pytest
from allennlp.common.checks import ConfigurationError

from scripts.convert import convert
from scripts.layouts.nitf import read_nyt
from seal.tasks.text.reader import TextMultilabelReader

# Made up, laid out as the corpus's files are.
ARTICLE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE nitf SYSTEM "http://www.nitf.org/IPTC/NITF/3.3/specification/dtd/nitf-3-3.dtd">
<nitf change.date="June 10, 2005" version="-//IPTC//DTD NITF 3.3//EN">
  <head><title>Another headline</title><docdata><identified-content>
    <classifier class="indexing_service" type="descriptor">Ferries</classifier>
    <classifier class="online_producer" type="taxonomic_classifier">Top/News/World</classifier>
    <classifier type="taxonomic_classifier">Top/News/World/Countries and Territories</classifier>
    <classifier class="online_producer" type="taxonomic_classifier">Top/Features</classifier>
  </identified-content></docdata></head>
  <body><body.head><hedline><hl1>A Ferry &amp; a
    Storm</hl1></hedline><byline>By A WRITER</byline></body.head>
    <body.content>
      <block class="lead_paragraph"><p>The ferry <em>stayed</em>.</p></block>
      <block class="full_text"><p>The ferry <em>stayed</em>.</p><p>It left later.</p></block>
    </body.content></body>
</nitf>
"""


def write(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return str(path)


def test_an_article(tmp_path):
    (text,) = read_nyt(write(tmp_path, "1.xml", ARTICLE))
    assert text.text == "A Ferry & a Storm The ferry stayed. It left later."
    assert text.labels == ["News", "News/World", "News/World/Countries and Territories", "Features"]


@pytest.mark.parametrize("gone", ["taxonomic_classifier", None])
def test_an_article_without_a_label_or_a_text_is_none(tmp_path, gone):
    content = ARTICLE.replace(gone, "descriptor") if gone else ARTICLE.replace("hl1", "hl2").replace("full_text", "x")
    assert not list(read_nyt(write(tmp_path, "1.xml", content)))


def test_a_folder_of_days(tmp_path):
    for day, name in (("02", "b.xml"), ("01", "a.xml")):
        write(tmp_path, f"1987/01/{day}/{name}", ARTICLE.replace("later", name))
    out = tmp_path / "nyt.jsonl"
    assert convert("nyt", [str(tmp_path / "1987")], out) == 2
    texts = [json.loads(line)["text"][-6:] for line in out.read_text(encoding="utf-8").splitlines()]
    assert texts == ["a.xml.", "b.xml."]
    first = next(iter(TextMultilabelReader().read(str(out))))
    assert "Features" in first["labels"].labels


@pytest.mark.parametrize(
    "content, told",
    [
        (ARTICLE.replace('nitf-3-3.dtd">', 'x" [<!ENTITY a "b">]>'), ":2: a declaration of an entity"),
        (ARTICLE.replace("</nitf>", ""), "this is not XML"),
    ],
)
def test_mistakes(tmp_path, content, told):
    with pytest.raises(ConfigurationError, match=told):
        list(read_nyt(write(tmp_path, "1.xml", content)))
