"""Whatever names and messages have in them, each command prints text that can be printed, and no line more.

The questions of the pages are asked about the examples, with control characters and newlines in every name and message
of their objects.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.text import Text

from api.yaml import documents
from cli.common.printable import in_json, in_yaml, on_one_line, one_line
from cli.main import reprieve

ROOT = Path(__file__).parents[2] / "examples"
NOW = ["--now", "2026-03-01T12:00:00Z"]
QUESTIONS: dict[str, list[str]] = {
    " ".join(each): each
    for each in (
        ["plan", "-f", "training-cluster.yaml", "--for", "research/llama-train"],
        ["plan", "-f", "training-cluster.yaml", "--for", "research/llama-train-0", "--pod"],
        ["plan", "-f", "too-large.yaml", "--overlay", "another-node.yaml", "--for", "research/giant"],
        ["plan", "-f", "too-large.yaml", "--for", "research/giant"],
        ["quota", "-f", "quota-teams.yaml", "--for", "team-a/train", *NOW],
        ["quota", "-f", "quota-monopoly.yaml", "--for", "team-c/report", *NOW],
        ["queue", "-f", "quota-teams.yaml", *NOW],
        ["queue", "team-a", "-f", "quota-teams.yaml", *NOW],
        ["diff", "diff/nodes.yaml", "-f", "training-cluster.yaml"],
        ["diff", "diff/threshold.yaml", "-f", "quota-teams.yaml", *NOW],
        ["what-if", "what-if/train.yaml", "-f", "what-if/cluster.yaml"],
        ["what-if", "what-if/web.yaml", "-f", "what-if/cluster.yaml"],
        ["why", "job", "research/evaluate", "-f", "why/queue.yaml", *NOW],
        ["why", "pod", "research/notebook", "-f", "why/members.yaml"],
        ["why", "podgroup", "research/train", "-f", "why/members.yaml"],
        ["who-evicted", "research/sweep-2", "-f", "questions/evicted.yaml"],
        ["doctor", "-f", "training-cluster.yaml"],
        ["validate", "-f", "settings.yaml", "--old", "settings-stored.yaml"],
        ["plan", "-f", "training-cluster.yaml", "--for", "research/nothing"],
        ["why", "pod", "research/nothing", "-f", "why/members.yaml"],
        ["queue", "nothing", "-f", "quota-teams.yaml"],
    )
}
SAID = ("message", "reason")
"""Fields with words of whoever writes an object."""
KEPT = ("FailedCreate", "Unschedulable", "Evicted")
"""Reasons that a command looks for."""

HOSTILE = "\x00\x07\x08\x0b\x0d\x1b\x7f\x85\x9b\u00ad\u061c\u200e\u202e\u2028\u2029\u2066\ufeff\U000e0041\n\t"
JUNK = st.text(st.sampled_from(HOSTILE) | st.sampled_from("a[31m日\U0001f600\\'\""), min_size=1, max_size=6)


@cache
def example(name: str) -> list[Any]:
    return [each for each in documents((ROOT / name).read_text()) if each is not None]


def names_in(value: Any) -> Iterator[str]:
    """The names of all objects."""
    if isinstance(value, dict):
        meta = value.get("metadata")
        if isinstance(meta, dict) and "name" in meta and "kind" in value:
            yield meta["name"]
        for each in value.values():
            yield from names_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from names_in(each)


def selected(value: Any, inside: bool = False) -> Iterator[str]:
    """Texts in selectors, which have to be values of labels."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from selected(each, inside or "elector" in key)
    elif isinstance(value, list):
        for each in value:
            yield from selected(each, inside)
    elif inside and isinstance(value, str):
        yield value


def spoiled(value: Any, names: frozenset[str], junk: str, key: str = "") -> Any:
    """The value, with the text at the end of all names and messages."""
    if isinstance(value, dict):
        return {name: spoiled(each, names, junk, name) for name, each in value.items()}
    if isinstance(value, list):
        return [spoiled(each, names, junk, key) for each in value]
    if isinstance(value, str) and (value in names or (key in SAID and value not in KEPT)):
        return value + junk
    return value


def asked(question: str, junk: str, output: str) -> tuple[int, str, str]:
    """(status, standard output, standard error). JSON has escapes for what YAML cannot have in it."""
    files = [each for each in QUESTIONS[question] if each.endswith(".yaml")]
    names = frozenset(name for each in files for name in names_in(example(each)))
    names -= {text for each in files for text in selected(example(each))}
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for each in files:
            paths[each] = os.path.join(folder, each.replace("/", "-"))
            things = [spoiled(thing, names, junk) for thing in example(each)]
            Path(paths[each]).write_text("\n".join(map(json.dumps, things)))
        arguments = [paths.get(each, _spoiled_name(each, names, junk)) for each in QUESTIONS[question]]
        result = CliRunner().invoke(reprieve, [*arguments, "-o", output])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.stdout.replace(folder, ""), result.stderr.replace(folder, "")


def _spoiled_name(argument: str, names: frozenset[str], junk: str) -> str:
    namespace, slash, name = argument.rpartition("/")
    if name == "nothing":
        return f"{namespace}{slash}{name}{junk}"
    if name not in names or argument in ("why", "plan", "queue", "quota", "diff"):
        return argument
    return f"{namespace}{junk if namespace in names else ''}{slash}{name}{junk}"


@pytest.mark.parametrize("question", QUESTIONS)
@settings(max_examples=5)
@given(junk=JUNK)
def test_what_is_printed_can_be_printed(question: str, junk: str) -> None:
    status, out, error = asked(question, junk, "text")
    lines = (out + error).split("\n")
    assert all(line.isprintable() for line in lines)
    if status == 2:  # such a name is not allowed there
        assert len(lines) == 2
    elif not question.startswith("validate"):  # each refused name has a line there
        assert (status, len(lines)) == plainly(question)


@cache
def plainly(question: str) -> tuple[int, int]:
    """Status and number of lines without such characters."""
    status, out, error = asked(question, "x", "text")
    return status, len((out + error).split("\n"))


@pytest.mark.parametrize("question", QUESTIONS)
@settings(max_examples=5)
@given(junk=JUNK)
def test_values_are_kept(question: str, junk: str) -> None:
    status, out, error = asked(question, junk, "json")
    again, as_yaml, error_again = asked(question, junk, "yaml")
    assert (status, error) == (again, error_again)
    assert all(line.isprintable() for line in (out + as_yaml + error).split("\n"))
    if out:
        read = json.loads(out)
        assert read == yaml.safe_load(as_yaml)
        assert question.startswith("doctor") or any(junk in text for text in texts(read))


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


ANY = st.text(max_size=20)


@given(ANY)
def test_one_line(text: str) -> None:
    assert one_line(text).isprintable()
    assert one_line(one_line(text)) == one_line(text)


@given(st.lists(st.tuples(ANY, st.sampled_from(["", "bold", "red"]))))
def test_styles_are_kept(parts: list[tuple[str, str]]) -> None:
    styled = on_one_line(Text.assemble(*parts))
    assert styled.plain == one_line(Text.assemble(*parts).plain)
    marked = "".join(styled.plain[span.start : span.end] for span in styled.spans)
    assert marked == "".join(one_line(Text(text).plain) for text, style in parts if style)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_and_yaml_have_the_same_values(text: str) -> None:
    assert json.loads(in_json(json.dumps(text, ensure_ascii=False))) == text
    dumped = yaml.dump(text, default_style='"', allow_unicode=True, width=1000)
    assert yaml.safe_load(in_yaml(dumped)) == text
