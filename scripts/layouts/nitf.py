"""
The New York Times Annotated Corpus (LDC2008T19) as it is published: an article a file, in the News Industry Text Format
(NITF), in folders of years, months and days.

    <nitf><head><docdata><identified-content>
      <classifier class="online_producer" type="taxonomic_classifier">Top/News/World</classifier>
    ...<body><body.head><hedline><hl1>The headline</hl1></hedline></body.head>
      <body.content><block class="full_text"><p>A paragraph.</p></block></body.content></body></nitf>

The corpus was not at hand, and nothing here was tried on it. The elements follow its documentation and other programs
that read it.
"""

from collections.abc import Iterator
from typing import Any, Optional

from scripts.layouts.xml_file import XmlFile
from seal.tasks.text.labelled_texts import LabelledText

_ABOVE_ALL = "Top"


def read_nyt(path: str) -> Iterator[LabelledText]:
    """
    The article of a file, if it has a text and a label. The text is the headline and the paragraphs of the full text.
    Each `taxonomic_classifier` is a path in a hierarchy; the labels are its beginnings, without `Top`, which is above
    all: `Top/News/World` gives `News` and `News/World`.
    """
    article = _Article(path)
    article.read()
    text = " ".join(" ".join(part.split()) for part in article.texts).strip()
    labels = list(dict.fromkeys(label for found in article.classifiers for label in _beginnings(found)))
    if text and labels:
        yield LabelledText(text, labels, f"{path}:1")


def _beginnings(classifier: str) -> list[str]:
    names = [name.strip() for name in classifier.split("/")]
    names = names[1:] if names[0] == _ABOVE_ALL else names
    return ["/".join(names[: end + 1]) for end in range(len(names)) if names[end]]


class _Article(XmlFile):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._parser.CharacterDataHandler = self._character_data
        self.texts: list[str] = []
        self.classifiers: list[str] = []
        self._in_full_text = False
        # Where the characters in progress go, and those so far.
        self._into: Optional[list[str]] = None
        self._characters: list[str] = []

    def _document_type(self, *_: Any) -> None:
        """Articles name NITF's own, which is not needed to read them."""

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "block":
            self._in_full_text = attributes.get("class") == "full_text"
        elif name == "classifier" and attributes.get("type") == "taxonomic_classifier":
            self._into, self._characters = self.classifiers, []
        elif name == "hl1" or (name == "p" and self._in_full_text):
            self._into, self._characters = self.texts, []

    def _character_data(self, characters: str) -> None:
        if self._into is not None:
            self._characters.append(characters)

    def _end(self, name: str) -> None:
        if name in ("classifier", "hl1", "p") and self._into is not None:
            self._into.append("".join(self._characters))
            self._into = None
        elif name == "block":
            self._in_full_text = False
