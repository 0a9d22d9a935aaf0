"""Which requests about pods may reach a webhook or an admission policy, as far as the API shows these.

It does not show all: an API server reads further ones from files, and has some compiled in. See docs/decisions/0150.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final, Generic, NamedTuple, TypeVar

from api.admission import (
    Admission,
    AdmissionPolicy,
    AdmissionPolicyBinding,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
    Webhook,
    WebhookConfiguration,
)
from api.admission_matching import (
    PodRequest,
    may_apply,
    may_apply_to_pods,
    may_be_called,
    may_call_for_pods,
)
from kube.reflector import Resource
from runtime.mirror.views import View, Views

__all__ = [
    "MUTATING_BINDINGS",
    "MUTATING_POLICIES",
    "MUTATING_WEBHOOKS",
    "VALIDATING_BINDINGS",
    "VALIDATING_POLICIES",
    "VALIDATING_WEBHOOKS",
    "WatchedAdmission",
]

GROUP: Final = "/apis/admissionregistration.k8s.io"
VERSIONS: Final = ("v1", "v1beta1", "v1alpha1")
"""The newest first. Webhooks have v1 only on every API server that we know. All of these resources are optional: a role
of one's own may not allow to read them, and old API servers do not serve all of them."""
INTERRUPTED_SECONDS: Final = 5.0
"""Without a watch for longer than this, what has come meanwhile is not known."""

T = TypeVar("T", bound=Admission)


def _resource(plural: str, kind: type[T], versions: Sequence[str] = VERSIONS) -> Resource[T]:
    newest, *older = (f"{GROUP}/{version}/{plural}" for version in versions)
    return Resource(plural, newest, kind, optional=True, older=tuple(older))


VALIDATING_WEBHOOKS: Final = _resource(
    "validatingwebhookconfigurations", ValidatingWebhookConfiguration, VERSIONS[:1]
)
MUTATING_WEBHOOKS: Final = _resource(
    "mutatingwebhookconfigurations", MutatingWebhookConfiguration, VERSIONS[:1]
)
VALIDATING_POLICIES: Final = _resource("validatingadmissionpolicies", ValidatingAdmissionPolicy)
VALIDATING_BINDINGS: Final = _resource("validatingadmissionpolicybindings", ValidatingAdmissionPolicyBinding)
MUTATING_POLICIES: Final = _resource("mutatingadmissionpolicies", MutatingAdmissionPolicy)
MUTATING_BINDINGS: Final = _resource("mutatingadmissionpolicybindings", MutatingAdmissionPolicyBinding)


class _Kept(Generic[T]):
    """The objects of one kind, by name: the store of a view."""

    def __init__(self) -> None:
        self.items: dict[str, T] = {}
        self.changes = 0
        """How often one has come, gone, or changed, its status aside."""

    def upsert(self, item: T) -> bool:
        """See `runtime.mirror.view.Store`."""
        before = self.items.get(item.metadata.name)
        self.items[item.metadata.name] = item
        return self._count(before is None or _identity(before) != _identity(item))

    def delete(self, namespace: str, name: str) -> bool:
        """See `runtime.mirror.view.Store`."""
        del namespace
        return self._count(self.items.pop(name, None) is not None)

    def unreadable(self, *_: object) -> None:
        """One has come or changed, and it is not known how."""
        self._count(True)

    def _count(self, changed: bool) -> bool:
        self.changes += changed
        return changed


def _identity(item: Admission) -> tuple[str, int]:
    """The generation of an object grows with each change, its status aside."""
    return item.metadata.uid, item.metadata.generation


class _Bound(NamedTuple):
    """A policy and the bindings that name it."""

    policy: AdmissionPolicy
    bindings: Sequence[AdmissionPolicyBinding]


class _Relevant(NamedTuple):
    """What may be asked about one kind of request about some pod."""

    webhooks: Sequence[Webhook]
    policies: Sequence[_Bound]


class WatchedAdmission:
    """The webhooks and policies of a cluster."""

    def __init__(self, views: Views, max_age_seconds: float) -> None:
        """`max_age_seconds`: after this long without a word of the API server, nothing is known."""
        self._max_age_seconds = max_age_seconds
        self._views: list[View[Any]] = []
        self._kept: list[_Kept[Any]] = []
        validating, mutating = self._watch(views, VALIDATING_WEBHOOKS), self._watch(views, MUTATING_WEBHOOKS)
        self._webhooks: Sequence[Mapping[str, WebhookConfiguration]] = (validating, mutating)
        refusing = self._watch(views, VALIDATING_POLICIES), self._watch(views, VALIDATING_BINDINGS)
        changing = self._watch(views, MUTATING_POLICIES), self._watch(views, MUTATING_BINDINGS)
        self._policies: Sequence[
            tuple[Mapping[str, AdmissionPolicy], Mapping[str, AdmissionPolicyBinding]]
        ] = (refusing, changing)
        self._relevant: dict[tuple[str, str], _Relevant] = {}
        """By operation and subresource."""
        self._as_of = 0
        """The number of changes that `_relevant` knows."""

    def _watch(self, views: Views, resource: Resource[T]) -> Mapping[str, T]:
        kept = _Kept[T]()
        view = views.watch(resource, kept)
        view.on_unreadable(kept.unreadable)
        self._views.append(view)
        self._kept.append(kept)
        return kept.items

    @property
    def changes(self) -> int:
        """Grows when a webhook or a policy comes, goes, or changes."""
        return sum(kept.changes for kept in self._kept)

    @property
    def is_known(self) -> bool:
        """Whether all of them are known. A kind that the API server does not serve has no objects."""
        return all(map(self._is_current, self._views))

    def _is_current(self, view: View[Any]) -> bool:
        if view.is_refused:
            return view.is_absent
        if view.unread or view.interrupted() > INTERRUPTED_SECONDS:
            return False
        return view.fault(self._max_age_seconds) is None

    def may_reach(self, *requests: PodRequest) -> bool:
        """Whether one of the requests may reach one of them. True if they are not known."""
        return not self.is_known or any(map(self._may_reach, requests))

    def _may_reach(self, request: PodRequest) -> bool:
        webhooks, policies = self._relevant_for(request.operation, request.subresource)
        return any(may_be_called(each, request) for each in webhooks) or any(
            may_apply(policy, bindings, request) for policy, bindings in policies
        )

    def _relevant_for(self, operation: str, subresource: str) -> _Relevant:
        if self._as_of != (now := self.changes):
            self._relevant.clear()
            self._as_of = now
        found = self._relevant.get((operation, subresource))
        if found is None:
            found = self._relevant[operation, subresource] = self._look(operation, subresource)
        return found

    def _look(self, operation: str, subresource: str) -> _Relevant:
        webhooks = chain.from_iterable(
            item.webhooks or () for items in self._webhooks for item in items.values()
        )
        policies = chain.from_iterable(_bound(*each) for each in self._policies)
        return _Relevant(
            [each for each in webhooks if may_call_for_pods(each, operation, subresource)],
            [each for each in policies if may_apply_to_pods(each.policy, operation, subresource)],
        )


def _bound(
    policies: Mapping[str, AdmissionPolicy], bindings: Mapping[str, AdmissionPolicyBinding]
) -> Sequence[_Bound]:
    """The policies that have bindings."""
    named = defaultdict[str, list[AdmissionPolicyBinding]](list)
    for binding in bindings.values():
        named[binding.spec.policy_name].append(binding)
    return [_Bound(policies[name], its) for name, its in named.items() if name in policies]
