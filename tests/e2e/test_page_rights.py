"""What four readers get from the page, while the cluster changes all the time: no byte of a namespace that they may not
read. See `page_worlds`."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Final

import pytest

from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.page_worlds import Worlds
from tests.e2e.served_page import READS, Answer, Page, serving
from tests.e2e.support import wait_for
from tests.kit.answers.worlds import LEVELS, MARKS, NAMESPACES
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import ALL
from tests.kit.page_questions import Question, first_leak, questions

SECONDS: Final = 60.0 if ALL else 6.0
"""How long the world changes."""
STAYS_SECONDS: Final = 1.5
"""How long each world stays."""
ACCOUNTS: Final = 8 if ALL else 3
"""Readers with the same rights: each has limits of their own."""
OF_A_TENANT: Final = [
    {"apiGroups": [group], "resources": ["*"], "verbs": READS}
    for group in ("", "apps", "batch", "policy", "reprieve.dev", "kueue.x-k8s.io")
]
OF_NODES: Final = [{"apiGroups": [""], "resources": ["nodes"], "verbs": READS}]
AT_LEAST: Final = 40
"""Questions about each world, also if it has changed meanwhile."""
SEEN: Final[Mapping[str, frozenset[str]]] = {
    "administrator": frozenset(
        {
            *("session", "map", "nodes", "waiting", "why", "plan-for", "plans", "queues", "what-if"),
            *("evictions", "report", "who-evicted", "doctor", "search", "openapi.json"),
        }
    ),
    "tenant": frozenset({"session", "waiting", "why", "plans", "evictions", "search"}),
    "nodes": frozenset({"session", "map", "nodes", "waiting"}),
}
"""What each role has to see, by the first part of the address."""
OF_ALL: Final = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


@dataclass
class Role:
    """Readers with the same rights, and all that they got."""

    page: Page
    tokens: list[str]
    own: Collection[str]
    """Namespaces: of these they may know everything."""
    got: list[tuple[Question, Answer]] = field(default_factory=list)
    streamed: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._secrets = cycle([*map(self.page.log_in, self.tokens)])

    def ask(self, question: Question) -> None:
        """Keep what is answered. Who is asked too often says when to come back."""
        media_type = "application/yaml" if question.body is not None else "application/json"
        method = "GET" if question.body is None else "POST"
        answer = self.page.send(method, question.path, next(self._secrets), question.body, media_type)
        self.got.append((question, answer))

    def streaming(self) -> AbstractContextManager[None]:
        """Keep what an open stream says until the end of the context."""
        return self.page.following(
            "waiting,plans,queues", ",".join(NAMESPACES), next(self._secrets), self.streamed.extend
        )

    def leaks(self, uids: Mapping[str, set[str]]) -> list[str]:
        """What they got of other namespaces."""
        said = [*self._said(), (Question("events"), bytes(self.streamed))]
        return [leak for each in said if (leak := first_leak(*each, self.own, uids))]

    def _said(self) -> Iterator[tuple[Question, bytes]]:
        for question, answer in self.got:
            yield question, answer.body + json.dumps(dict(answer.headers)).encode()


@pytest.fixture
def page(api_plane: ControlPlane, tmp_path: Path) -> Iterator[Page]:
    name = "page-readers"
    api_plane.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    with serving(api_plane, name, tmp_path) as served:
        yield served


def role(page: Page, name: str, rules: list[Json], own: Collection[str], **where: object) -> Role:
    tokens = [page.reader(f"{name}-{each}", rules, **where) for each in range(ACCOUNTS)]  # type: ignore[arg-type]
    return Role(page, tokens, own)


def test_no_byte_of_a_namespace_that_a_reader_may_not_read(
    page: Page, api_plane: ControlPlane, say: Callable[[str], None]
) -> None:
    worlds, seed = Worlds(api_plane.client), Random().randrange(1 << 30)
    worlds.prepare()
    roles = {
        "administrator": role(page, "admin", OF_ALL, NAMESPACES, everywhere=True),
        "tenant": role(page, "tenant", OF_A_TENANT, ["alfa"], space="alfa"),
        "nodes": role(page, "nodes", OF_NODES, [], everywhere=True),
        "nothing": role(page, "nothing", [], []),
    }
    say(f"seed {seed}")
    with worlds.changing(seed, STAYS_SECONDS):
        ready = next(iter(roles.values()))
        wait_for(lambda: page.ask("waiting", ready.tokens[0])[0] == 200)
        end = time.monotonic() + SECONDS
        with roles["tenant"].streaming(), roles["nodes"].streaming(), roles["nothing"].streaming():
            while (now := time.monotonic()) < end or (unanswered(roles) and now < end + PATIENCE_SECONDS):
                ask_all(roles, worlds, Random(time.monotonic_ns()), end)
    for name, each in roles.items():
        assert each.leaks(worlds.uids) == [], f"{name}, seed {seed}"
    expect_that_much_was_said(roles, worlds)
    say(f"{ {name: len(each.got) for name, each in roles.items()} } answers, {kinds_of(roles['tenant'])}")


def ask_all(roles: dict[str, Role], worlds: Worlds, random: Random, end: float) -> None:
    """Questions about the world of this moment, to all readers alike."""
    made = worlds.now
    if made is None:
        return
    lacking = unanswered(roles)
    first = sorted(questions(made, random), key=lambda question: kind_of(question) not in lacking)
    for number, question in enumerate(first):
        for each in roles.values():
            each.ask(question)
        if number > AT_LEAST and (time.monotonic() > end or worlds.now is not made):
            return


def kind_of(question: Question) -> str:
    """The first part of its address."""
    return re.split(r"[/?]", question.path)[0]


def kinds_of(role: Role) -> dict[str, int]:
    """Answers with status 200, by the first part of the address."""
    return dict(Counter(kind_of(question) for question, answer in role.got if answer.status == 200))


def unanswered(roles: Mapping[str, Role]) -> set[str]:
    """What somebody may see, and has not seen yet: a slow machine needs more time for the first answers."""
    return set().union(*(kinds - kinds_of(roles[name]).keys() for name, kinds in SEEN.items()))


def expect_that_much_was_said(roles: dict[str, Role], worlds: Worlds) -> None:
    """Or the search has found nothing because nothing was there."""
    of_all = b"".join(answer.body for _, answer in roles["administrator"].got)
    for space in NAMESPACES:
        assert MARKS[space].encode() in of_all
        assert str(LEVELS[space])[:4].encode() in of_all
    if ALL:  # few answers have UIDs
        assert any(uid.encode() in of_all for uids in worlds.uids.values() for uid in uids)
    own = b"".join(answer.body for _, answer in roles["tenant"].got)
    assert MARKS["alfa"].encode() in own
    assert b"event: waiting" in roles["nothing"].streamed, "everybody may know that something has changed"
    assert unanswered(roles) == set()
    statuses = {answer.status for each in roles.values() for _, answer in each.got}
    assert statuses <= {200, 400, 403, 404, 429, 503}
