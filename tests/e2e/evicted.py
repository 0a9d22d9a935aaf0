"""Whom a gang has evicted on a real control plane."""

from __future__ import annotations

from collections.abc import Sequence

from tests.e2e.support import Sandbox

__all__ = ["evicted"]


def evicted(sandbox: Sandbox, *pods: str, named: Sequence[str] = ()) -> None:
    """Exactly these pods were evicted, each once, by one plan that is Bound. `named`: what it does not model."""
    assert sandbox.history.evictions() == dict.fromkeys(pods, 1)
    plan = sandbox.wait_plan("hero", "Bound")["spec"]
    assert plan["outcome"] == "Preempts"
    assert plan["notModelled"] == list(named)
    assert sorted(pod["name"] for victim in plan["victims"] for pod in victim["pods"]) == sorted(pods)
