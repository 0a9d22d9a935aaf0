"""Random evictions: refusals, an API server that is away, plans that end, priorities that rise, pods that others write
to, pauses, modes that change, processes that die, and their deletes that come late.

A gang needs all nodes. Three groups that go whole and a single pod are in its way.
"""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, NamedTuple
from unittest import mock

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from api.core import Namespace, Pod
from api.meta import ObjectMeta
from api.pauses import PAUSED
from api.published import NAMESPACE
from controllers.gangs.evicting import evictions
from kube.errors import ApiError
from kube.sender import Sender
from tests.kit.canary import canary, space
from tests.kit.examples import examples
from tests.kit.objects import gang, make, node, pod
from tests.kit.stage import Api, Stage

UNITS = {"first": ("a0", "a1", "a2"), "second": ("b0", "b1"), "third": ("c0", "c1")}
PODS = (*(name for pods in UNITS.values() for name in pods), "single")
BIG = {"cpu": "4"}
LOW, HIGH = 1, 500
RUNNING = "/api/v1/pods"
AT_REST = 10
"""Number of rounds after which nothing is left to do."""


def of_unit(name: str) -> str:
    """The PodGroup of a victim; empty if it has none."""
    return next((unit for unit, pods in UNITS.items() if name in pods), "")


def types_of(there: dict[str, Any]) -> set[str]:
    """The types of a pod's conditions."""
    return {each["type"] for each in there.get("status", {}).get("conditions") or ()}


def victim(name: str) -> Any:
    """Of a group, only the group's priority lets it go."""
    unit, place = of_unit(name), PODS.index(name)
    priority = HIGH if unit else LOW
    return pod(name, group=unit or None, node=f"n{place}", requests=BIG, priority=priority)


def on_the_loop(work: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A rule that runs on the machine's event loop, which stands still between two rules."""

    @functools.wraps(work)
    def run(machine: Evicting, **given: Any) -> None:
        machine.runner.run(work(machine, **given))

    return run


class Late(NamedTuple):
    """A delete that is still on its way."""

    name: str
    path: str
    body: bytes
    term: int
    after: int
    """The number of marks that had been written or withdrawn."""


class Evicting(RuleBasedStateMachine):
    """One API server, and one process after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.runner, self.executor = asyncio.Runner(), ThreadPoolExecutor(1)
        defaults = Sender.__init__.__kwdefaults__
        assert defaults is not None
        self.patches = ExitStack()
        self.patches.enter_context(mock.patch.dict(defaults, {"attempts": 1}))
        self.patches.enter_context(mock.patch.object(evictions, "RETRY_SECONDS", 0.0))
        self.api = Api()
        self.api.refuse = self.answer
        self.priority = dict.fromkeys(UNITS, LOW)
        self.has_gang = True
        self.denied: set[tuple[str, str]] = set()
        self.away: set[str] = set()
        self.late: list[Late] = []
        self.holds = False
        """The next delete is late."""
        self.is_paused, self.is_enforced = False, True
        self.writes: list[tuple[str, int]] = []
        """Marks written and withdrawn: pod, and number of the term."""
        self.send, self.api.request = self.api.request, self.request  # type: ignore[method-assign]

    @initialize()
    @on_the_loop
    async def the_first_process_begins_to_evict(self) -> None:
        self.stage = Stage(self.executor, self.api, canary())
        members = (pod(f"m{i}", group="gang", requests=BIG) for i in range(len(PODS)))
        self.stage.add(*self.objects(), *(victim(name) for name in PODS), *members)
        await self.stage.settle(steps=0)
        while self.stage.phases() != ["Evicting"]:
            await self.stage.leading.planner.step()
            self.stage._agree()
            await asyncio.sleep(0)

    def objects(self) -> list[Any]:
        """Nodes and PodGroups."""
        groups = [
            gang(name, minimum=len(UNITS[name]), mode="all", priority=priority)
            for name, priority in self.priority.items()
        ]
        nodes = [*self.namespaces(), *(node(f"n{i}") for i in range(len(PODS)))]
        return [*nodes, *groups, *([gang(minimum=len(PODS))] if self.has_gang else [])]

    def namespaces(self) -> list[Any]:
        """That of the pods, with its mode, and that of the pause."""
        annotations = {PAUSED: "upgrade"} if self.is_paused else {}
        pausing = Namespace(ObjectMeta(name=NAMESPACE, annotations=annotations))
        return [space("default", enforced=self.is_enforced), pausing]

    def answer(self, method: str, path: str) -> ApiError | None:
        """What the API server says, which keeps what it lets through."""
        name = path.removesuffix("/status").rpartition("/")[2]
        kind = "plans" if "preemptionplans" in path else "pods" if "/pods/" in path else ""
        if kind in self.away and method != "GET":
            return ApiError(503, "ServiceUnavailable", "away")
        if (method, name) in self.denied:
            return ApiError(403, "Forbidden", "denied")
        if method == "DELETE" and kind == "pods":
            unit, plans = of_unit(name), self.api.plans.values()
            assert not unit or any(f"uid-{unit}" in (each["status"].get("begun") or ()) for each in plans)
        return None

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        """As the API server, or its network."""
        name = path.removesuffix("/status").rpartition("/")[2]
        is_real = (
            "/pods/" in path and not options.get("query") and b"dryRun" not in (options.get("body") or b"")
        )
        if is_real and method == "DELETE" and self.holds:
            self.holds = False
            self.late.append(Late(name, path, options["body"], self.api.terms, len(self.writes)))
            raise ApiError(0, "TimeoutError", "no answer in time")
        before = self.version(name)
        if is_real and method == "PATCH" and name in PODS and b"$patch" not in options["body"]:
            self.check_mark(name)
        answer = await self.send(method, path, **options)
        if is_real and method == "PATCH" and self.version(name) != before:
            self.writes.append((name, self.api.terms))
        return answer

    def check_mark(self, name: str) -> None:
        """A unit is stored as begun before its first pod is marked. A later term replaces marks that are there."""
        there = self.api.of(RUNNING).get(name)
        if there is None or not of_unit(name) or "DisruptionTarget" in types_of(there):
            return
        plans = self.api.plans.values()
        assert any(f"uid-{of_unit(name)}" in (each["status"].get("begun") or ()) for each in plans), name

    def version(self, name: str) -> str | None:
        """The pod's resourceVersion."""
        there = self.api.of(RUNNING).get(name)
        return there["metadata"]["resourceVersion"] if there is not None else None

    # ---- what happens

    @rule()
    def the_next_delete_is_late(self) -> None:
        self.holds = True

    @precondition(lambda self: self.late)
    @rule()
    @on_the_loop
    async def a_late_delete_comes(self) -> None:
        """It is refused if a later term has marked or released the pod. Otherwise it is lost."""
        late = self.late.pop(0)
        if not any(term > late.term for name, term in self.writes[late.after :] if name == late.name):
            return
        refuse, self.api.refuse = self.api.refuse, lambda _method, _path: None
        try:
            with pytest.raises(ApiError, match=r"^40[49] "):
                await self.send("DELETE", late.path, body=late.body)
        finally:
            self.api.refuse = refuse

    @rule(name=st.sampled_from(PODS))
    def somebody_writes_a_pod(self, name: str) -> None:
        there = self.api.of(RUNNING).get(name)
        if there is not None:
            there["metadata"]["resourceVersion"] = self.api.next_version()

    @rule(turns=st.integers(1, 8))
    @on_the_loop
    async def time_passes(self, turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)

    @rule()
    @on_the_loop
    async def the_planner_looks(self) -> None:
        await self.stage.leading.planner.step()
        self.stage._agree()

    @rule(name=st.sampled_from(PODS), method=st.sampled_from(["DELETE", "PATCH", "DELETE dry run"]))
    def a_webhook_refuses(self, name: str, method: str) -> None:
        self.denied ^= {(method, name)}

    @rule(kind=st.sampled_from(["plans", "pods"]))
    def the_api_server_goes_or_comes(self, kind: str) -> None:
        self.away ^= {kind}

    @rule()
    @on_the_loop
    async def the_watch_shows_deletions(self) -> None:
        self.show()

    def show(self) -> None:
        there = self.api.of(RUNNING)
        self.stage.delete(*(pod(name) for name in PODS if name not in there))

    @rule(unit=st.sampled_from(sorted(UNITS)), priority=st.sampled_from([LOW, HIGH]))
    @on_the_loop
    async def a_group_gets_another_priority(self, unit: str, priority: int) -> None:
        self.priority[unit] = priority
        self.stage.add(gang(unit, minimum=len(UNITS[unit]), mode="all", priority=priority))

    @rule()
    @on_the_loop
    async def a_pause_begins_or_ends(self) -> None:
        self.is_paused = not self.is_paused
        self.stage.add(*self.namespaces())

    @rule()
    @on_the_loop
    async def the_mode_changes(self) -> None:
        self.is_enforced = not self.is_enforced
        self.stage.add(*self.namespaces())

    @precondition(lambda self: self.has_gang)
    @rule(seconds=st.sampled_from([2, 61, 400]))
    @on_the_loop
    async def the_clock_moves(self, seconds: int) -> None:
        self.stage.clock += seconds
        self.stage._hear()

    @precondition(lambda self: self.has_gang)
    @rule()
    @on_the_loop
    async def the_preemptor_goes(self) -> None:
        self.end()

    def end(self) -> None:
        self.has_gang = False
        self.stage.delete(gang(minimum=len(PODS)))

    @rule()
    @on_the_loop
    async def the_process_dies(self) -> None:
        leading = self.stage.leading
        await leading.evictions.close()
        await leading.writes.close()
        await leading.telling.status_writes.close()
        self.stage = self.stage.restart()
        self.stage.add(*self.objects(), *(make(Pod, each) for each in list(self.api.of(RUNNING).values())))
        self.stage.list_plans()
        self.stage._hear()
        await self.stage.controller.take_over(self.stage.leading)

    # ---- what must hold

    def teardown(self) -> None:
        try:
            self.settle_and_check()
        finally:
            self.runner.close()
            self.patches.close()
            self.executor.shutdown()

    @on_the_loop
    async def settle_and_check(self) -> None:
        """Everybody answers again, the preemptor goes, and whatever is left to do is done."""
        self.away.clear()
        self.holds = False
        self.is_paused, self.is_enforced = False, True
        self.stage.add(*self.namespaces())
        if self.has_gang:
            self.end()
        for _ in range(AT_REST):
            self.show()
            self.stage.clock += 61
            await self.stage.settle(steps=1)
        await self.stage.close()
        there = self.api.of(RUNNING)
        deletions = Counter(self.api.deleted)
        assert all(count == 1 for count in deletions.values()), deletions
        for unit, pods in UNITS.items():
            remain = [name for name in pods if name in there]
            if 0 < len(remain) < len(pods):
                said = self.api.group_said.get(unit, "")
                assert said.endswith(f"; still there: {', '.join(remain)}"), (unit, remain, said)
        for plan in self.api.plans.values():
            # The process may have died before it wrote a phase. A decision that evicts nothing always has one.
            phase = plan.get("status", {}).get("phase") or plan["spec"]["outcome"]
            assert phase in ("Aborted", "Expired", "Unschedulable", "Observed"), plan
            assert not plan["metadata"].get("finalizers")
        for name in PODS:
            types = types_of(there.get(name, {}))
            assert "DisruptionTarget" not in types or ("PATCH", name) in self.denied, name


TestEvictions = Evicting.TestCase
TestEvictions.settings = settings(max_examples=examples(100), stateful_step_count=40, deadline=None)
