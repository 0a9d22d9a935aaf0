"""An answer as text for a person: the sentence, then the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from api.waits import Wait
from cli.common.output import line, title

__all__ = ["render"]

WORDS: Final = {
    "minCount": "minCount",
    "members": "members exist",
    "requiredMembers": "members must run",
    "boundMembers": "members have a node",
    "gatedPods": "pods have gates of others",
    "podsWithOurGate": "pods have our gate",
    "terminatingPods": "pods terminate",
    "endedPods": "pods have ended",
    "evictedBy": "who evicts",
    "evictorReason": "why that one",
    "handedOver": "handed over",
    "nextAttempt": "next attempt",
    "longestBackoffSeconds": "longest backoff, in seconds",
    "nominatedNode": "nominated node",
    "localQueue": "LocalQueue",
    "clusterQueue": "ClusterQueue",
    "position": "place in the ClusterQueue",
    "waitingInClusterQueue": "Workloads that wait there",
    "podsAtOnce": "pods at once",
    "podsWithoutNode": "pods without a node",
    "highestVictimPriority": "highest priority of a victim",
    "victimPrioritySum": "sum of the victims' priorities",
    "victimWorkloads": "Workloads that would be preempted",
    "victimPods": "pods that would be evicted",
    "lostPodSeconds": "pod-seconds of work that would be lost",
}
"""Numbers by their names, as far as other words are better."""
ALWAYS: Final = frozenset(
    {
        "minCount",
        "members",
        "requiredMembers",
        "boundMembers",
        "priority",
        "highestVictimPriority",
        "victimPrioritySum",
    }
)
"""Numbers that are shown if they are 0, too."""
COLOURS: Final = {True: "bold yellow", False: "bold green"}


def render(answer: Wait) -> RenderableType:
    """The whole answer, and the answers of what it depends on."""
    return Group(*_parts(answer))


def _parts(answer: Wait) -> Iterator[RenderableType]:
    head = Text()
    head.append(answer.state, COLOURS[answer.waits])
    head.append(f"  {answer.kind} {answer.name}", "bold")
    yield head
    yield line(answer.sentence)
    yield from (line(f"{name}: {value}", "dim") for name, value in _facts(answer))
    for words, said in (
        ("Missing", answer.missing),
        ("Waits for", answer.waits_for),
        ("Would help", answer.would_help),
        ("Stays", answer.stays),
        ("Note", answer.notes),
    ):
        if said:
            yield title(words)
            yield from map(line, said)
    if answer.places:
        yield title("Where")
        for place in answer.places:
            outcome = f"{place.name}: {place.outcome}" if place.outcome else place.name
            yield line(f"{outcome}, {place.reason}" if place.reason else outcome)
    if answer.tried_again:
        yield title("Tried again")
        yield line(answer.tried_again)
    for each in answer.depends:
        yield Text()
        yield from _parts(each)


def _facts(answer: Wait) -> Iterator[tuple[str, str]]:
    for name, value in answer.numbers.items():
        if value or name in ALWAYS:
            yield WORDS.get(name, name), str(value)
    if answer.since:
        yield "since", answer.since
    if answer.plan:
        yield "plan", answer.plan
