"""Idioms that stand for a term of the field are refused in what a person reads: messages, docstrings, comments, pages.

An eviction has a preemptor and victims: "no workload is evicted for it" says so, and an idiom does not. Some of these
idioms are never right. Others can be right ("must go to another node"): they are counted, and more than today's number
is a fault. CONTRIBUTING.md says which words to use.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["COUNTED", "NEVER", "Idiom", "Place", "faults", "places"]


@dataclass(frozen=True, slots=True)
class Idiom:
    """Words that a regular expression finds, with one space between two words, and what to write."""

    words: str
    better: str
    most: int = 0
    """How often it may stand in all files together."""


_GO: Final = r"(?:(?-i:go)|goes|going|went)"
"""Without the language."""
_MODAL: Final = (
    r"(?:must|may|can|could|might|should|will|would|would have to|has to|have to|had to|need to|needs to)"
)

NEVER: Final[Mapping[str, Idiom]] = {
    "nobody goes": Idiom(rf"\b(?:nobody|no one)(?:'s)? (?:(?:else|{_MODAL}) )?{_GO}\b", "nothing is evicted"),
    "who goes": Idiom(rf"\b(?:who|somebody|anybody|everybody) (?:{_MODAL} )?{_GO}\b", "the victims"),
    "goes for": Idiom(rf"\b{_GO} for\b", "is evicted for, or: preempts for, holds for"),
    "so long": Idiom(r"\bso long\b", "how long, or: as long as"),
    "what names none": Idiom(r"\bwhat names (?:none|no)\b", "objects that do not give one"),
    "who asks": Idiom(r"\bwho(?:ever)? asks\b", "the caller, the pod, the question"),
    "gone on from": Idiom(rf"\b(?:gone|{_GO}) on from\b", "resumes from"),
    "what came of": Idiom(r"\bwhat (?:came|comes) of\b|\bby what (?:became|becomes) of\b", "the result"),
    "sees through": Idiom(r"\b(?:sees|see|seen|saw) through\b", "ignores"),
}
"""Refused wherever they stand."""

COUNTED: Final[Mapping[str, Idiom]] = {
    "must go": Idiom(
        rf"\b{_MODAL} (?:(?:not|all|also|only|still|too) )?(?-i:go)\b"
        r"(?! (?:on|to|into|back|backwards|through|down|up|by|over|out|wrong|with|without)\b)",
        "is evicted, may be preempted, leaves",
    ),
    "so many": Idiom(r"\bso (?:many|much)\b", "the number, at most that number"),
    "of which": Idiom(r"\bof (?:which|whom)\b", "a sentence of its own", most=2),
    "is told": Idiom(r"\b(?:is|are|was|were|be|been|being) told\b", "gets the answer, learns"),
}
"""May be right: refused only when they stand more often than today."""

_ANY: Final = re.compile("|".join(each.words for each in (*NEVER.values(), *COUNTED.values())), re.IGNORECASE)
"""One of them. Nearly all texts have none, and to look for each one in each text takes twice as long."""

_NO_PROSE: Final = (
    "CHANGELOG.md",  # what has been released
    "docs/metrics.md",  # made from the help in the code, which is checked there
    "hack/lint/idioms.py",
    "tests/conformance/",
    "tests/data/",
    "tests/unit/hack/lint/test_idioms.py",
)

_OTHERS: Final = frozenset({"node_modules", "static"})
"""Folders of packages of others, and of what is built from them."""

_LINES: Final = (".md", ".ts", ".tsx", ".css", ".mjs")
"""Read line by line, as they are."""
_CODE: Final = (".py", ".pyi", ".pyx", ".pxd")
_TOKEN: Final = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<string>[A-Za-z]{0,2}(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<space>\s+)
    |(?P<other>\w+|.)""",
    re.DOTALL | re.VERBOSE,
)
"""Comments and strings of Python and of Cython, which `tokenize` does not read in every version of Python."""


@dataclass(frozen=True, slots=True)
class Place:
    """An idiom in a file."""

    file: str
    line: int
    idiom: str
    text: str


@dataclass(slots=True)
class _Passage:
    """Lines that are read as one text."""

    lines: list[int]
    words: list[str]
    """Of each line, with one space between two words."""

    def add(self, number: int, text: str) -> None:
        """Add text that begins in this line of the file."""
        for line, words in enumerate(text.split("\n"), number):
            self.lines.append(line)
            self.words.append(" ".join(words.split()))


def faults(root: Path) -> Iterator[str]:
    """One line for each idiom that is never right, and for each place of those that stand more often than today."""
    found = list(places(root))
    for place in found:
        if place.idiom in NEVER:
            yield f'{place.file}:{place.line}: "{place.text}": {NEVER[place.idiom].better}'
    for name, idiom in COUNTED.items():
        here = [place for place in found if place.idiom == name]
        if len(here) > idiom.most:
            yield f'"{name}" stands {len(here)} times, {idiom.most} is the most (hack/lint/idioms.py): {idiom.better}'
            yield from (f'{place.file}:{place.line}: "{place.text}"' for place in here)


def places(root: Path) -> Iterator[Place]:
    """All idioms in code and pages, by file and line."""
    for path in _files(root):
        file = path.relative_to(root).as_posix()
        if file.startswith(_NO_PROSE):
            continue
        passages = _passages_of_page if path.suffix in _LINES else _passages_of_code
        yield from _found(file, passages(path.read_text()))


def _files(root: Path) -> Iterator[Path]:
    for top in sorted(root.iterdir()):
        if not top.name.startswith(".") and top.name != "build":
            found = sorted(top.rglob("*")) if top.is_dir() else [top]
            yield from (
                path for path in found if path.suffix in (*_CODE, *_LINES) and not _OTHERS & {*path.parts}
            )


def _found(file: str, passages: Iterator[_Passage]) -> Iterator[Place]:
    for passage in passages:
        text = " ".join(passage.words)
        if not _ANY.search(text):
            continue
        starts = [0]
        for words in passage.words:
            starts.append(starts[-1] + len(words) + 1)
        for name, idiom in {**NEVER, **COUNTED}.items():
            for match in re.finditer(idiom.words, text, re.IGNORECASE):
                line = passage.lines[bisect_right(starts, match.start()) - 1]
                yield Place(file, line, name, match[0])


def _passages_of_code(text: str) -> Iterator[_Passage]:
    """Strings that follow one another are one message, comments that do so are one comment."""
    kind, passage, line = "", _Passage([], []), 1
    for match in _TOKEN.finditer(text):
        found = match.lastgroup or ""
        if found != "space":
            if found != kind and passage.lines:
                yield passage
                passage = _Passage([], [])
            kind = found
            if found != "other":
                passage.add(line, _bare(match[0]))
        line += match[0].count("\n")
    if passage.lines:
        yield passage


def _bare(token: str) -> str:
    """The words of a comment or of a string, without what marks it as one."""
    if token.startswith("#"):
        return token.lstrip("#")
    return token[token.index(token[-1]) :].strip(token[-1])


def _passages_of_page(text: str) -> Iterator[_Passage]:
    """A paragraph, a table and a block of code are one passage each: a blank line ends it.

    What a command prints (a block of ```console) is left out: the code that prints it is checked.
    """
    passage, is_printed = _Passage([], []), False
    for number, words in enumerate([*text.split("\n"), ""], 1):
        if words.strip().startswith("```"):
            is_printed = words.strip() == "```console"
        if words.strip() and not is_printed:
            passage.add(number, words)
        elif passage.lines:
            yield passage
            passage = _Passage([], [])
