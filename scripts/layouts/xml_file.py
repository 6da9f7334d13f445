"""Helpers for layouts in XML."""

from typing import Any, NoReturn
from xml.parsers import expat

from seal.files.text_lines import READ_ERRORS, opened
from seal.registry import ConfigurationError


class XmlFile:
    """A small XML file, read from its start to its end. A subclass says what its elements mean."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._document_type
        self._parser.EntityDeclHandler = self._entity

    def read(self) -> None:
        try:
            with opened(self._path) as file:
                content = file.read()
        except READ_ERRORS as error:
            raise ConfigurationError(f"{self._path}: the file cannot be read ({error}).") from error
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            raise ConfigurationError(f"{self._path}:{error.lineno}: this is not XML ({what}).") from error
        except (LookupError, ValueError) as error:
            raise ConfigurationError(
                f"{self._path}:1: its encoding is not read ({error}); save it as UTF-8."
            ) from error

    @property
    def _line(self) -> int:
        return self._parser.CurrentLineNumber

    def _refuse(self, what: str) -> NoReturn:
        raise ConfigurationError(f"{self._path}:{self._line}: {what}.")

    def _document_type(self, *_: Any) -> None:
        self._refuse("a document type (<!DOCTYPE>), which such files do not have, is not read; take it out")

    def _entity(self, *_: Any) -> None:
        self._refuse("a declaration of an entity, which may unfold to any size, is not read; take it out")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        raise NotImplementedError

    def _end(self, name: str) -> None:
        raise NotImplementedError
