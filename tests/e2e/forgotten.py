"""Pods that kube-scheduler itself forgets, for tests in which it preempts alone."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Final

from api.quantity import parse
from tests.e2e.support import Sandbox, wait_for

__all__ = ["wait_bound"]

PATIENCE_SECONDS: Final = 20.0
"""Longer than the scheduler takes for a pod that it has not forgotten."""


def wait_bound(sandbox: Sandbox, *pods: str) -> dict[str, str]:
    """Until all are bound; returns all that are bound, with their nodes.

    A pod that has preempted can be forgotten for five minutes: its victim was gone before the scheduler waited for that
    (kubernetes/kubernetes 141694). A node that gets larger makes the scheduler try most of such pods again. One that
    still counts as preempting is not tried before the scheduler starts anew.
    """
    if _are_bound_in_time(sandbox, pods):
        return sandbox.bound()
    for node in sandbox.client.list("v1", "Node"):
        name, cpu = node["metadata"]["name"], node["status"]["allocatable"]["cpu"]
        if name.startswith(f"{sandbox.namespace}-"):
            larger = {"allocatable": {"cpu": f"{parse(cpu).scaled(-3) + 1}m"}}
            sandbox.client.patch("v1", "Node", name, {"status": larger}, None, "status")
    if not _are_bound_in_time(sandbox, pods) and sandbox.plane is not None:
        scheduler = sandbox.plane.processes["kube-scheduler"]
        scheduler.stop()
        scheduler.start()
    return sandbox.wait_bound(*pods)


def _are_bound_in_time(sandbox: Sandbox, pods: Collection[str]) -> bool:
    end = time.monotonic() + PATIENCE_SECONDS
    wait_for(lambda: set(pods) <= sandbox.bound().keys() or time.monotonic() > end)
    return set(pods) <= sandbox.bound().keys()
