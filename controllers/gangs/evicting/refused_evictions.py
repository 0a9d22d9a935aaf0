"""What it means when the API server refuses what an eviction takes: for good, or for now."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

import structlog
from prometheus_client import Counter

from api.plans import VictimPod
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.mirror.withheld_names import spoken_pod
from kube.errors import ApiError

__all__ = ["OverBudgetError", "PausedError", "lacks_right", "may_succeed_later", "refusal"]

log = structlog.get_logger(__name__)


NO_VERDICT: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.CONFLICT})
"""Answers that refuse this request, and say nothing of the next one."""
NO_RIGHT: Final = re.compile(r"\bcannot \w+ resource\b")
"""What the API server's authorizer says, and no admission plugin."""


class OverBudgetError(Exception):
    """A PodDisruptionBudget that is respected does not allow the eviction of a pod."""


class PausedError(Exception):
    """Evictions are paused. The pod stays for now."""


def may_succeed_later(error: ApiError) -> bool:
    """Whether another attempt may get another answer."""
    return error.is_retriable or error.status in NO_VERDICT


def lacks_right(error: ApiError) -> bool:
    """Whether the API server refuses the request of anybody who lacks a right, whichever pod it is about."""
    return error.status == HTTPStatus.FORBIDDEN and NO_RIGHT.search(error.message) is not None


def refusal(plan: ActivePlan, pod: VictimPod, error: ApiError, counter: Counter) -> str:
    """Why the API server refuses the pod for good. Raises the error if another attempt may succeed."""
    if may_succeed_later(error):
        raise error
    counter.inc()
    where = f"{pod.namespace}/{pod.name}"
    log.warning("a pod cannot be evicted", plan=plan.name, pod=where, error=str(error))
    return f"{spoken_pod(pod, plan.namespace)} cannot be evicted: {_told(error, plan, pod)}"


def _told(error: ApiError, plan: ActivePlan, pod: VictimPod) -> str:
    """The refusal as the plan's namespace may read it: what is said of a foreign pod may name it."""
    return str(error) if pod.namespace == plan.namespace else f"{error.status} {error.reason}"
