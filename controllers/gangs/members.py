"""The pods of a group, as gangs and plans see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from api.requests import PODS
from nodes.search.mismatch import Asking
from nodes.state.pod_view import PodView
from nodes.state.snapshot import NEVER

__all__ = ["MemberView", "member_of", "requests_of"]


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member: has neither ended nor begun to terminate, and has no scheduling gate but ours."""

    uid: str
    name: str
    node: str | None
    requests: Mapping[str, int]
    created: int
    asking: Asking


def member_of(view: PodView) -> MemberView:
    """The pod as a member."""
    asking = Asking(view.name, view.priority, bool(view.flags & NEVER), view.scheduler)
    return MemberView(view.uid, view.name, view.node, requests_of(view), view.created, asking)


def requests_of(view: PodView) -> Mapping[str, int]:
    """By resource, in the scheduler's integers (cpu in milli), `pods` included."""
    return {**view.pod_class.requests, PODS: 1}
