"""The contexts of a kubeconfig, or of a list of them: their names and namespaces, as kubectl merges them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answers.reading.documents import DEFAULT_NAMESPACE
from api.yaml import YamlError, documents

__all__ = ["Contexts", "contexts"]


@dataclass(frozen=True, slots=True)
class Contexts:
    """What a kubeconfig says about its contexts."""

    current: str
    """The name of the current context; empty if none is set."""
    namespaces: Mapping[str, str]
    """By the name of the context; `default` for one that sets none."""

    def namespace(self, context: str | None) -> str:
        """The namespace of a context, by default of the current one."""
        return self.namespaces.get(context or self.current, DEFAULT_NAMESPACE)


def contexts(kubeconfig: str) -> Contexts:
    """The contexts in a list of files. The first file that sets a value counts. A file that cannot be read has none."""
    current, namespaces = "", dict[str, str]()
    for body in _bodies(kubeconfig):
        current = current or _text(body.get("current-context"))
        for each in _objects(body.get("contexts")):
            about = each.get("context")
            namespace = _text(about.get("namespace")) if isinstance(about, dict) else ""
            namespaces.setdefault(_text(each.get("name")), namespace or DEFAULT_NAMESPACE)
    return Contexts(current, namespaces)


def _bodies(kubeconfig: str) -> Iterator[Mapping[str, Any]]:
    for path in filter(None, kubeconfig.split(os.pathsep)):
        try:
            text = Path(path).expanduser().read_text()
            yield from (body for body in documents(text) if isinstance(body, dict))
        except (OSError, UnicodeDecodeError, YamlError):
            continue


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
