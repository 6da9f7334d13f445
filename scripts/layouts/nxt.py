"""
Trees in the stand-off XML of the NITE XML Toolkit (NXT), in which Switchboard is published as LDC2009T26.

A side of a conversation is two files. `syntax/sw0001.A.syntax.xml` has the constituents of each sentence, whose words
are references to elements of `terminals/sw0001.A.terminals.xml`:

    <parse nite:id="s1"><nt nite:id="s1_500" cat="NP" subcat="SBJ" wc="1">
      <nite:child href="sw0001.A.terminals.xml#id(s1_1)"/></nt></parse>

    <word nite:id="s1_1" orth="Rose" pos="NNP"/>

The corpus was not at hand, and nothing here was tried on it. Its documentation
(https://groups.inf.ed.ac.uk/switchboard, "Data Summary" and "Annotations") has the elements `word`, `punc`, `sil` and
`trace`, and the attributes `orth`, `pos`, `cat`, `subcat` and `wc`. From programs of others that read it are the names
and folders of the files, NXT's namespace, the element `parse` and the form of a reference; ranges,
`#id(s1_1)..id(s1_3)`, are from its other layers. The documentation does not say where a `punc` has its sign and part of
speech: this reader takes `orth` or the element's text, and `pos` or the part of speech of the sign in the Penn
Treebank.
"""

import os
import re
from collections.abc import Iterator
from typing import Optional

from nltk import Tree

from scripts.layouts.xml_file import XmlFile
from seal.common.linear_trees import WORD
from seal.common.setting_checks import abbreviate
from seal.files.paths import not_empty, with_packings
from seal.tasks.parsing.reader import EMPTY, MARKS, MOST_DEEP

# Names and attributes in NXT's namespace.
_NITE = "http://nite.sourceforge.net/"
_CHILD, _ID = f"{_NITE} child", f"{_NITE} id"
_REFERENCE = re.compile(r"([^#/\\]+)#id\(([^()]+)\)(?:\.\.id\(([^()]+)\))?")
_LABEL = re.compile(r"[^\s()]+")
_SPOKEN = ("word", "punc")
# The parts of speech and words of silences and traces, which the reader drops like marks and empty elements.
_UNSPOKEN = {"sil": (MARKS, ["sil"]), "trace": (EMPTY, ["*"])}
_SIGNS = {",": ",", ".": ".", "?": ".", "!": ".", "``": "``", "''": "''", '"': "''"}
_OTHER_SIGN = ":"


def read_nxt(path: str) -> Iterator[str]:
    """
    The trees of a syntax file of NXT, plain or packed (`.gz`, `.bz2`, `.xz`), in the Penn Treebank's brackets, a tree a
    line: as the bracketed edition has them, without constituents that have no word. Its terminals are in a file beside
    it, or in the folder `terminals` beside its own. A document type is refused, as entities may unfold to any size.
    """
    syntax = _Syntax(path)
    syntax.read()
    for tree in not_empty(iter(syntax.trees), f"{path}: the file has no tree: no 'parse'."):
        inside = _brackets(tree)
        if inside:
            yield f"( {inside} )"


def _brackets(node: Tree) -> str:
    """A node in brackets; of a `parse`, its content. Empty if it has no word."""
    if isinstance(node[0] if len(node) else None, str):
        # As the Penn Treebank writes words that would be brackets of its trees.
        return f"({node.label()} {node[0].replace('(', '-LRB-').replace(')', '-RRB-')})"
    inside = " ".join(filter(None, map(_brackets, node)))
    return f"({node.label()} {inside})" if inside and node.label() else inside


class _Syntax(XmlFile):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.trees: list[Tree] = []
        self._begin = 0
        self._open: list[Tree] = []
        self._terminals: dict[str, _Terminals] = {}

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "parse":
            if self._open:
                self._refuse(f"a 'parse' inside the one of line {self._begin}")
            self._begin = self._line
            self._open.append(Tree("", []))
        elif name == "nt":
            if not self._open:
                self._refuse("an 'nt' outside of any 'parse'")
            # A word's bracket is inside the last of them.
            if len(self._open) == MOST_DEEP - 1:
                self._refuse(f"more than {MOST_DEEP - 2} constituents are inside each other")
            label = attributes.get("cat", "")
            if not _LABEL.fullmatch(label):
                self._refuse(f"an 'nt' needs a 'cat' such as NP, found {abbreviate(label)}")
            node = Tree(label, [])
            self._open[-1].append(node)
            self._open.append(node)
        elif name == _CHILD and self._open:
            self._open[-1].extend(self._referred_to(attributes.get("href", "")))

    def _end(self, name: str) -> None:
        if name == "nt":
            self._open.pop()
        elif name == "parse":
            self.trees.append(self._open.pop())

    def _referred_to(self, reference: str) -> list[Tree]:
        found = _REFERENCE.fullmatch(reference)
        if found is None:
            self._refuse(f"expected a reference such as sw0001.A.terminals.xml#id(s1_1), found {abbreviate(reference)}")
        file, first, last = found.groups()
        if file not in self._terminals:
            path = self._beside(file)
            if path is None:
                self._refuse(
                    f"the file {abbreviate(file)}, which has its words, is neither beside it nor in ../terminals"
                )
            self._terminals[file] = _Terminals(path)
            self._terminals[file].read()
        terminals = self._terminals[file]
        for name in (first, last or first):
            if name not in terminals.places:
                self._refuse(f"{file} has no word, punctuation, silence or trace with the id {abbreviate(name)}")
        start, end = terminals.places[first], terminals.places[last or first]
        if end < start:
            self._refuse(f"in {file}, {abbreviate(last)} is before {abbreviate(first)}")
        return terminals.nodes[start : end + 1]

    def _beside(self, file: str) -> Optional[str]:
        folder = os.path.dirname(self._path)
        folders = (folder, os.path.join(folder, os.pardir, "terminals"))
        paths = (os.path.join(place, name) for place in folders for name in with_packings([file]))
        return next((os.path.normpath(path) for path in paths if os.path.isfile(path)), None)


class _Terminals(XmlFile):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._parser.CharacterDataHandler = self._text
        #: In their order, and the place of each by its id.
        self.nodes: list[Tree] = []
        self.places: dict[str, int] = {}
        self._attributes: Optional[dict[str, str]] = None
        self._content: list[str] = []

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name in _SPOKEN:
            self._attributes, self._content = attributes, []
        elif name in _UNSPOKEN:
            self._add(Tree(*_UNSPOKEN[name]), attributes)

    def _text(self, text: str) -> None:
        if self._attributes is not None:
            self._content.append(text)

    def _end(self, name: str) -> None:
        if name not in _SPOKEN or self._attributes is None:
            return
        # A word of a sentence has no blank in it.
        word = "_".join((self._attributes.get("orth") or "".join(self._content)).split())
        if not word:
            self._refuse(f"a '{name}' needs an 'orth', its {'word' if name == 'word' else 'sign'}")
        tag = self._attributes.get("pos") or (WORD if name == "word" else _SIGNS.get(word, _OTHER_SIGN))
        if not _LABEL.fullmatch(tag):
            self._refuse(f"a '{name}' needs a 'pos' such as NN, found {abbreviate(tag)}")
        self._add(Tree(tag, [word]), self._attributes)
        self._attributes = None

    def _add(self, node: Tree, attributes: dict[str, str]) -> None:
        name = attributes.get(_ID)
        if name is None:
            self._refuse("an element without a 'nite:id'")
        if name in self.places:
            self._refuse(f"the id {abbreviate(name)} was there before")
        self.places[name] = len(self.nodes)
        self.nodes.append(node)
