"""Queues and Workloads of one test on a real API server. Names of cluster-scoped objects begin with the test's own."""

from __future__ import annotations

import time
import urllib.request
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from api.times import rfc3339
from hack.controlplane.client import ApiError, Json
from hack.controlplane.components import QUOTA_FOLDERS
from hack.controlplane.plane import ControlPlane
from tests.e2e.support import condition, wait_for
from tests.kit.clock import PATIENCE_SECONDS

__all__ = ["KUEUE", "QUOTA", "QuotaSandbox"]

KUEUE = "kueue.x-k8s.io/v1beta2"
QUOTA: Mapping[str, Any] = {
    "reprieve": True,
    "reprieve_settings": {
        "quota": {"mode": "Enforce", "waitingMessageSeconds": 1, "waitingReasonSeconds": 0.01}
    },
    "manifests": QUOTA_FOLDERS,
}
"""Options of a plane whose reprieve admits Workloads."""
REST_SECONDS = 1.5


class QuotaSandbox:
    """A namespace, and queues over one flavor of CPUs."""

    def __init__(self, plane: ControlPlane, name: str, flavor: Json | None = None) -> None:
        """`flavor`: the spec of the flavor."""
        self.plane, self.client = plane, plane.client
        self.name = f"{name}-{uuid.uuid4().hex[:5]}"
        self.flavor = f"{self.name}-default"
        self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name}})
        self._create("ResourceFlavor", self.flavor, flavor or {})

    # ---- objects

    def queue(
        self,
        name: str,
        cpus: int,
        *,
        cohort: str = "",
        borrowing: int | None = None,
        preemption: Json | None = None,
        **spec: Any,
    ) -> None:
        """A ClusterQueue with `cpus` CPUs, and a LocalQueue of the same name."""
        self.cluster_queue(name, cpus, cohort=cohort, borrowing=borrowing, preemption=preemption, **spec)
        self.local_queue(name, name)

    def cluster_queue(
        self,
        name: str,
        cpus: int,
        *,
        cohort: str = "",
        borrowing: int | None = None,
        preemption: Json | None = None,
        annotations: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> None:
        quota: Json = {"name": "cpu", "nominalQuota": cpus}
        if borrowing is not None:
            quota["borrowingLimit"] = borrowing
        body: Json = {
            "resourceGroups": [
                {"coveredResources": ["cpu"], "flavors": [{"name": self.flavor, "resources": [quota]}]}
            ],
            "namespaceSelector": {},
            "preemption": preemption or {},
            **spec,
        }
        if cohort:
            body["cohortName"] = self.of(cohort)
        self._create("ClusterQueue", self.of(name), body, annotations=dict(annotations or {}))

    def cohort(self, name: str) -> None:
        self._create("Cohort", self.of(name), {})

    def local_queue(self, name: str, cluster_queue: str) -> None:
        self._create("LocalQueue", name, {"clusterQueue": self.of(cluster_queue)}, namespaced=True)

    def check(self, name: str) -> str:
        """An AdmissionCheck that is active. Returns its name."""
        full = self.of(name)
        self._create("AdmissionCheck", full, {"controllerName": "example.com/tests"})
        self.patch_status("AdmissionCheck", full, {"conditions": [_condition("Active", True, "Ready")]})
        return full

    def workload(
        self,
        name: str,
        queue: str,
        cpus: int | str,
        *,
        pods: int = 1,
        priority: int = 0,
        gates: Sequence[str] = (),
        annotations: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> str:
        """A Workload whose pods ask for `cpus` CPUs each. Returns its name."""
        container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpus}}}
        body: Json = {
            "queueName": queue,
            "priority": priority,
            "podSets": [{"name": "main", "count": pods, "template": {"spec": {"containers": [container]}}}],
            **spec,
        }
        if gates:
            body["preemptionGates"] = [{"name": gate} for gate in gates]
        self._create("Workload", name, body, namespaced=True, annotations=dict(annotations or {}))
        return name

    def of(self, name: str) -> str:
        """The full name of a cluster-scoped object of this test."""
        return f"{self.name}-{name}"

    # ---- what others do

    def patch_spec(self, kind: str, name: str, spec: Json, *, namespaced: bool = False) -> None:
        self.client.patch(KUEUE, kind, name, {"spec": spec}, self.name if namespaced else None)

    def patch_status(self, kind: str, name: str, status: Json, *, namespaced: bool = False) -> None:
        self.client.patch(KUEUE, kind, name, {"status": status}, self.name if namespaced else None, "status")

    def change_status(self, name: str, change: Callable[[Json], Json | None]) -> None:
        """Write what the function makes of a Workload's status, as a controller that updates does."""

        def attempt() -> bool:
            found = self.get(name)
            status = change(found.get("status", {}))
            if status is None:
                return True
            body = {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}, "status": status}
            try:
                self.client.patch(KUEUE, "Workload", name, body, self.name, "status")
            except ApiError as error:
                if error.status != 409:
                    raise
                return False
            return True

        wait_for(attempt)

    def end(self, name: str) -> None:
        """The maker of an evicted Workload ends it."""
        self.set_conditions(name, _condition("QuotaReserved", False, "Pending"), admission=None)

    def finish(self, name: str) -> None:
        self.set_conditions(name, _condition("Finished", True, "Succeeded"))

    def set_conditions(self, name: str, *conditions: Json, **status: Any) -> None:
        def change(before: Json) -> Json:
            types = {each["type"] for each in conditions}
            others = [each for each in before.get("conditions", []) if each["type"] not in types]
            return {"conditions": [*others, *conditions], **status}

        self.change_status(name, change)

    def set_since(self, name: str, kind: str, ago: float) -> None:
        """Set the transition time of a condition back."""

        def change(before: Json) -> Json:
            conditions = [
                {**each, "lastTransitionTime": rfc3339(time.time() - ago)} if each["type"] == kind else each
                for each in before["conditions"]
            ]
            return {"conditions": conditions}

        self.change_status(name, change)

    def set_check(self, name: str, check: str, state: str, **fields: Any) -> None:
        """The controller of a check writes its state, with an update."""

        def change(before: Json) -> Json | None:
            checks = [dict(each) for each in before.get("admissionChecks", [])]
            for each in checks:
                if each["name"] == check:
                    each.update(
                        {"message": "", **fields}, state=state, lastTransitionTime=rfc3339(time.time())
                    )
            return {"admissionChecks": checks}

        self.change_status(name, change)

    def forbid_evictions(self) -> Callable[[], None]:
        """The API server refuses to write that a Workload is evicted. Returns what ends that."""
        api, name = "admissionregistration.k8s.io/v1", self.of("no-evictions")
        rule = {
            "apiGroups": ["kueue.x-k8s.io"],
            "apiVersions": ["*"],
            "operations": ["UPDATE"],
            "resources": ["workloads/status"],
        }
        evicts = "object.?status.conditions.orValue([]).exists(c, c.type == 'Evicted' && c.status == 'True')"
        policy = {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": f"!{evicts}"}],
        }
        here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.name}}}
        binding = {"policyName": name, "validationActions": ["Deny"], "matchResources": here}
        for kind, spec in (("Policy", policy), ("PolicyBinding", binding)):
            kind = f"ValidatingAdmission{kind}"
            self.client.create({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})
        probe = self.workload("probe", "nowhere", 1)

        def is_in_force() -> bool:
            try:
                self.set_conditions(probe, _condition("Evicted", True, "Probe"))
            except ApiError as error:
                return error.status == 422
            self.set_conditions(probe, _condition("Evicted", False, "Probe"))
            return False

        wait_for(is_in_force)
        return lambda: self.client.delete(api, "ValidatingAdmissionPolicyBinding", name)

    def open_gate(self, name: str, gate: str) -> None:
        state = {"name": gate, "position": "Open", "lastTransitionTime": rfc3339(time.time())}
        self.change_status(name, lambda _: {"preemptionGates": [state]})

    # ---- what is seen

    def get(self, name: str) -> Json:
        return self.client.get(KUEUE, "Workload", name, self.name)

    def conditions(self, name: str) -> dict[str, tuple[str, str]]:
        """Status and reason of each condition of a Workload."""
        found = self.get(name).get("status", {}).get("conditions", [])
        return {each["type"]: (each["status"], each["reason"]) for each in found}

    def is_true(self, name: str, kind: str) -> bool:
        return self.conditions(name).get(kind, ("", ""))[0] == "True"

    def until(self, name: str, kind: str, status: str = "True", reason: str | None = None) -> Json:
        """The condition of a Workload, once it is so."""

        def look() -> Json | None:
            found = condition(self.get(name), kind)
            if found is None or found["status"] != status or reason not in (None, found["reason"]):
                return None
            return found

        return wait_for(
            look, PATIENCE_SECONDS, lambda: f"{name}: {kind} is not {status} {reason}: {self.report()}"
        )

    def until_admitted(self, *names: str) -> None:
        for name in names:
            self.until(name, "Admitted")

    def admitted(self) -> set[str]:
        return {name for name in self.names() if self.is_true(name, "Admitted")}

    def names(self) -> list[str]:
        return sorted(each["metadata"]["name"] for each in self.client.list(KUEUE, "Workload", self.name))

    def rest(self) -> None:
        """Nothing has been written for a while."""
        before: list[Json] = []

        def is_quiet() -> bool:
            nonlocal before
            found = self.client.list(KUEUE, "Workload", self.name)
            if found == before:
                return True
            before = found
            time.sleep(REST_SECONDS)
            return False

        wait_for(is_quiet)

    def events(self, name: str) -> list[str]:
        """Reasons of the events about a Workload."""
        found = self.client.list("events.k8s.io/v1", "Event", self.name)
        return [each["reason"] for each in found if each["regarding"]["name"] == name]

    def metrics(self) -> list[str]:
        """The lines of the metrics of reprieve."""
        with urllib.request.urlopen(f"{self.plane.ops_url}/metrics") as answer:  # noqa: S310  # our own URL
            return str(answer.read().decode()).splitlines()

    def report(self) -> str:
        return "; ".join(f"{name}: {self.conditions(name)}" for name in self.names())

    def _create(
        self,
        kind: str,
        name: str,
        spec: Json,
        *,
        namespaced: bool = False,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        meta: Json = {"name": name, "annotations": annotations or {}}
        if namespaced:
            meta["namespace"] = self.name
        self.client.create({"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": spec})


def _condition(kind: str, status: bool, reason: str) -> Json:
    return {
        "type": kind,
        "status": str(status),
        "reason": reason,
        "message": "",
        "lastTransitionTime": rfc3339(time.time()),
    }
