"""What `doctor --for Enforce` says of the moment at which Enforce begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from answers.doctor.enforcing import MOST_SEARCHES, AtOnce, Judged, Wanted, at_once
from answers.doctor.findings import Finding, Findings, note, well
from answers.doctor.kinds import SeenPod
from answers.doctor.pieces import InPieces, in_pieces
from answers.doctor.seen import Seen
from api.core import Namespace
from api.foreign_owners import OwningJob
from api.groups import PodGroup
from api.progress import Progress, silent
from api.words import counted, some
from nodes.answers.picture import NodesPicture
from nodes.groups.registry import GroupKey
from nodes.state.tables import Tables

__all__ = ["Looked", "with_at_once"]

CHECK: Final = "at once"
PIECES: Final = "in pieces"
HOUR: Final = "first hour"
MOST: Final = 10
"""Gangs with a line of their own."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What is needed besides what the checks look at."""

    picture: NodesPicture | None
    """None: why says what is missing."""
    tables: Tables
    jobs: Mapping[tuple[str, str], OwningJob]
    why: str = ""
    unusable: tuple[str, ...] = ()
    """Objects that do not count, and why."""


def with_at_once(
    findings: Findings,
    seen: Seen,
    looked: Looked,
    wanted: Wanted,
    now: float,
    unset: str = "",
    progress: Progress = silent,
) -> Findings:
    """The findings, and what Enforce would do at once. `now`: in seconds since the epoch.

    `unset`: why the settings of the cluster do not count; empty if they do.
    """
    notes = [note(CHECK, f"the defaults of the Configuration count: {unset}")] if unset else []
    if looked.unusable:
        notes.append(note(CHECK, f"these objects do not count: {some(looked.unusable)}"))
    if wanted.namespace and wanted.modes.observes(wanted.namespace):
        says = f"planning.enforcedNamespaceSelector does not select namespace {wanted.namespace}"
        notes.append(note(CHECK, f"{says}: its gangs would stay observed"))
    if looked.picture is None:
        said = [note(CHECK, f"whom Enforce would evict at once is not known: {looked.why}")]
        return replace(findings, found=(*findings.found, *notes, *said))
    answer = at_once(looked.picture.snapshot, wanted, seen.all(Namespace), now, progress)
    pieces = in_pieces(
        _groups(seen, looked, wanted),
        answer.completed,
        looked.tables.budgets,
        looked.jobs,
        wanted.pieces,
        now,
    )
    answer = replace(answer, in_pieces=tuple(pieces))
    found = (*findings.found, *notes, *_said(answer, wanted), *_pieces(answer), *_hour(answer, wanted))
    return replace(findings, found=found, enforced=answer.plain())


def _groups(seen: Seen, looked: Looked, wanted: Wanted) -> dict[GroupKey, tuple[PodGroup, list[SeenPod]]]:
    """The gangs that are asked about, with their pods."""
    owners = looked.tables.owners
    pods: dict[GroupKey, list[SeenPod]] = {}
    for pod in seen.all(SeenPod):
        unit = owners.unit_of(pod)
        if unit is not None and wanted.holds(unit):
            pods.setdefault(unit, []).append(pod)
    table = looked.tables.groups
    there = dict(zip(table.keys.keys, table.objects, strict=True))
    return {key: (group, members) for key, members in pods.items() if (group := there.get(key)) is not None}


def _said(answer: AtOnce, wanted: Wanted) -> Iterator[Finding]:
    where = f" of namespace {wanted.namespace}" if wanted.namespace else ""
    evicts = answer.of("Evicts")
    looked = counted(answer.looked, "gang")
    if evicts:
        pods, units = sum(each.pods for each in evicts), sum(each.units for each in evicts)
        yield note(
            CHECK,
            f"as of this moment, Enforce would evict {counted(pods, 'pod')} ({counted(units, 'unit')}) for "
            f"{counted(len(evicts), 'gang')}, of {looked}{where} that wait; each was decided after those before it",
        )
    else:
        yield well(
            CHECK, f"as of this moment, Enforce would evict nobody; {looked}{where} that wait were decided"
        )
    for each in evicts[:MOST]:
        yield note(CHECK, _line(each))
    if more := evicts[MOST:]:
        pods = sum(each.pods for each in more)
        yield note(CHECK, f"and {counted(pods, 'pod')} for {counted(len(more), 'more gang')}")
    if answer.unlooked:
        yield note(
            CHECK,
            f"{counted(answer.unlooked, 'gang')} later in the queue {'was' if answer.unlooked == 1 else 'were'} not "
            f"decided: this command stops after {MOST_SEARCHES} searches",
        )
    if answer.observed:
        yield note(
            CHECK,
            f"{counted(answer.observed, 'gang')} that wait are in namespaces that planning.enforcedNamespaceSelector "
            "does not select: they stay observed",
        )


def _line(each: Judged) -> str:
    more = (
        f", and {counted(each.units - len(each.victims), 'more unit')}"
        if each.units > len(each.victims)
        else ""
    )
    what = f"{counted(each.pods, 'pod')} ({counted(each.units, 'unit')})"
    return (
        f"for {each.namespace}/{each.name}, priority {each.priority}: {what}: {'; '.join(each.victims)}{more}"
    )


def _pieces(answer: AtOnce) -> Iterator[Finding]:
    if not answer.in_pieces:
        yield well(PIECES, "no gang is in pieces")
    for each in answer.in_pieces[:MOST]:
        yield note(PIECES, _fate(each))
    if more := answer.in_pieces[MOST:]:
        released = sum(each.fate == "Release" for each in more)
        yield note(
            PIECES, f"{counted(len(more), 'more gang')}; members of {released} of them would be released"
        )


def _fate(each: InPieces) -> str:
    has = f"{each.namespace}/{each.name} has {each.bound} of {each.min_count} members bound"
    if each.fate == "Completes":
        return f"{has}: it would get room for the others"
    if each.fate == "Keep":
        return f"{has}: they would stay: {each.reason}"
    return f"{has}: they would be evicted after {each.after_seconds:g} s, so that the gang waits as a whole"


def _hour(answer: AtOnce, wanted: Wanted) -> Iterator[Finding]:
    blocked, reached, paused = answer.of("Blocked"), answer.of("LimitReached"), answer.of("Paused")
    for each in blocked[:MOST]:
        yield note(HOUR, f"Blocked: {each.namespace}/{each.name}: {each.reason}")
    if more := blocked[MOST:]:
        yield note(HOUR, f"{counted(len(more), 'more gang')} would be Blocked")
    if paused:
        yield note(
            HOUR, f"not before the pause ends: {some(f'{each.namespace}/{each.name}' for each in paused)}"
        )
    if wanted.limits is None:
        yield note(HOUR, "planning.limits is not set: nothing limits how much is evicted")
        return
    pods, wait = sum(answer.pods.values()), sum(each.pods for each in reached)
    by = some(f"{name}: {count}" for name, count in sorted(answer.pods.items()))
    said = f"within planning.limits, {counted(pods, 'pod')} would be evicted in the first hour"
    yield note(HOUR, f"{said} ({by})" if by else said)
    if reached:
        yield note(
            HOUR,
            f"{counted(wait, 'pod')} for {counted(len(reached), 'gang')} would wait for planning.limits: "
            f"{some(f'{each.namespace}/{each.name}' for each in reached)}",
        )
