"""Whose fate changes, as text for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from answers.diff import DiffAnswer
from api.fates import Change, Fate, FateState
from api.words import counted, some
from cli.common.output import line, title

__all__ = ["render"]

TITLES: Final[dict[FateState, str]] = {
    "Fits": "Would fit",
    "Preempts": "Would fit once others are gone",
    "Waits": "Would wait",
    "Unknown": "Would not be known",
    "Preempted": "Would be preempted",
    "Drained": "Would be evicted",
    "CouldBeTakenBack": "Could be taken back",
    "Stays": "Would stay",
}
"""In the order of the answer, by the later state."""
STYLES: Final[dict[FateState, str]] = {
    "Fits": "green",
    "Stays": "green",
    "Preempted": "red",
    "Drained": "red",
    "Waits": "red",
}


def render(answer: DiffAnswer) -> RenderableType:
    """Counts first, then one part for each later state."""
    parts: list[RenderableType] = [Text(_head(answer), "bold")]
    for state, heading in TITLES.items():
        of = [each for each in answer.changes if each.known.state == state]
        if of:
            parts.append(title(heading))
        for each in of:
            parts += _change(each)
    if answer.unknown:
        parts.append(title("Not known, now and then"))
    for each in answer.unknown:
        parts.append(line(f"{each.known.kind} {some(each.names)}", "yellow"))
        parts.append(line(f"  {each.known.sentence}"))
    if answer.renewed:
        says = f"{counted(answer.renewed, 'object')} count as created anew, because their priority class changes."
        parts += [Text(), Text(says, "dim")]
    return Group(*parts)


def _head(answer: DiffAnswer) -> str:
    names = [f"{kind} {name}{'' if there else ' (new)'}" for kind, name, there in answer.changed]
    differ = sum(len(each.names) for each in answer.changes)
    if not names:
        return "Nothing is changed."
    unknown = sum(len(each.names) for each in answer.unknown)
    same = f"that of {answer.same} does not" + (f", and that of {unknown} is not known" if unknown else "")
    return f"With {some(names)}, the fate of {differ} changes, and {same}."


def _change(change: Change) -> Iterator[RenderableType]:
    whole = change.known
    yield line(f"{whole.kind} {some(change.names)}", STYLES.get(whole.state, "yellow"))
    yield line(f"  then: {_said(whole)}")
    yield line(f"  now:  {_said(change.now)}", "dim")


def _said(fate: Fate | None) -> str:
    if fate is None:
        return "it is not there"
    victims = f" Victims: {some(fate.because)}." if fate.state == "Preempts" and fate.because else ""
    return f"{fate.sentence}{victims}"
