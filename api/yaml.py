"""Reads YAML like Kubernetes: only the JSON types.

The reader uses libyaml's events and not PyYAML's constructors. Those turn times into dates and `12:30` into a number.
They let a later key replace an earlier one. Deep nesting makes them overflow the stack, which ends the process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Protocol, TypeAlias

import yaml

__all__ = ["MAX_ALIASED", "STRING_TAG", "Dumper", "Json", "PlainDumper", "YamlError", "documents"]

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

MAX_DEPTH: Final = 200
MAX_ALIASED: Final = 100_000
"""How many nodes aliases may repeat in one document. A few lines of aliases of aliases could fill any memory."""

STRING_TAG: Final = "tag:yaml.org,2002:str"
MERGE_KEY: Final = "<<"

NUMBER_START: Final = frozenset("+-.0123456789")
CONSTANTS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **{text: True for word in ("true", "yes", "on") for text in (word, word.title(), word.upper())},
    **{text: False for word in ("false", "no", "off") for text in (word, word.title(), word.upper())},
}
INTEGERS: Final = (
    (re.compile(r"[-+]?(0|[1-9][0-9_]*)"), 10),
    (re.compile(r"[-+]?0x[0-9a-fA-F_]+"), 16),
    (re.compile(r"[-+]?0b[01_]+"), 2),
    (re.compile(r"[-+]?0o?[0-7_]+"), 8),
)
FLOAT: Final = re.compile(
    r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)


class Mark(Protocol):
    """A place in the text, counted from zero."""

    line: int
    column: int


class YamlError(ValueError):
    """A text is not YAML, or it is YAML that is not a JSON document. The message names line and column."""


def documents(text: str, *, most_aliased: int = MAX_ALIASED) -> Iterator[Json]:
    """Every document of the text. An empty document is None. Raises YamlError when it reaches a fault.

    `most_aliased`: how many nodes aliases may repeat in one document; 0 for a text that may have no aliases.
    """
    try:
        builder = _Builder(most_aliased)
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            builder.take(event)
            if isinstance(event, yaml.DocumentEndEvent):
                yield builder.root
                builder = _Builder(most_aliased)
    except yaml.MarkedYAMLError as error:
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise YamlError(_at(error.problem_mark or error.context_mark, what)) from None
    except yaml.reader.ReaderError as error:
        raise YamlError(f"character {error.position + 1}: {error.reason}") from None
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise YamlError(str(error)) from None


class Dumper(yaml.CSafeDumper):
    """A dumper for yaml.dump that quotes every text that `documents` and Go's YAML would read as a number.

    PyYAML would not quote 1e3, because it reads that as text.
    """


for _pattern, _ in INTEGERS:
    Dumper.add_implicit_resolver(
        "tag:yaml.org,2002:int", re.compile(rf"(?:{_pattern.pattern})\Z"), list(NUMBER_START)
    )
Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(rf"(?:{FLOAT.pattern})\Z"), list(NUMBER_START)
)


class PlainDumper(yaml.SafeDumper):
    """A dumper for yaml.dump that writes no anchors and aliases: every value is written out in its place."""

    def ignore_aliases(self, data: object) -> bool:
        """True for all data, so that PyYAML writes no aliases."""
        return True


class _Builder:
    """Builds one document from events. It has a stack of its own, so that it can limit the depth."""

    def __init__(self, most_aliased: int) -> None:
        self.root: Json = None
        self._most_aliased = most_aliased
        self._stack: list[_Open] = []
        self._anchors: dict[str, Json] = {}
        self._aliased = 0

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._put(_scalar(event), event)
        elif isinstance(event, yaml.AliasEvent):
            self._put(self._alias(event), event)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(self._stack) == MAX_DEPTH:
                raise YamlError(_at(event.start_mark, f"nested deeper than {MAX_DEPTH} levels"))
            self._stack.append(
                _Mapping(event) if isinstance(event, yaml.MappingStartEvent) else _Sequence(event)
            )
        elif isinstance(event, yaml.CollectionEndEvent):
            done = self._stack.pop()
            self._put(done.value, done.start)

    def _put(self, value: Json, event: yaml.NodeEvent) -> None:
        if event.anchor and not isinstance(event, yaml.AliasEvent):
            self._anchors[event.anchor] = value
        if self._stack:
            self._stack[-1].add(value, event)
        else:
            self.root = value

    def _alias(self, event: yaml.AliasEvent) -> Json:
        if event.anchor not in self._anchors:
            raise YamlError(_at(event.start_mark, f"alias *{event.anchor} names nothing before it"))
        value = self._anchors[event.anchor]
        self._aliased += _size(value, self._most_aliased)
        if self._aliased > self._most_aliased:
            what = "aliases repeat too much" if self._most_aliased else "aliases are not accepted here"
            raise YamlError(_at(event.start_mark, what))
        return value


class _Sequence:
    """A list whose end has not come yet."""

    def __init__(self, start: yaml.NodeEvent) -> None:
        self.start = start
        self.value: list[Json] = []

    def add(self, value: Json, _: yaml.NodeEvent) -> None:
        self.value.append(value)


class _Mapping:
    """A mapping whose end has not come yet."""

    def __init__(self, start: yaml.NodeEvent) -> None:
        self.start = start
        self._own: dict[str, Json] = {}
        self._merged: dict[str, Json] = {}
        self._key: str | None = None

    @property
    def value(self) -> Json:
        return {**self._merged, **self._own} if self._merged else self._own

    def add(self, value: Json, event: yaml.NodeEvent) -> None:
        if self._key is None:
            self._key = self._as_key(value, event)
            return
        key, self._key = self._key, None
        if key == MERGE_KEY:
            self._merge(value, event)
        else:
            self._own[key] = value

    def _as_key(self, value: Json, event: yaml.NodeEvent) -> str:
        # `1: x` and `true: x` are the keys "1" and "true" in JSON, so the key is the written text.
        key = event.value if isinstance(event, yaml.ScalarEvent) else value
        if not isinstance(key, str):
            raise YamlError(_at(event.start_mark, "a key must be a string"))
        if key in self._own:
            raise YamlError(_at(event.start_mark, f"key {key!r} is there twice"))
        return key

    def _merge(self, value: Json, event: yaml.NodeEvent) -> None:
        for mapping in value if isinstance(value, list) else [value]:
            if not isinstance(mapping, dict):
                raise YamlError(_at(event.start_mark, "only mappings can be merged with <<"))
            self._merged = {**mapping, **self._merged}


_Open: TypeAlias = _Sequence | _Mapping


def _scalar(event: yaml.ScalarEvent) -> Json:
    text: str = event.value
    plain = event.implicit[0] and event.tag is None
    if not plain or event.tag == STRING_TAG:
        return text
    if text in CONSTANTS:
        return CONSTANTS[text]
    return _number(text) if text[0] in NUMBER_START else text


def _number(text: str) -> int | float | str:
    """The text as a number, or the text itself if it is not a number.

    An integer that is too long for Python's conversion stays text. An integer in another base that does not fit 64 bits
    stays text too, as in Go's YAML.
    """
    try:
        for pattern, base in INTEGERS:
            if pattern.fullmatch(text):
                number = int(text.replace("_", ""), base)
                return number if base == 10 or -(2**63) <= number < 2**64 else text
        if FLOAT.fullmatch(text):
            return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        pass
    return text


def _size(value: Json, enough: int) -> int:
    """The number of nodes in the value. It counts no further than `enough` + 1."""
    count, pending = 0, [value]
    while pending and count <= enough:
        node = pending.pop()
        count += 1
        if isinstance(node, dict):
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
    return count


def _at(mark: Mark | None, what: str) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}: {what}" if mark else what
