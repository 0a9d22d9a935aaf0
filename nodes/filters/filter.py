"""The interface of a filter: what it needs of a pod, which nodes it admits, and which pods it keeps apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from api.core import Pod, Taint
from nodes.filters.pod_volumes import PodVolumes
from nodes.filters.profile import Profile

__all__ = ["EVERYWHERE", "Filter", "NodeShape", "PodFilter", "StaticFilter", "Tenant", "Token"]

N = TypeVar("N")
"""What a filter needs of a pod. msgspec must be able to encode it: it is part of the key of the pod's class."""
EVERYWHERE: Final = ""
"""The topology key of a token for which the whole cluster is one domain."""


@dataclass(frozen=True, slots=True)
class NodeShape:
    """What decides which pods a node takes, except its name and its room."""

    key: bytes
    labels: Mapping[str, str] = field(compare=False)
    taints: tuple[Taint, ...] = field(compare=False)
    """Taints of every effect."""
    unschedulable: bool = field(compare=False)
    declared_features: frozenset[str] = field(compare=False, default=frozenset())


class Filter(Generic[N]):
    """A filter of kube-scheduler. A filter that models nothing only names what it sees."""

    name: ClassVar[str]
    """The scheduler's name of the plugin."""
    local: ClassVar[frozenset[str]] = frozenset()
    """Names of what the filter sees but does not model, and what depends only on the pod, the node and the pods there.
    The scheduler's word on one node settles it, whatever happens on other nodes."""
    stricter: ClassVar[frozenset[str]] = frozenset()
    """Names of what the filter takes as a refusal where the scheduler may admit. On a node that it admits they do not
    matter."""

    def needs(self, pod: Pod) -> N | None:
        """What the filter needs of the pod. None means that the filter has nothing to say about this pod."""
        return None

    def looks_afar(self, needs: N) -> bool:
        """Whether what a node says of a pod with these needs may depend on pods on other nodes."""
        return False

    def needs_in(self, profile: Profile, needs: N | None) -> N | None:
        """What the filter needs of a pod of that profile, from what `needs` says."""
        return needs

    def needs_with_claims(self, needs: N | None, volumes: PodVolumes) -> N | None:
        """What the filter needs of a pod with these claims, from what it needs of the pod alone."""
        return needs

    def unmodelled_in(self, profile: Profile, pod: Pod) -> Iterable[str]:
        """Names of what the profile makes the filter see of this pod, and that nobody models."""
        return ()

    def namespaces_asked(self, needs: N) -> str | None:
        """What to name if the labels of some pod's namespace are not known, or None: a pod with these needs does not
        ask for the labels of namespaces."""
        return None

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Names of the features of this pod that the filter sees but does not model.

        A plan that lists such a name evicts nobody.
        """
        return ()


class StaticFilter(Filter[N], ABC):
    """A filter whose verdict depends on the pod and the node alone."""

    only_marked: ClassVar[bool] = False
    """Whether the filter admits every pod to a node that has no taints and is not unschedulable, as most nodes are."""

    @abstractmethod
    def refusal(self, needs: N, node: NodeShape, node_name: str) -> str | None:
        """Why the node refuses the pod, in the scheduler's words. None means that the node takes it."""


class Tenant(NamedTuple):
    """A PodFilter's view of a pod on a node, or of a member that needs a node."""

    needs: Any
    """What the filter needs of the pod. None if the filter has nothing to say about the pod itself."""
    namespace: str
    labels: Mapping[str, str]
    namespace_labels: Mapping[str, str] | None = None
    """The labels of the namespace; None if they are not known."""
    asks: bool = True
    """Whether the pod's scheduler asks the filter about the pod. Other pods may ask about it all the same."""


class Token(ABC):
    """A reason why two pods cannot share a node, or a domain: one pod brings the token, the other pod forbids it.

    A pod that does both cannot share a node with a pod of its own kind. It makes no difference which pod came first.
    """

    __slots__ = ()
    reason: ClassVar[str]
    """Why the scheduler refuses the node, in its own words."""
    by_labels: ClassVar[bool]
    """True if a pod can bring the token by its labels alone, so that its `needs` may be None."""

    @property
    def name(self) -> str:
        """What the rule is, in words."""
        return self.reason

    @property
    def topology_key(self) -> str | None:
        """The node label whose value two pods cannot share; None means that they cannot share a node."""
        return None

    @abstractmethod
    def brought_by(self, tenant: Tenant) -> bool:
        """Whether a node with this pod has the token."""

    @abstractmethod
    def forbidden_by(self, tenant: Tenant) -> bool:
        """Whether this pod may not be on a node with the token."""


class PodFilter(Filter[N], ABC):
    """A filter whose verdict on a node depends on the pods that run there and on the members placed there.

    The search counts tokens. A unit takes its tokens along when it leaves, and brings them again when the search puts
    it back. A placed member brings its tokens too.
    """

    @abstractmethod
    def tokens(self, members: Collection[Tenant], running: Iterable[Tenant]) -> Iterable[Token]:
        """The tokens that decide where these members may be.

        `running` has the bound pods whose `needs` is not None.
        """

    def unmodelled_between(self, running: Tenant, member: Tenant) -> str | None:
        """Name a conflict that the running pod could have with the member and that no token models, or None."""
        return None

    def unnoticed_between(self, victim: Tenant, member: Tenant) -> str | None:
        """Name a conflict that ends with the victim, but after which the scheduler does not try the member, or None."""
        return None

    def conflict_keys(self, running: Tenant, member: Tenant) -> Collection[str]:
        """Topology keys: what `unmodelled_between` names could matter only in the running pod's domains of these."""
        return ()

    def reaches(self, running: Tenant, member: Tenant) -> bool:
        """Whether the running pod could keep the member off other nodes than its own."""
        return False
