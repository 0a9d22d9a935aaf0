"""The live path without a control plane: the service over an API server that is a few dictionaries.

A test plays the scheduler (`filter`, `bind`) and the cluster (`add`, `delete`), and moves the planner by `settle`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import msgspec
import orjson

from api.core import Namespace, Node, Pod, PodDisruptionBudget, PriorityClass
from api.foreign_groups import CoschedulingPodGroup, NativePodGroup, VolcanoPodGroup
from api.groups import SCHEDULED, PodGroup
from api.owner_annotations import ByOwner
from api.plans import PreemptionPlan
from controllers.gangs.configuration import GroupsConfiguration, PlanningConfiguration
from controllers.gangs.controller import GangController
from controllers.gangs.leading import Leading
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.settings import GatesMode
from extender.configuration import ExtenderConfiguration
from extender.service import ExtenderService
from extender.verbs import Verbs
from extender.wire import filter_decoder, preemption_decoder
from kube.client import ApiClient
from kube.errors import ApiError
from kube.reflector import Resource
from runtime.mirror.resources import (
    BUDGETS,
    COSCHEDULING_GROUPS,
    GROUPS,
    NAMESPACES,
    NATIVE_GROUPS,
    NODES,
    OWNER_RESOURCES,
    PODS,
    PRIORITY_CLASSES,
    VOLCANO_GROUPS,
)
from runtime.mirror.views import Views
from runtime.mirror.watched_admission import (
    MUTATING_BINDINGS,
    MUTATING_POLICIES,
    MUTATING_WEBHOOKS,
    VALIDATING_BINDINGS,
    VALIDATING_POLICIES,
    VALIDATING_WEBHOOKS,
)
from runtime.terms.term import Term
from tests.kit import apiserver
from tests.twins.gangs.looking import seen

__all__ = ["Api", "Mirrored", "Stage", "staged"]

ADMISSION: tuple[Resource[Any], ...] = (
    MUTATING_BINDINGS,
    MUTATING_POLICIES,
    MUTATING_WEBHOOKS,
    VALIDATING_BINDINGS,
    VALIDATING_POLICIES,
    VALIDATING_WEBHOOKS,
)
PLANS = "/apis/reprieve.dev/v1alpha1/preemptionplans"
KINDS: dict[object, Resource[Any]] = {
    Node: NODES,
    Pod: PODS,
    PodDisruptionBudget: BUDGETS,
    PriorityClass: PRIORITY_CLASSES,
    PodGroup: GROUPS,
    CoschedulingPodGroup: COSCHEDULING_GROUPS,
    NativePodGroup: NATIVE_GROUPS,
    VolcanoPodGroup: VOLCANO_GROUPS,
    Namespace: NAMESPACES,
    **{each.type: each for each in OWNER_RESOURCES},
    **{each.type: each for each in ADMISSION},
}


NOMINATION = "/status/nominatedNodeName"


class Api(apiserver.Api):
    """An API server that also keeps what was written by what it is about."""

    def __init__(self) -> None:
        super().__init__()
        self.plans = self.of(PLANS)
        """By name."""
        self.terms = 0
        """How many processes have had a term."""
        self.deleted: list[str] = []
        """Names of the pods whose deletion was asked for."""
        self.woken: list[str] = []
        """Names of the pods that got the condition Held=False, which brings them back."""
        self.ungated: list[str] = []
        """Names of the pods whose scheduling gate was removed, as often as that was asked for."""
        self.echo: Callable[[str], None] = lambda _name: None
        """Called with the name of each pod whose status we write: the watch shows it."""
        self.pulsed: list[str] = []
        """Names of the pods whose nomination was withdrawn, which brings parked pods back."""
        self.said: dict[str, str] = {}
        """By pod: why it is held."""
        self.group_said: dict[str, str] = {}
        """By PodGroup: the message of its condition PodGroupInitiallyScheduled or DisruptionTarget."""
        self.waits: dict[str, list[tuple[str, str]]] = {}
        """By PodGroup: each reason and message of its condition reprieve.dev/Scheduled."""
        self.reasons: dict[str, str] = {}
        """By PodGroup, and by pod that is held: the reason of that condition."""

    @property
    def nominated(self) -> dict[str, str]:
        """Pods with a nomination by name: its node."""
        pods = self.of(PODS.path)
        found = {name: each.get("status", {}).get("nominatedNodeName") for name, each in pods.items()}
        return {name: node for name, node in found.items() if node}

    def nominate(self, name: str, node: str) -> None:
        """Somebody nominates the pod."""
        self.of(PODS.path)[name].setdefault("status", {})["nominatedNodeName"] = node

    def wrote(self, written: apiserver.Written) -> None:
        """Keep it."""
        super().wrote(written)
        method, path, body = written
        name = path.removesuffix("/status").rpartition("/")[2]
        if "/pods/" in path and method == "DELETE":
            self.deleted.append(name)
        elif "/pods/" in path and isinstance(body, list):
            self.pulsed.append(name)
            self.echo(name)
        elif "/pods/" in path and path.endswith("/status"):
            self._pod_status(name, body["status"])
            self.echo(name)
        elif "/pods/" in path:
            self.ungated.append(name)
            self.echo(name)
        elif "/podgroups/" in path:
            self._group_status(name, body["status"])

    def _group_status(self, name: str, status: dict[str, Any]) -> None:
        (condition,) = status["conditions"]
        if condition["type"] == SCHEDULED:
            self.waits.setdefault(name, []).append((condition["reason"], condition["message"]))
        else:
            self.group_said[name] = condition["message"]
            self.reasons[name] = condition["reason"]

    def _pod_status(self, name: str, status: dict[str, Any]) -> None:
        for condition in status.get("conditions", ()):
            if condition["type"] == "reprieve.dev/Held":
                if condition["status"] == "False":
                    self.woken.append(name)
                else:
                    self.said[name] = condition["message"]
                    self.reasons[name] = condition["reason"]


class Mirrored:
    """The controller of one process, and what its views show."""

    def __init__(
        self,
        executor: ThreadPoolExecutor,
        api: Api,
        configuration: PlanningConfiguration | None = None,
        by_owner: ByOwner = "Victims",
    ) -> None:
        self.api, self._by_owner = api, by_owner
        self._executor, self._configuration = executor, configuration or PlanningConfiguration(mode="Enforce")
        self._silent = 0.0
        client = cast(ApiClient, api)
        views = self.views = Views(client, clock=api.clock)
        groups = GroupsConfiguration(by_owner=by_owner)
        self.controller = GangController(
            self._configuration, client, views, executor, api.clock, groups=groups
        )
        api.terms += 1
        self._views = {view.kind: view for view in views}

    def _begun(self) -> None:
        """The watches begin."""
        for view in self._views.values():
            view.replaced(set(), "")
        self.know_admission(False)
        self.api.echo = self._echo

    @property
    def clock(self) -> float:
        """The monotonic time."""
        return self.api.clock.monotonic()

    @clock.setter
    def clock(self, now: float) -> None:
        self.api.clock.advance(now - self.api.clock.monotonic())

    @property
    def reserved(self) -> int:
        """Groups with reserved room."""
        return len(self.controller.known.promises.reservations)

    def silence(self, seconds: float) -> None:
        """How long ago the API server was last heard; 0: it is heard all the time."""
        self._silent = seconds
        self._hear()

    def _hear(self) -> None:
        for view in self._views.values():
            view._reflector._heard = self.clock - self._silent

    def know_admission(self, known: bool = True) -> None:
        """Whether there is a watch of webhooks and policies. Without one, the API server is asked about each pod."""
        for each in ADMISSION:
            if (view := self._views.get(each.kind)) is not None:  # an observer has none
                view._reflector._interrupted = None if known else float("-inf")

    def refuse(self, kind: type, status: int) -> None:
        """The API server has just answered a list of this kind with the status: it does not serve it, or forbids it."""
        reflector = self._views[KINDS[kind].kind]._reflector
        reflector.refusal = ApiError(status, "", "refused")
        reflector.refusals.since = self.clock

    def asked(self, kind: type) -> bool:
        """Whether somebody has asked for another list of this kind, which was refused."""
        return self._views[KINDS[kind].kind]._reflector.refusals._asked.is_set()

    def add(self, *objects: Any) -> None:
        """Objects come, or change."""
        for each in objects:
            resource = KINDS[type(each)]
            stored = msgspec.to_builtins(each)
            self.api.put(resource.path, stored)
            self._views[resource.kind].upsert(msgspec.convert(stored, type(each)), listed=True)

    def _echo(self, name: str) -> None:
        stored = self.api.of(PODS.path).get(name)
        if stored is not None and not stored["metadata"].get("deletionTimestamp"):
            self._views[PODS.kind].upsert(msgspec.convert(stored, Pod), listed=True)

    def delete(self, *objects: Any) -> None:
        """Objects go."""
        for each in objects:
            resource = KINDS[type(each)]
            self.api.of(resource.path).pop(each.metadata.name, None)
            last = msgspec.structs.replace(each.metadata, resource_version=self.api.next_version())
            self._views[resource.kind].delete(last)

    def list_plans(self) -> None:
        """The watch begins with what is stored."""
        for plan in self.api.plans.values():
            self._views["preemptionplans"].upsert(msgspec.convert(plan, PreemptionPlan), listed=True)

    def phases(self) -> list[str]:
        """Of the stored plans."""
        return [plan.get("status", {}).get("phase", "") for plan in self.api.plans.values()]


class Stage(Mirrored):
    """One process of reprieve that leads; `restart` is another one at the same API server."""

    def __init__(
        self,
        executor: ThreadPoolExecutor,
        api: Api,
        configuration: PlanningConfiguration | None = None,
        by_owner: ByOwner = "Victims",
    ) -> None:
        super().__init__(executor, api, configuration, by_owner)
        self.agrees = True
        """The scheduler offers every member what its plan needs."""
        self.compares = True
        """Each look is compared with a new one. That takes half of the time."""
        verbs = ExtenderService(ExtenderConfiguration(), self.controller, api.clock).verbs
        assert isinstance(verbs, Verbs)
        self.verbs: Verbs = verbs
        self.leading: Leading = self.controller.begin(Term(api.terms, api.clock, holder="stage"))
        self.wait_for_attempts(0.0)
        self._begun()

    def wait_for_attempts(self, seconds: float) -> None:
        """How long a plan that evicts waits for the scheduler to try every member once. At first it does not wait."""
        gangs = self.leading.gangs
        gangs._settings = replace(gangs._settings, untried_seconds=seconds)

    def restart(self) -> Stage:
        """A new process, whose mirror is still empty."""
        return Stage(self._executor, self.api, self._configuration, self._by_owner)

    def filter(self, pod: Pod, *nodes: str) -> list[str]:
        """The nodes that are left to the pod, as the scheduler asks for them."""
        body = msgspec.json.encode({"Pod": pod, "NodeNames": nodes})
        names: list[str] = orjson.loads(self.verbs.filter(filter_decoder.decode(body)))["NodeNames"]
        return names

    def preempt(self, pod: Pod, **victims: list[str]) -> list[str]:
        """The nodes on which the scheduler may evict; `victims` are UIDs by node."""
        offered = {node: {"Pods": [{"UID": uid} for uid in uids]} for node, uids in victims.items()}
        body = msgspec.json.encode({"Pod": pod, "NodeNameToMetaVictims": offered})
        answer = orjson.loads(self.verbs.preempt(preemption_decoder.decode(body)))
        return list(answer["NodeNameToMetaVictims"])

    async def settle(self, steps: int = 12) -> None:
        """Let the planner and the evictor do whatever they would do now."""
        self._hear()
        if self.controller.leading is None:
            self.list_plans()
            await self.controller.take_over(self.leading)
        for _ in range(steps):
            await self.leading.planner.step()
            await self._remove_gates()
            if self.compares:
                self._look_anew()
            self._write_group_status()
            await self.leading.waking.asking.step()
            await self.leading.strays.step()
            await self.leading.undoing.step()
            if self.agrees:
                self._agree()
            for _ in range(12):
                await asyncio.sleep(0)

    async def written(self) -> None:
        """Let what waits be written. Nothing of the API server may hang."""
        for _ in range(100):
            if not len(self.leading.writes) + len(self.leading.telling.status_writes):
                return
            await asyncio.sleep(0)
        raise AssertionError("something is still being written")

    async def _remove_gates(self) -> None:
        """Look at every group whose turn it is. Changes need not be waited for."""
        gates = self.leading.gates
        gates._look_at_all()
        while (group := gates._queue.take()) is not None:
            await gates._work(group)

    def _write_group_status(self) -> None:
        """Look at every PodGroup whose turn it is. Changes need not be waited for."""
        status = self.leading.telling.status
        while (group := status._queue.take()) is not None:
            status._look(group)

    def _look_anew(self) -> None:
        """What is kept of looks and proofs must be what a new look sees."""
        leading, known = self.leading, self.controller.known
        roster, reservations, gated = known.mirror.roster, known.promises.reservations, known.waiters.gated
        for gang in leading.gangs:
            plan = gang.life.plan
            if plan is None:
                continue
            kept = leading.planner._following._looks.look(plan, trusted=True)
            fresh = seen(plan, roster, reservations, leading.evidence, gated)
            # What a look at a steered plan sees besides is not kept.
            besides = kept.by_name()
            assert kept == replace(fresh, **besides)
            assert list(kept.proofs) == list(fresh.proofs)

    def _agree(self) -> None:
        """The scheduler shows that each planned member fits on its node once the plan's victims are gone."""
        pods = {each["metadata"]["uid"]: each for each in self.api.of(PODS.path).values()}
        evidence = self.leading.evidence
        for gang in self.leading.gangs:
            plan = gang.life.plan
            if plan is None or plan.phase != "Planned":
                continue
            if plan.is_native:
                self._agree_at_once(plan, pods)
                continue
            for member in plan.members.values():
                if member.uid not in pods:
                    continue
                pod = msgspec.convert(pods[member.uid], Pod)
                gone = {v.uid for each in plan.spec.victims for v in each.pods if v.node == member.node}
                if gone:
                    evidence.preempt_called(pod, {member.node: frozenset(gone)})
                else:
                    evidence.filter_called(pod, [member.node])

    def _agree_at_once(self, plan: ActivePlan, pods: dict[str, Any]) -> None:
        """Of a gang of its own kind the scheduler presents one member, with all pods of lower priority gone."""
        first = next((uid for uid in plan.members if uid in pods), None)
        if first is not None:
            nodes = sorted({each.node for each in plan.members.values()})
            self.leading.evidence.filter_called(msgspec.convert(pods[first], Pod), nodes)

    async def close(self) -> None:
        """The process ends."""
        await self.controller.step_down(self.leading)


@asynccontextmanager
async def staged(
    *objects: Any,
    gates: GatesMode = "Gathering",
    configuration: PlanningConfiguration | None = None,
    by_owner: ByOwner = "Victims",
) -> AsyncIterator[Stage]:
    """A stage with these objects on it. reprieve enforces; `gates` is the rest of the configuration, if there
    is no other one."""
    with ThreadPoolExecutor(1) as executor:
        stage = Stage(
            executor, Api(), configuration or PlanningConfiguration(mode="Enforce", gates=gates), by_owner
        )
        stage.add(*objects)
        yield stage
        await stage.close()
