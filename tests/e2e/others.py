"""Who acts beside us and disagrees: controllers, another scheduler, an admission policy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

from hack.controlplane.client import ApiError, Json, path_of
from tests.e2e.support import Sandbox, wait_for

__all__ = ["OTHER_SCHEDULER", "deployment", "no_deletion_of", "other_scheduler", "remove_deployments"]

OTHER_SCHEDULER: Final = "other-scheduler"
"""The `schedulerName` of pods that `other_scheduler` binds."""
LOOK_SECONDS: Final = 0.02
ADMISSION: Final = "admissionregistration.k8s.io/v1"


def deployment(sandbox: Sandbox, name: str, replicas: int = 1, *, priority: int = 10, **pod: Any) -> str:
    """A Deployment (see objects.pod for its pods) whose pods run; they have the label app=NAME. Returns the name."""
    body = sandbox.pod_body("template", priority=priority, labels={"app": name}, **pod)
    kept = {field: body["metadata"][field] for field in ("labels", "finalizers") if field in body["metadata"]}
    template = {"metadata": kept, "spec": body["spec"]}
    sandbox.client.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": sandbox.namespace},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": template,
            },
        }
    )

    def all_run() -> bool:
        return [pod["status"]["phase"] for pod in _pods_of(sandbox, name)] == ["Running"] * replicas

    wait_for(all_run, what=sandbox.report)
    return name


def remove_deployments(sandbox: Sandbox, *names: str) -> None:
    """Delete these Deployments of the namespace, or all of them, and wait until their pods are gone."""
    for name in names or [
        body["metadata"]["name"] for body in sandbox.client.list("apps/v1", "Deployment", sandbox.namespace)
    ]:
        sandbox.client.delete("apps/v1", "Deployment", name, sandbox.namespace)
        wait_for(lambda name=name: _are_gone(sandbox, name), what=sandbox.report)  # type: ignore[misc] # a default of a lambda has no type


def _are_gone(sandbox: Sandbox, name: str) -> bool:
    """Whether no pod of the Deployment is left. Whoever lingers is let go."""
    pods = _pods_of(sandbox, name)
    for pod in pods:
        if "deletionTimestamp" in pod["metadata"] and pod["metadata"].get("finalizers"):
            sandbox.release(pod["metadata"]["name"])
    return not pods


def _pods_of(sandbox: Sandbox, name: str) -> list[Json]:
    return [pod for pod in sandbox.list_pods() if pod["metadata"].get("labels", {}).get("app") == name]


@contextmanager
def other_scheduler(sandbox: Sandbox, nodes: list[str]) -> Iterator[None]:
    """A scheduler that never asks us: it binds each pod that names it to one of the nodes, at once.

    It takes a node on which no pod stays: one that leaves is no obstacle, so it comes before everybody else.
    """
    is_over = threading.Event()

    def work() -> None:
        while not is_over.wait(LOOK_SECONDS):
            _bind_pods(sandbox, nodes)

    thread = threading.Thread(target=work, name=OTHER_SCHEDULER, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _bind_pods(sandbox: Sandbox, nodes: list[str]) -> None:
    pods = sandbox.list_pods()
    staying = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    taken = {pod["spec"].get("nodeName") for pod in staying}
    free = [node for node in nodes if node not in taken]
    waiting = [
        pod["metadata"]["name"]
        for pod in staying
        if pod["spec"]["schedulerName"] == OTHER_SCHEDULER and "nodeName" not in pod["spec"]
    ]
    for name, node in zip(waiting, free, strict=False):
        _bind(sandbox, name, node)


def _bind(sandbox: Sandbox, name: str, node: str) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"kind": "Node", "name": node},
    }
    try:
        sandbox.client.request("POST", f"{path_of('v1', 'Pod', sandbox.namespace, name)}/binding", body)
    except ApiError as error:
        if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
            raise


@contextmanager
def no_deletion_of(sandbox: Sandbox, pod: str) -> Iterator[None]:
    """The API server lets nobody delete this pod."""
    name = f"{sandbox.namespace}-stays"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}
    there = f"request.namespace == '{sandbox.namespace}'"
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "here", "expression": there}],
        "validations": [{"expression": f"request.name != '{pod}'", "message": "it stays"}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    kinds = {"ValidatingAdmissionPolicy": policy, "ValidatingAdmissionPolicyBinding": binding}
    for kind, spec in kinds.items():
        sandbox.client.create(
            {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
        )
    try:
        wait_for(lambda: _stays(sandbox, pod), what=f"{pod} may still be deleted")
        yield
    finally:
        for kind in reversed(kinds):
            sandbox.client.delete(ADMISSION, kind, name)
        wait_for(lambda: not _stays(sandbox, pod), what=f"{pod} may not be deleted")


def _stays(sandbox: Sandbox, pod: str) -> bool:
    """Whether the API server refuses to delete the pod."""
    try:
        sandbox.client.request("DELETE", f"{path_of('v1', 'Pod', sandbox.namespace, pod)}?dryRun=All")
    except ApiError as error:
        return error.status != HTTPStatus.NOT_FOUND
    return False
