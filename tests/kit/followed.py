"""A cluster that the page follows, without an API server: views that documents are put in, and lists of the same."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from api.clock import Clock
from kube.errors import ApiError
from kube.reflector import Resource
from runtime.mirror.views import View, Views
from schema.defaults.filling import filled
from web.sources.live import Cluster

__all__ = ["Followed", "settled", "with_counted_budgets"]

Object = dict[str, Any]

LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/reprieve-system/leases/reprieve"


class Followed:
    """Its objects, as an API server has them."""

    cluster = ""

    def __init__(self, objects: list[Object], clock: Clock) -> None:
        self.objects = copy.deepcopy(objects)
        self.refuse: set[str] = set()
        """Plurals that nobody may list."""
        self.views = Views(self, clock=clock, optional=True)  # type: ignore[arg-type]
        self.source = Cluster(self, clock, self.views)  # type: ignore[arg-type]

    async def fill(self) -> None:
        """Put all objects into the views, as lists would, and read the Lease."""
        for each in self.objects:
            self.put(each)
        listed_with(self.views)
        await self.source._reader.read()
        await settled()

    def put(self, item: Object) -> None:
        """A watch brings this state."""
        view = self._view_of(item)
        if view is None:
            return
        thing = msgspec.convert(item, view.resource.type)
        filled(thing)
        view.upsert(thing, listed=False)

    def drop(self, item: Object) -> None:
        """A watch says that the object is gone."""
        view = self._view_of(item)
        if view is not None:
            view.delete(msgspec.convert(item, view.resource.type).metadata)

    def _view_of(self, item: Object) -> View[Any] | None:
        version, kind = item["apiVersion"], item["kind"]
        for view in self.views:
            if (_version(view.resource), _kind(view.resource)) == (version, kind):
                return view
        return None

    # ---- what asks

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        """The answer to a GET of the Lease."""
        assert method == "GET"
        assert path == LEASES
        del options
        for each in self.objects:
            if each["kind"] == "Lease":
                return json.dumps(each).encode()
        raise ApiError(404, "NotFound", "there is no Lease")

    async def ask(self, path: str, query: Mapping[str, str]) -> bytes:
        """The list of a namespace or of all, in pages of two objects; the Lease; or which kinds a version has."""
        if path == LEASES:
            return await self.request("GET", path)
        root, _, rest = path.partition("/namespaces/")
        namespace, _, plural = rest.partition("/")
        if not rest:
            served = self._served(path)
            if served:
                return json.dumps({"resources": served}).encode()
            root, _, plural = path.rpartition("/")
        if plural in self.refuse:
            raise ApiError(403, "Forbidden", f"{plural} is forbidden")
        version = root.removeprefix("/apis/").removeprefix("/api/")
        items = [
            each
            for each in self.objects
            if each["apiVersion"] == version
            and _plural(each) == plural
            and namespace in ("", each["metadata"].get("namespace"))
            and ("fieldSelector" not in query or each.get("reason") == "FailedCreate")
        ]
        if not rest and not items:
            raise ApiError(404, "NotFound", f"{path} is not served")
        begin = int(query.get("continue") or 0)
        more = str(begin + 2) if begin + 2 < len(items) else ""
        found = {
            "apiVersion": version,
            "kind": "List",
            "metadata": {"resourceVersion": "1", "continue": more},
            "items": items[begin : begin + 2],
        }
        return json.dumps(found).encode()

    def _served(self, path: str) -> list[Object]:
        """The kinds of this version that have objects."""
        version = path.removeprefix("/apis/").removeprefix("/api/")
        found = {each["kind"]: each for each in self.objects if each["apiVersion"] == version}
        return [
            {"name": _plural(each), "kind": kind, "namespaced": "namespace" in each["metadata"]}
            for kind, each in found.items()
        ]


def _plural(item: Object) -> str:
    return f"{item['kind'].lower()}s"


def listed_with(views: Views) -> None:
    """Every list has ended, with what is there."""
    for view in views:
        view.replaced(set(view._held), "")


async def settled() -> None:
    """Views tell of changes in the next turn of the loop."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def _version(resource: Resource[Any]) -> str:
    return resource.path.removeprefix("/apis/").removeprefix("/api/").rpartition("/")[0]


def _kind(resource: Resource[Any]) -> str:
    plural = resource.path.rpartition("/")[2]
    return KINDS.get(plural, "")


KINDS: Final = {
    "pods": "Pod",
    "nodes": "Node",
    "namespaces": "Namespace",
    "podgroups": "PodGroup",
    "poddisruptionbudgets": "PodDisruptionBudget",
    "jobs": "Job",
    "preemptionplans": "PreemptionPlan",
    "clusterpreemptionplans": "ClusterPreemptionPlan",
    "preemptionreports": "PreemptionReport",
    "workloads": "Workload",
    "localqueues": "LocalQueue",
    "clusterqueues": "ClusterQueue",
    "cohorts": "Cohort",
    "resourceflavors": "ResourceFlavor",
    "priorityclasses": "PriorityClass",
}


def with_counted_budgets(objects: list[Object]) -> list[Object]:
    """The same, when the API server's controller has counted for every budget: the page does not count itself."""
    found = copy.deepcopy(objects)
    for each in found:
        if each["kind"] == "PodDisruptionBudget":
            each["metadata"]["generation"] = 1
            each["status"] = {"observedGeneration": 1, "disruptionsAllowed": 0, "expectedPods": 1}
    return found
