"""The namespace that counts, as kubectl finds it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from answers.errors import InputError
from cli.common.cluster import Connection
from cli.common.contexts import contexts
from cli.common.sources import Sources

FIRST = "contexts: [{name: a, context: {cluster: c}}, {name: b, context: {namespace: of-b}}]"
SECOND = "current-context: b\ncontexts: [{name: b, context: {namespace: late}}, {name: d, context: {namespace: of-d}}]"


@pytest.fixture
def both(tmp_path: Path) -> str:
    (tmp_path / "first").write_text(FIRST)
    (tmp_path / "second").write_text(SECOND)
    return os.pathsep.join(str(tmp_path / name) for name in ("gone", "first", "second"))


def test_the_first_file_that_sets_a_value_counts(both: str) -> None:
    found = contexts(both)
    assert found.current == "b"
    assert dict(found.namespaces) == {"a": "default", "b": "of-b", "d": "of-d"}


@pytest.mark.parametrize(
    ("context", "given", "files", "namespace"),
    [
        (None, None, (), "of-b"),
        ("d", None, (), "of-d"),
        ("unknown", None, (), "default"),
        ("d", "mine", (), "mine"),
        (None, None, ("cluster.json",), "default"),
        (None, "mine", ("cluster.json",), "mine"),
    ],
)
def test_the_namespace_of_a_name_without_one(
    both: str, context: str | None, given: str | None, files: tuple[str, ...], namespace: str
) -> None:
    sources = Sources(files, (), Connection(both, context))
    assert sources.key("web", given, "NAME") == (namespace, "web")
    assert sources.key("team/web", given, "NAME") == ("team", "web")


def test_a_name_that_is_none(both: str) -> None:
    with pytest.raises(InputError, match=r"^NAME: expected NAMESPACE/NAME, not 'a/b/c'$"):
        Sources((), (), Connection(both)).key("a/b/c", None, "NAME")


@pytest.mark.parametrize(
    "text", ["[", "contexts: 7", "contexts: [7, {context: 3}]", "current-context: [a]", ""]
)
def test_what_cannot_be_read_has_no_context(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    assert contexts(str(path)).namespace(None) == "default"
