"""PodGroups of one test in queues, with a node on which their pods run."""

from __future__ import annotations

from typing import Any, Final

from hack.controlplane import objects
from hack.controlplane.client import Json
from tests.e2e.job_sandbox import QUEUE_NAME, JobSandbox
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import wait_for

__all__ = ["OURS", "QUEUE_NAME", "GroupSandbox"]

OURS: Final = "reprieve.dev/v1alpha1"
GATES: Final = [{"name": "reprieve.dev/gang"}, {"name": "kueue.x-k8s.io/admission"}]
"""As the webhook adds them."""


class GroupSandbox(JobSandbox):
    """With PodGroups in place of Jobs."""

    def group(self, name: str, queue: str, min_count: int, **group: Any) -> None:
        body = objects.pod_group(name, self.name, min_count=min_count, **group)
        body["metadata"]["labels"] = {QUEUE_NAME: queue}
        self.client.create(body)

    def member(self, group: str, name: str, *, gates: bool = True, **pod: Any) -> str:
        spec: Any = {"schedulingGates": GATES} if gates else {}
        self.client.create(objects.pod(name, self.name, group=group, **spec, **pod))
        return name

    def members(self, group: str, count: int, **pod: Any) -> list[str]:
        return [self.member(group, f"{group}-{number}", **pod) for number in range(count)]

    def member_pods(self, group: str) -> dict[str, Json]:
        pods = self.client.list("v1", "Pod", self.name)
        found = [
            each for each in pods if each["metadata"].get("labels", {}).get("reprieve.dev/pod-group") == group
        ]
        return {each["metadata"]["name"]: each for each in found}

    def bound(self, group: str) -> list[str]:
        return sorted(name for name, each in self.member_pods(group).items() if each["spec"].get("nodeName"))

    def until_bound(self, group: str, names: list[str]) -> None:
        wait_for(lambda: self.bound(group) == names, what=lambda: f"{self.bound(group)}, not {names}")

    def group_workload(self, group: str) -> str:
        """The name of the group's Workload."""

        def look() -> str | None:
            for each in self.client.list(KUEUE, "Workload", self.name):
                owners = each["metadata"].get("ownerReferences", [])
                if any((owner["kind"], owner["name"]) == ("PodGroup", group) for owner in owners):
                    return str(each["metadata"]["name"])
            return None

        return wait_for(look, what=f"PodGroup {group} has no Workload")

    def pod_condition(self, name: str, kind: str) -> Json:
        pod = self.client.get("v1", "Pod", name, self.name)
        found = [each for each in pod["status"].get("conditions", []) if each["type"] == kind]
        return found[0] if found else {}

    def plans(self, outcome: str) -> list[Json]:
        plans = self.client.list(OURS, "PreemptionPlan", self.name)
        return [each for each in plans if each["spec"]["outcome"] == outcome]
