"""Pods that kube-scheduler itself forgets, for tests in which it preempts alone."""

from __future__ import annotations

import time
from typing import Final

from api.quantity import parse
from tests.e2e.support import Sandbox, wait_for

__all__ = ["wait_bound"]

PATIENCE_SECONDS: Final = 20.0
"""Longer than the scheduler takes for a pod that it has not forgotten."""


def wait_bound(sandbox: Sandbox, *pods: str) -> dict[str, str]:
    """Until all are bound; returns all that are bound, with their nodes.

    A pod that has preempted can be forgotten for five minutes: its victim was gone before the scheduler waited for that
    (kubernetes/kubernetes 141694). A node that gets larger makes the scheduler try such pods again.
    """
    end = time.monotonic() + PATIENCE_SECONDS
    wait_for(lambda: set(pods) <= sandbox.bound().keys() or time.monotonic() > end)
    if set(pods) <= (bound := sandbox.bound()).keys():
        return bound
    for node in sandbox.client.list("v1", "Node"):
        name, cpu = node["metadata"]["name"], node["status"]["allocatable"]["cpu"]
        if name.startswith(f"{sandbox.namespace}-"):
            larger = {"allocatable": {"cpu": f"{parse(cpu).scaled(-3) + 1}m"}}
            sandbox.client.patch("v1", "Node", name, {"status": larger}, None, "status")
    return sandbox.wait_bound(*pods)
