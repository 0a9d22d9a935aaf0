"""What a filter is: what it needs of a pod, which nodes it admits, and which pods it keeps apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from api.core import Pod, Taint

__all__ = ["Filter", "NodeShape", "PodFilter", "StaticFilter", "Tenant", "Token"]

N = TypeVar("N")
"""What a filter needs of a pod. msgspec must be able to encode it: it is part of the key of the pod's class."""


@dataclass(frozen=True, slots=True)
class NodeShape:
    """Everything about a node, except its name and room, that decides which pods it takes."""

    key: bytes
    labels: Mapping[str, str] = field(compare=False)
    taints: tuple[Taint, ...] = field(compare=False)
    """Of all effects."""
    unschedulable: bool = field(compare=False)


class Filter(Generic[N]):
    """A filter of kube-scheduler. One that models nothing only names what it sees."""

    name: ClassVar[str]
    """The scheduler's name of the plugin."""

    def needs(self, pod: Pod) -> N | None:
        """What the filter needs of the pod. None: the filter has nothing to say about this pod."""
        return None

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Names of what the filter sees of the pod and does not model. A plan with any of them evicts nobody."""
        return ()


class StaticFilter(Filter[N]):
    """A filter whose verdict depends on the pod and the node alone."""

    def refusal(self, needs: N, node: NodeShape, node_name: str) -> str | None:
        """Why the node does not take the pod, in the scheduler's words. None: it does."""
        raise NotImplementedError


class Tenant(NamedTuple):
    """A pod on a node, or a member that is to be placed, as a PodFilter sees it."""

    needs: Any
    """What the filter needs of the pod; None if the filter has nothing to say about the pod itself."""
    namespace: str
    labels: Mapping[str, str]


class Token:
    """What keeps two pods apart on one node: one of them brings the token, the other one forbids it.

    A pod that does both is alone of its kind on a node. Which of the two came first makes no difference.
    """

    __slots__ = ()
    reason: ClassVar[str]
    """Why a node is refused, in the scheduler's words."""
    by_labels: ClassVar[bool]
    """A pod may bring the token although the filter needs nothing of it."""

    def brought_by(self, tenant: Tenant) -> bool:
        """Whether a node with this pod has the token."""
        raise NotImplementedError

    def forbidden_by(self, tenant: Tenant) -> bool:
        """Whether this pod may not be on a node with the token."""
        raise NotImplementedError


class PodFilter(Filter[N]):
    """A filter whose verdict on a node depends on the pods that run there and on the members placed there.

    The search counts tokens: a unit that leaves takes its tokens along, a unit that is put back and a member that is
    placed bring theirs.
    """

    def tokens(self, members: Collection[Tenant], running: Iterable[Tenant]) -> Iterable[Token]:
        """The tokens that decide where these members may be.

        `running` are the bound pods of which the filter needs something.
        """
        raise NotImplementedError

    def unmodelled_between(self, running: Tenant, member: Tenant) -> str | None:
        """What the running pod could have against the member that no token says. None: nothing."""
        return None

    def unmodelled_on(self, nodes: Iterable[NodeShape]) -> str | None:
        """What makes the tokens wrong on these nodes, which are all nodes of the cluster. None: nothing."""
        return None
