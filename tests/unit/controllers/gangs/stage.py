"""The live path without a control plane: the service over an API server that is a few dictionaries.

A test plays the scheduler (`filter`, `bind`) and the cluster (`add`, `delete`), and moves the planner by `settle`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
import orjson

from api.core import Node, Pod, PodDisruptionBudget, PriorityClass
from api.groups import PodGroup
from controllers.gangs.configuration import PlanningConfiguration
from extender.configuration import ExtenderConfiguration
from extender.service import Service
from extender.wire import filter_decoder, preemption_decoder
from kube.client import ApiClient, ApiError
from kube.reflector import Resource
from runtime.resources import BUDGETS, GROUPS, NODES, PODS, PRIORITY_CLASSES
from runtime.views import Views

__all__ = ["Api", "Stage", "staged"]

KINDS: dict[object, Resource[Any]] = {
    Node: NODES,
    Pod: PODS,
    PodDisruptionBudget: BUDGETS,
    PriorityClass: PRIORITY_CLASSES,
    PodGroup: GROUPS,
}


class Api:
    """What was written, and the plans that are stored."""

    cluster = ""

    def __init__(self) -> None:
        self.plans: dict[str, dict[str, Any]] = {}
        """By name."""
        self.deleted: list[str] = []
        """Names of the pods whose deletion was asked for."""
        self.woken: list[str] = []
        """Names of the pods that got the condition Held=False, which brings them back."""
        self.nominated: dict[str, str] = {}
        self.said: dict[str, str] = {}
        """By pod: why it is held."""
        self.group_said: dict[str, str] = {}
        """By PodGroup: the message of its condition."""
        self.refuse: Callable[[str, str], ApiError | None] = lambda _method, _path: None

    async def request(self, method: str, path: str, *, body: bytes | None = None, **_: object) -> bytes:
        """As ApiClient."""
        await asyncio.sleep(0)
        if error := self.refuse(method, path):
            raise error
        value = orjson.loads(body) if body else {}
        name = path.removesuffix("/status").rpartition("/")[2]
        if "preemptionplans" in path:
            return self._plans(method, path, name, value)
        if "/pods/" in path and method == "DELETE":
            self.deleted.append(name)
        elif "/pods/" in path:
            self._pod_status(name, value["status"])
        elif "/podgroups/" in path:
            self.group_said[name] = value["status"]["conditions"][-1]["message"]
        return b"{}"

    def _plans(self, method: str, path: str, name: str, value: dict[str, Any]) -> bytes:
        match method:
            case "GET":
                return orjson.dumps({"metadata": {}, "items": list(self.plans.values())})
            case "POST":
                name = value["metadata"]["name"]
                if name in self.plans:
                    raise ApiError(409, "AlreadyExists", name)
                value["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
                self.plans[name] = value
            case _ if name not in self.plans:
                raise ApiError(404, "NotFound", name)
            case "PATCH":
                self.plans[name]["status"] = value["status"]
            case _:
                del self.plans[name]
        return b"{}"

    def _pod_status(self, name: str, status: dict[str, Any]) -> None:
        for condition in status.get("conditions", ()):
            if condition["type"] == "reprieve.dev/Held":
                if condition["status"] == "False":
                    self.woken.append(name)
                else:
                    self.said[name] = condition["message"]
        if "nominatedNodeName" in status:
            self.nominated[name] = status["nominatedNodeName"]


class Stage:
    """One process of reprieve; `restart` is another one at the same API server."""

    def __init__(self, executor: ThreadPoolExecutor, api: Api) -> None:
        self.api = api
        self.clock = 1000.0
        self._executor = executor
        client = cast(ApiClient, api)
        configuration, planning = ExtenderConfiguration(), PlanningConfiguration()
        views = Views(client)
        self.service = Service(configuration, planning, client, views, executor)
        self.planner, self.mirror = self.service.planner, self.service.mirror
        self.planner.now = self.service.world.now = lambda: self.clock
        self._views = {view.kind: view for view in views}
        for view in views:
            view.replaced(set(), "")

    def silence(self, seconds: float) -> None:
        """The API server was last heard so long ago."""
        for view in self._views.values():
            view._reflector._heard = view._reflector._clock.monotonic() - seconds

    def restart(self) -> Stage:
        """A new process, whose mirror is still empty."""
        return Stage(self._executor, self.api)

    def add(self, *objects: Any) -> None:
        """Objects come, or change."""
        for each in objects:
            self._views[KINDS[type(each)].kind].upsert(each, listed=True)

    def delete(self, *objects: Any) -> None:
        """Objects go."""
        for each in objects:
            self._views[KINDS[type(each)].kind].delete(each.metadata)

    def filter(self, pod: Pod, *nodes: str) -> list[str]:
        """The nodes that are left to the pod, as the scheduler asks for them."""
        body = msgspec.json.encode({"Pod": pod, "NodeNames": nodes})
        names: list[str] = orjson.loads(self.service.verbs.filter(filter_decoder.decode(body)))["NodeNames"]
        return names

    def preempt(self, pod: Pod, **victims: list[str]) -> list[str]:
        """The nodes on which the scheduler may evict; `victims` are UIDs by node."""
        offered = {node: {"Pods": [{"UID": uid} for uid in uids]} for node, uids in victims.items()}
        body = msgspec.json.encode({"Pod": pod, "NodeNameToMetaVictims": offered})
        answer = orjson.loads(self.service.verbs.preempt(preemption_decoder.decode(body)))
        return list(answer["NodeNameToMetaVictims"])

    async def settle(self, steps: int = 12) -> None:
        """Let the planner and the evictor do whatever they would do now."""
        for _ in range(steps):
            await self.planner.step()
            for _ in range(12):
                await asyncio.sleep(0)

    def phases(self) -> list[str]:
        """Of the stored plans."""
        return [plan.get("status", {}).get("phase", "") for plan in self.api.plans.values()]


@asynccontextmanager
async def staged(*objects: Any) -> AsyncIterator[Stage]:
    """A stage with these objects on it."""
    with ThreadPoolExecutor(1) as executor:
        stage = Stage(executor, Api())
        stage.add(*objects)
        yield stage
        await stage.planner.close()
        await stage.service.writer.close()
