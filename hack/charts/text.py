"""Writes objects as templates of Helm."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import yaml

from api.yaml import PlainDumper
from hack.charts.folders import Json

__all__ = ["HEAD", "action", "escaped", "item_action", "template"]

HEAD: Final = "{{- /* Generated: python -m hack.charts charts */ -}}\n"
MARK: Final = "@"
MARKED: Final = re.compile(rf"^ *(?:- )?(['\"]?){MARK}(?P<action>.*?)\1(?:: null)?$")
WIDTH: Final = 100_000
"""Lines are not broken: an action is one line."""


def action(text: str) -> dict[str, None]:
    """A field that becomes the action `{{- text }}`, on a line of its own between the fields around it."""
    return {f"{MARK}{text}": None}


def item_action(text: str) -> str:
    """The same between the items of a list."""
    return f"{MARK}{text}"


def escaped(text: str) -> str:
    """The text, so that Helm takes nothing in it for an action."""
    return text.replace("{{", '{{ "{{" }}')


def template(bodies: Iterable[Json], condition: str = "") -> str:
    """The objects as one template. It has them only where the condition holds; empty: always."""
    text = "".join(f"---\n{_body(body)}" for body in bodies)
    return f"{HEAD}{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n" if condition else f"{HEAD}{text}"


def _body(body: Any) -> str:
    plain = yaml.dump(body, Dumper=PlainDumper, sort_keys=False, width=WIDTH, allow_unicode=True)
    return "".join(f"{_line(line)}\n" for line in plain.splitlines())


def _line(line: str) -> str:
    marked = MARKED.match(line)
    if marked is None:
        return escaped(line)
    return f"{{{{- {marked['action']} }}}}"
