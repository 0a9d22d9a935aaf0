"""What readers may ask the page about a world of `tests.kit.answers.worlds`, and what of an answer is not theirs."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final
from urllib.parse import quote

from tests.kit.answers.worlds import LEVELS, MARKS, NAMESPACES, World

__all__ = ["Question", "first_leak", "questions", "submitted"]

REPRIEVE: Final = "reprieve.dev/v1alpha1"


@dataclass(frozen=True)
class Question:
    """A request, and the words in it: an answer may repeat them."""

    path: str
    words: tuple[str, ...] = ()
    body: bytes | None = None
    costs: bool = False
    """Whether only thirty of its kind are answered in a minute."""


def questions(made: World, random: Random) -> list[Question]:
    """Each address of the API, in another order each time. Names and namespaces are those of the world, and some that
    nobody has."""
    found = [*_lists(), *_objects(made), *_submissions()]
    random.shuffle(found)
    return found


def _lists() -> Iterator[Question]:
    some = (("",), ("alfa",), ("bravo",), NAMESPACES)
    for spaces in some:
        query, words = (f"namespace={','.join(spaces)}", spaces) if spaces[0] else ("", ())
        for path in (
            "session",
            "map",
            "map?topologyKey=rack&resource=memory",
            "waiting",
            "plans",
            "evictions",
        ):
            yield Question(f"{path}{'&' if '?' in path else '?'}{query}", words)
        for path in ("queues", "report", "report?by=namespace", "report?by=gang", "report?by=priority"):
            yield Question(f"{path}{'&' if '?' in path else '?'}{query}", words)
        for number in range(4):
            yield Question(f"nodes/n{number}?{query}", words)
        for text in ("q", "run", "a", *MARKS.values()):
            yield Question(f"search?q={text}&{query}", (*words, text))
        yield Question(f"doctor?{query}", words, costs=True)
    for space in NAMESPACES:
        yield Question(f"report?preemptorNamespace={space}", (space,))
    yield Question("openapi.json")


def _objects(made: World) -> Iterator[Question]:
    absent = [(kind, space, "absent") for kind in ("pod", "podgroup", "job") for space in NAMESPACES]
    for kind, space, name in [*made.questions(), *absent]:
        where = f"{kind}/{space}/{quote(name)}"
        words = (space, name)
        yield Question(f"why/{where}", words, costs=True)
        if kind in ("pod", "podgroup"):
            yield Question(f"plan-for/{where}", words, costs=True)
        yield Question(f"who-evicted/{space}/{quote(name)}", words, costs=True)
        yield Question(f"plans?preemptor={where}", words)
    for each in made.objects:
        name, space = each["metadata"]["name"], each["metadata"].get("namespace", "")
        if each["kind"] in ("PreemptionPlan", "DispatchPlan"):
            yield Question(f"plans/{space}/{name}", (space, name))
        elif each["kind"] == "ClusterQueue":
            yield Question(f"queues/{name}", (name,), costs=True)
        elif each["kind"] == "LocalQueue":
            yield Question(f"queues/{space}/{name}", (space, name), costs=True)


def _submissions() -> Iterator[Question]:
    for space in NAMESPACES:
        yield Question("what-if", (space,), submitted(space), costs=True)


def submitted(space: str) -> bytes:
    """A gang and a Job that need much, of this namespace."""
    pod = {
        "priority": 9_000_000,
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}],
    }
    meta = {"namespace": space, "labels": {"reprieve.dev/pod-group": "gang"}}
    gang = {
        "apiVersion": REPRIEVE,
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": space},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "priority": 9_000_000},
    }
    members = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"gang-{each}", **meta}, "spec": pod}
        for each in range(2)
    ]
    queue = {"kueue.x-k8s.io/queue-name": f"{MARKS[space]}-local"}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job", "namespace": space, "labels": queue},
        "spec": {"parallelism": 2, "template": {"spec": pod}},
    }
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [gang, *members, job]}).encode()


# ---- what is answered


def first_leak(
    question: Question, said: bytes, own: Collection[str], uids: Mapping[str, Iterable[str]]
) -> str:
    """What an answer has of another namespace than `own`; empty if it has nothing. `uids`: those of its objects.

    The words of the question may come back.
    """
    for word in sorted(question.words, key=len, reverse=True):
        said = said.replace(word.encode(), b"")
    for mark in _marks([space for space in NAMESPACES if space not in own], uids):
        if (hit := mark.search(said)) is not None:
            about = said[max(0, hit.start() - 200) : hit.end() + 100]
            return f"{question.path}: ...{about.decode(errors='replace')}"
    return ""


def _marks(spaces: Iterable[str], uids: Mapping[str, Iterable[str]]) -> Iterator[re.Pattern[bytes]]:
    """Names, labels and messages; priorities, which have seven digits; UIDs."""
    for space in spaces:
        for text in (space, MARKS[space], *uids.get(space, ())):
            yield re.compile(re.escape(text).encode())
        yield re.compile(rf"(?<![\d.]){str(LEVELS[space])[:4]}\d{{3}}(?!\d)".encode())
