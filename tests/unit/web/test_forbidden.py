"""No byte of a namespace reaches a reader who may not read it, at any address. And each fault of the rights is found.

What `doctor` says is left out: of a cluster it is asked for as the reader, and these readers have files. A report has
rows of all namespaces, for whoever may list reports (test_account.py).
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

import pytest

import answers.withholding
from answers.reading.page_objects import PageObjects
from answers.reading.quota_objects import read_time
from tests.kit.answers.worlds import MARKS, NAMESPACES, NOW, World, world
from tests.kit.observed_plans import days_of, objects_of, plan
from tests.kit.page_questions import Question, first_leak, questions
from tests.unit.web.page_stage import Api, Page, cluster_page
from web.readers.rights import CLUSTER_WIDE, NAMESPACED, Granted
from web.sources.files import Files

Asking = Callable[[Question], Awaitable[tuple[int, bytes]]]

ROOT: Final = Path(__file__).parents[3]
ACCOUNTS: Final = 12
"""Readers with the same rights: each has limits of their own."""


@dataclass(frozen=True)
class Edit:
    """A change of one file. The text is there exactly once."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Role:
    """What some readers may list."""

    rights: tuple[str, ...]
    own: Collection[str] = ()
    """Namespaces: of these they may know everything."""

    def tokens(self, api: Api) -> Iterator[str]:
        """One after the other."""
        for number in range(ACCOUNTS):
            api.add(f"token.{number}", f"reader-{number}", *self.rights)
        return cycle(f"token.{number}" for number in range(ACCOUNTS))


TENANT: Final = Role(tuple(f"list {each} in alfa" for each in NAMESPACED), ("alfa",))
OF_NODES: Final = Role(("list nodes",))
OF_QUEUES: Final = Role(("list clusterqueues",))
OF_NOTHING: Final = Role(())
OF_ALL: Final = Role(tuple(f"list {each}" for each in (*NAMESPACED, *CLUSTER_WIDE, "cohorts")), NAMESPACES)
ROLES: Final = {
    "tenant": TENANT,
    "nodes": OF_NODES,
    "queues without cohorts": OF_QUEUES,
    "nothing": OF_NOTHING,
    "all": OF_ALL,
}


def files(made: World) -> Files:
    """The world, with reports of observed plans."""
    observed = [plan(number, namespace=space, pods=2) for number, space in enumerate(NAMESPACES)]
    for each, space in zip(observed, NAMESPACES, strict=True):
        each.metadata.name = f"{MARKS[space]}-counted"
    objects = PageObjects(read_time(NOW, "now"))
    items = [*made.objects, *objects_of(*days_of(observed), *observed)]
    objects.add_file(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode(), "world")
    return Files(objects)


@asynccontextmanager
async def visited(made: World, role: Role) -> AsyncIterator[Asking]:
    """`ask(question)` gives the status of the answer, and all its bytes."""
    api = Api()
    tokens = role.tokens(api)
    async with cluster_page(api, files=files(made)) as page:

        async def ask(question: Question) -> tuple[int, bytes]:
            return await answered(page, question, next(tokens))

        yield ask


async def answered(page: Page, question: Question, token: str) -> tuple[int, bytes]:
    method, more = "GET", dict[str, Any]()
    headers = {"Authorization": f"Bearer {token}"}
    if question.body is not None:
        method, more["data"], headers["Content-Type"] = "POST", question.body, "application/yaml"
    url = f"{page.url}/api/v1/{question.path}"
    async with page.session.request(method, url, headers=headers, **more) as answer:
        return answer.status, await answer.read() + repr(dict(answer.headers)).encode()


async def leaks(seed: int, role: Role) -> list[str]:
    """What the readers get that is not theirs."""
    found, made = [], world(seed)
    async with visited(made, role) as ask:
        for question in questions(made, Random(seed)):
            if question.path.startswith("doctor"):
                continue
            status, said = await ask(question)
            assert status in (200, 400, 403, 404, 429, 503), (question, said)
            found += [leak] if (leak := first_leak(question, said, role.own, {})) else []
            if is_elsewhere(question, role) and status not in (403, 429):
                found.append(f"{question.path}: {status} says whether it is there")
    return found


def is_elsewhere(question: Question, role: Role) -> bool:
    """Whether it is about an object elsewhere: in a namespace that is not the reader's."""
    first, *rest = question.path.partition("?")[0].split("/")
    if first in ("why", "plan-for"):
        return rest[1] not in role.own
    return first in ("who-evicted", "plans") and len(rest) == 2 and rest[0] not in role.own


@pytest.mark.parametrize("name", ROLES)
async def test_no_answer_has_anything_of_a_forbidden_namespace(name: str) -> None:
    for seed in (Random().randrange(1 << 30), 7):
        assert await leaks(seed, ROLES[name]) == [], f"seed {seed}"


# ---- each part is needed


def broken(edit: Edit) -> dict[str, Any]:
    """The names of a module whose text is changed."""
    text = (ROOT / edit.file).read_text()
    assert text.count(edit.old) == 1, edit
    text = text.replace(edit.old, edit.new)
    module = ModuleType(f"broken_{abs(hash(text))}")
    with patch.dict(sys.modules, {module.__name__: module}):  # dataclasses look there
        exec(compile(text, edit.file, "exec"), module.__dict__)  # noqa: S102 - it is our own text
    return module.__dict__


@contextmanager
def broken_rights(edit: Edit) -> Iterator[None]:
    """The tables and methods of `web.readers.rights` are those of the changed text."""
    names = broken(edit)
    methods = ("lists", "mark", "all_namespaces", "named", "lacking", "missing")
    with ExitStack() as stack:
        for table, name in ((NAMESPACED, "NAMESPACED"), (CLUSTER_WIDE, "CLUSTER_WIDE")):
            stack.enter_context(patch.dict(table, names[name], clear=True))
        for method in methods:
            stack.enter_context(patch.object(Granted, method, names["Granted"].__dict__[method]))
        yield


async def has_leaks(role: Role) -> bool:
    for seed in range(40):
        if await leaks(seed, role):
            return True
    return False


async def refuses_own_pods() -> bool:
    async with visited(world(1), TENANT) as ask:
        return (await ask(Question("why/pod/alfa/absent")))[0] == 403


async def shows_queues_without_cohorts() -> bool:
    async with visited(world(1), OF_QUEUES) as ask:
        return (await ask(Question("queues")))[0] != 403


async def shows_gangs_without_their_pods() -> bool:
    role = Role(("list podgroups in alfa",))
    async with visited(world(1), role) as ask:
        return (await ask(Question("why/podgroup/alfa/absent")))[0] != 403


async def has_one_version_for_all() -> bool:
    """A stream tells no change of rights."""
    versions = set()
    for role in (TENANT, OF_NODES):
        async with visited(world(1), role) as ask:
            _, said = await ask(Question("waiting"))
            versions.add(said.partition(b'"version":"')[2].partition(b'"')[0])
    return len(versions) == 1


SINGLE: Final = (
    refuses_own_pods,
    shows_queues_without_cohorts,
    shows_gangs_without_their_pods,
    has_one_version_for_all,
)
RIGHTS: Final = "web/readers/rights.py"
BROKEN_RIGHTS: Final[dict[str, tuple[Edit, Callable[[], Any]]]] = {
    "a right in one namespace counts in all": (
        Edit(
            RIGHTS,
            "(what, EVERYWHERE) in self.rights or (what, namespace) in self.rights",
            "any(what == each for each, _ in self.rights)",
        ),
        lambda: has_leaks(TENANT),
    ),
    "nothing is asked before an object is looked for": (
        Edit(RIGHTS, "for what in ASKED[kind] if not", "for what in () if not"),
        lambda: has_leaks(OF_NODES),
    ),
    "a gang is shown without its pods": (
        Edit(RIGHTS, '"podgroup": ("podgroups", "pods"),', '"podgroup": ("podgroups",),'),
        shows_gangs_without_their_pods,
    ),
    "queues are shown without cohorts": (
        Edit(RIGHTS, ', Access(KUEUE, "cohorts", "list")', ","),
        shows_queues_without_cohorts,
    ),
    "another verb is asked about": (
        Edit(RIGHTS, 'Access("", "pods", "list")', 'Access("", "pods", "get")'),
        refuses_own_pods,
    ),
    "versions do not depend on rights": (
        Edit(RIGHTS, "hashlib.blake2b(text.encode(), digest_size=6)", 'hashlib.blake2b(b"", digest_size=6)'),
        has_one_version_for_all,
    ),
}


@pytest.mark.parametrize("name", BROKEN_RIGHTS)
async def test_a_fault_of_the_rights_is_found(name: str) -> None:
    edit, is_found = BROKEN_RIGHTS[name]
    with broken_rights(edit):
        assert await is_found()


@pytest.mark.parametrize("look", SINGLE)
async def test_without_a_fault_nothing_is_found(look: Callable[[], Awaitable[bool]]) -> None:
    assert not await look()


WITHHOLDING: Final = "api/withholding.py"
BROKEN_WITHHOLDING: Final[dict[str, tuple[str, str]]] = {
    "nothing is withheld": (
        "if victims == spec.victims and budgets == named:",
        "if isinstance(victims, list):",
    ),
    "victims are named": ("if may_name(victim.kind, victim.namespace):", "if victim.kind:"),
    "the namespace of a victim stays": (
        'return replace(victim, namespace="", name="", pods=pods)',
        'return replace(victim, name="", pods=pods)',
    ),
    "budgets are named": (
        'each if may_name("PodDisruptionBudget", each.namespace) else',
        "each if each.name else",
    ),
    "budgets alone change nothing": (
        "victims == spec.victims and budgets == named",
        "victims == spec.victims",
    ),
}


@pytest.mark.parametrize("name", BROKEN_WITHHOLDING)
async def test_a_fault_of_the_withholding_is_found(name: str) -> None:
    changed = broken(Edit(WITHHOLDING, *BROKEN_WITHHOLDING[name]))["withhold"]
    with patch.object(answers.withholding, "withhold", changed):
        assert await has_leaks(TENANT)
