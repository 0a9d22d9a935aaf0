"""Takes texts apart as tools write them: JSON, YAML, and several values of both in one file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from answers.errors import InputError
from api.meta import Struct
from api.validation import convert, explain
from api.yaml import MAX_ALIASED, Json, YamlError, documents

__all__ = ["NO_OBJECTS", "Document", "JsonDocument", "YamlDocument", "parsed"]

T = TypeVar("T")

PEEK: Final = 1024
"""Characters at the start of a text that show whether it is JSON."""
JSON_BEGINS: Final = (b"{", b"[")
MARKS: Final = re.compile(r"(?:^|(?<=\}))\ufeff", re.MULTILINE)
"""What some tools write at the start of a text. In the middle it is left from texts that were joined."""
END: Final = "..."
"""Ends a document of YAML."""
NEXT: Final = re.compile(r"^---(?:[ \t]+#.*)?(?=\s|$)", re.MULTILINE)
"""Between the documents of YAML, also in a text within a document."""
NO_OBJECTS: Final = "has text in place of objects, which kubectl prints with -o json or -o yaml"
MALFORMED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)


class Items(Struct, Generic[T]):
    """The field that every list has. Go writes an empty list as null."""

    items: list[T] | None = None


class Document(Protocol):
    """An object without a type yet. Its methods raise FieldError if a field is wrong."""

    def read(self, kind: type[Any]) -> Any:
        """The object as this struct."""

    def items(self) -> Iterable[Document]:
        """The items of a list."""


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """Bytes that are known to be JSON."""

    raw: msgspec.Raw | bytes

    def read(self, kind: type[Any]) -> Any:
        """The object as this struct, decoded from the bytes in one step."""
        try:
            return msgspec.json.decode(self.raw, type=kind)
        except msgspec.ValidationError as error:
            raise explain(error, msgspec.json.decode(self.raw), kind) from None

    def items(self) -> Iterable[Document]:
        """The items of a list, not decoded yet."""
        return map(JsonDocument, self.read(Items[msgspec.Raw]).items or ())


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A document from YAML, already decoded."""

    value: Json

    def read(self, kind: type[Any]) -> Any:
        """The object as this struct."""
        return convert(self.value, kind)

    def items(self) -> Iterable[Document]:
        """The items of a list."""
        return map(YamlDocument, self.read(Items[Any]).items or ())


def parsed(data: bytes, source: str, *, most_aliased: int = MAX_ALIASED) -> Iterator[Document | None]:
    """The documents of UTF-8 text. An empty document is None. `source` names the text in messages. `most_aliased`: see
    `api.yaml.documents`.

    JSON values may follow one another, with or without `---` between them and YAML, as when files are joined. A list at
    the top counts as its items. Text that is not correct JSON is read as YAML, because its messages are better. Raises
    InputError.
    """
    if (values := _json(data)) is not None:
        yield from values
        return
    text = MARKS.sub("", data.decode())
    if not _has_json_values(text):
        yield from _yaml(text, source, most_aliased)
        return
    for line, piece in _pieces(text):
        if (values := _json(piece.strip().encode())) is not None:
            yield from values
        else:
            _check_stream(piece, line, source)
            yield from _yaml(piece, source, most_aliased, line)


def _json(data: bytes) -> list[Document] | None:
    """The values of a text that has only JSON; None for another text."""
    if not data[:PEEK].lstrip().startswith(JSON_BEGINS):
        return None
    try:
        return [document for each in LINES.decode_lines(data) for document in _values(each)]
    except MALFORMED:
        return None


LINES: Final = msgspec.json.Decoder(msgspec.Raw)
LISTED: Final = msgspec.json.Decoder(list[msgspec.Raw])


def _values(raw: msgspec.Raw) -> Iterable[Document]:
    is_list = bytes(memoryview(raw)[:1]) == b"["
    return map(JsonDocument, LISTED.decode(raw)) if is_list else [JsonDocument(raw)]


def _yaml(text: str, source: str, most_aliased: int, line: int = 0) -> Iterator[Document | None]:
    """The documents of a text. `line`: the number of lines before it in the file."""
    try:
        for value in documents(text, most_aliased=most_aliased):
            if isinstance(value, str):
                raise InputError(f"{source}: {NO_OBJECTS}")
            if isinstance(value, list):
                yield from map(YamlDocument, value)
            else:
                yield None if value is None else YamlDocument(value)
    except YamlError as error:
        raise InputError(f"{source}: {_counted_on(text, line, most_aliased) or error}") from None


def _counted_on(text: str, line: int, most_aliased: int) -> str:
    """The error of the text, with the line of the file; "" if nothing comes before the text."""
    if not line:
        return ""
    try:
        for _ in documents("\n" * line + text, most_aliased=most_aliased):
            pass
    except YamlError as error:
        return str(error)
    return ""


def _has_json_values(text: str) -> bool:
    """Whether a document of a text looks like JSON."""
    return any(piece[:PEEK].lstrip().startswith(("{", "[")) for _, piece in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """What stands between the lines `---`, with the number of lines before it."""
    begin = line = 0
    for mark in NEXT.finditer(text):
        yield line, text[begin : mark.start()]
        line += text.count("\n", begin, mark.end())
        begin = mark.end()
    yield line, text[begin:]


def _check_stream(piece: str, line: int, source: str) -> None:
    """Say what is wrong with a value that follows a correct one. Raises InputError.

    YAML knows no values that follow one another, so it would find a fault in the second one always.
    """
    if not piece.lstrip().startswith(("{", "[")):
        return
    decoder, end = json.JSONDecoder(), 0
    while True:
        begin = len(piece) - len(piece[end:].lstrip())
        if begin == len(piece) or piece.startswith(END, begin):
            return
        try:
            _, end = decoder.raw_decode(piece, begin)
        except json.JSONDecodeError as error:
            if end:
                where = f"line {line + error.lineno}, column {error.colno}"
                raise InputError(f"{source}: {where}: {error.msg}") from None
            return
        except (ValueError, RecursionError):
            return
