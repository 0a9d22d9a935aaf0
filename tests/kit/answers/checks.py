"""Checks of what a command has printed.

The keys of an expectation: `exit` (a status, or several), `json` (a list of [path, check, value]), `stdout`, `stderr`,
`output` (both; each with lists `has` and `lacks` of regular expressions), `printable`, and `any` (a list of
expectations: one of them holds).

A path such as `steps[0].victims[*].name` leads to a value. What is missing is None. `[*]` takes all items of a list,
and `[key=value]` those whose key is the value, or has it. With one of these the path gives a list, without None.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["problems", "value_at"]

PART: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def problems(expected: Mapping[str, Any], status: int, stdout: str, stderr: str) -> list[str]:
    """What does not hold of the expectation, a line for each; empty if all of it holds."""
    streams = {"stdout": stdout, "stderr": stderr, "output": f"{stdout}\n{stderr}"}
    found: list[str] = []
    for key, wanted in expected.items():
        if key == "exit":
            right = wanted if isinstance(wanted, list) else [wanted]
            found += [] if status in right else [f"exit status {status}, not {wanted}; {stderr.strip()}"]
        elif key == "json":
            found += _json_problems(wanted, stdout)
        elif key in streams:
            found += [f"{key} {each}" for each in _text_problems(wanted, streams[key])]
        elif key == "printable":
            odd = {char for char in streams["output"] if not char.isprintable() and char not in "\n\t"}
            found += [f"not printable: {sorted(odd)!r}"] if wanted and odd else []
        elif key == "any":
            each = [problems(one, status, stdout, stderr) for one in wanted]
            found += [] if not all(each) else [f"none of these holds: {each}"]
        else:
            found.append(f"there is no check {key!r}")
    return found


def _text_problems(wanted: Mapping[str, list[str]], text: str) -> list[str]:
    has = [each for each in wanted.get("has", ()) if not re.search(each, text, re.MULTILINE)]
    lacks = [each for each in wanted.get("lacks", ()) if re.search(each, text, re.MULTILINE)]
    return [f"lacks {each!r}: {text!r}" for each in has] + [f"has {each!r}: {text!r}" for each in lacks]


def _json_problems(wanted: list[tuple[str, str, Any]], text: str) -> list[str]:
    try:
        data = json.loads(text)
    except ValueError as error:
        return [f"standard output is not JSON: {error}"]
    found = []
    for path, check, value in wanted:
        got = value_at(data, path)
        if not CHECKS[check](got, value):
            found.append(f"{path} is {got!r}: not {check} {value!r}")
    return found


def value_at(data: Any, path: str) -> Any:
    """The value at the path; see above."""
    values, many = [data], False
    for bracket, name in PART.findall(path):
        if name:
            values = [each.get(name) if isinstance(each, dict) else None for each in values]
        elif bracket == "*" or "=" in bracket:
            many = True
            items = [item for each in values if isinstance(each, list) for item in each]
            key, _, right = bracket.partition("=")
            values = [item for item in items if bracket == "*" or _has(item, key, right)]
        else:
            place = int(bracket)
            values = [
                each[place] if isinstance(each, list) and -len(each) <= place < len(each) else None
                for each in values
            ]
        if many:
            values = [each for each in values if each is not None]
    return values if many else values[0]


def _has(item: Any, key: str, right: str) -> bool:
    value = item.get(key) if isinstance(item, dict) else None
    return right in map(_plain, value) if isinstance(value, list) else _plain(value) == right


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _keys(values: list[Any]) -> list[str]:
    return [json.dumps(each, sort_keys=True) for each in values]


CHECKS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "is": lambda got, value: bool(got == value),
    "in": lambda got, value: got in value,
    "set": lambda got, value: set(_keys(_listed(got))) == set(_keys(value)),
    "has": lambda got, value: set(_keys(value)) <= set(_keys(_listed(got))),
    "lacks": lambda got, value: set(_keys(value)).isdisjoint(_keys(_listed(got))),
    "count": lambda got, value: len(_listed(got)) == value,
    "counts": lambda got, value: Counter(map(str, _listed(got))) == value,
}
