"""Says what is wrong with a document and in which field, in words for the author of the document."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from api.yaml import Json

__all__ = ["FieldError", "convert", "explain", "join"]

MESSAGE: Final = re.compile(r"(?P<problem>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>.*)`)?", re.DOTALL)
STEP: Final = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>\d+|\.\.\.)\]")
MISSING: Final = re.compile(r"Object missing required field `(?P<field>.*)`")
UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<field>.*)`", re.DOTALL)
PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
ANY_VALUE: Final = "..."
"""msgspec's index for a value of a mapping. It does not name the key."""

NAMES: Final = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


class FieldError(ValueError):
    """A field is invalid. `path` has the form `spec.containers[0].name`, and is empty for the whole document."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path, self.problem = path, problem


def convert(document: Json, kind: type[msgspec.Struct]) -> Any:
    """The document as an instance of the struct `kind`. Raises FieldError."""
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise explain(error, document, kind) from None
    except RecursionError:
        raise FieldError("", "is nested too deeply") from None


def explain(error: msgspec.ValidationError, document: Json, kind: type[msgspec.Struct]) -> FieldError:
    """msgspec's error in the words of this module. `document` is the input of the failed conversion to `kind`."""
    match = MESSAGE.fullmatch(str(error))
    problem, path = (match["problem"], match["path"] or "") if match else (str(error), "")
    steps = [step["name"] or step["index"] for step in STEP.finditer(path)]
    readable = _readable(_resolved(steps, str(error), document, kind))
    if missing := MISSING.fullmatch(problem):
        return FieldError(join(readable, missing["field"]), "is missing")
    if unknown := UNKNOWN.fullmatch(problem):
        return FieldError(join(readable, unknown["field"]), "is no such field")
    return FieldError(readable, _words(problem))


def join(path: str, key: str) -> str:
    """The path of a key in the object at `path`. A key with special characters gets brackets and quotes."""
    if not PLAIN_KEY.fullmatch(key):
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def _resolved(
    steps: list[str], message: str, document: Json, kind: type[msgspec.Struct]
) -> list[str | int | None]:
    """The steps, with each `[...]` replaced by the key at fault. That key fails even without its neighbours."""
    resolved: list[str | int | None] = []
    for step in steps:
        value = _value_at(document, resolved)
        if isinstance(value, list) and step.isdecimal():
            resolved.append(int(step))
        elif step != ANY_VALUE:
            resolved.append(step)
        else:
            keys = list(value) if isinstance(value, dict) else []
            alone = (key for key in keys if _fails(_with_only(document, [*resolved, key]), kind, message))
            resolved.append(next(alone, None))
    return resolved


def _fails(document: Json, kind: type[msgspec.Struct], message: str) -> bool:
    try:
        msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        return str(error) == message
    return False


def _value_at(value: Json, path: list[str | int | None]) -> Json:
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _with_only(value: Json, path: list[str | int | None]) -> Json:
    """A copy of the document in which the key of the last step has no neighbours."""
    step, rest = path[0], path[1:]
    if isinstance(value, dict) and isinstance(step, str):
        return {**value, step: _with_only(value[step], rest)} if rest else {step: value[step]}
    if isinstance(value, list) and isinstance(step, int) and rest:
        return [*value[:step], _with_only(value[step], rest), *value[step + 1 :]]
    return value


def _readable(steps: list[str | int | None]) -> str:
    path = ""
    for step in steps:
        path = join(path, step) if isinstance(step, str) else f"{path}[{'?' if step is None else step}]"
    return path


def _words(problem: str) -> str:
    """msgspec's problem (`Expected ...`) with the names of JSON types in place of Python's types."""

    def names(match: re.Match[str]) -> str:
        parts = [NAMES.get(part.strip(), part.strip()) for part in match[1].split("|")]
        return " or ".join(parts)

    words = re.sub(r"`([^`]*)`", names, problem)
    return words[:1].lower() + words[1:]
