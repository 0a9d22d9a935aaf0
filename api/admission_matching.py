"""Whether a webhook or an admission policy may be asked about a request. Yes, if it is not certain.

The rules are those of `webhook/predicates` and `policy/matching` in k8s.io/apiserver/pkg/admission/plugin. But match
conditions and expressions count as true, and what cannot be understood matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

from api.admission import (
    AdmissionPolicy,
    AdmissionPolicyBinding,
    MatchResources,
    Rule,
    Selector,
    Webhook,
)
from api.selectors import selects

__all__ = ["PodRequest", "may_apply", "may_apply_to_pods", "may_be_called", "may_call_for_pods"]

ANY: Final = "*"
VERSION: Final = "v1"
NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The API server gives it to every namespace."""
SCOPES: Final = frozenset({None, ANY, "Namespaced"})
"""Those that a pod is in."""
OTHER_SCOPE: Final = "Cluster"
EXACT: Final = "Exact"


class PodRequest(NamedTuple):
    """A request about one pod."""

    operation: Literal["CREATE", "UPDATE", "DELETE"]
    subresource: Literal["", "status", "eviction"]
    namespace: str
    name: str
    namespace_labels: Mapping[str, str] | None
    """Labels of the namespace. None: they are not known."""
    labels: Mapping[str, str] | None
    """Labels of the object that the request is about, before and after it: those of the pod, or of the Eviction. None:
    they are not known."""


def may_be_called(webhook: Webhook, request: PodRequest) -> bool:
    """Whether the API server may call the webhook for the request."""
    exact = webhook.match_policy == EXACT
    return any(_covers(rule, request, exact=exact) for rule in webhook.rules or ()) and _is_selected(
        webhook.namespace_selector, webhook.object_selector, request
    )


def may_apply(
    policy: AdmissionPolicy, bindings: Iterable[AdmissionPolicyBinding], request: PodRequest
) -> bool:
    """Whether the policy may apply to the request. `bindings`: all of its kind that name the policy.

    With a kind of parameters that the API server does not know, it refuses before it looks at what a binding matches.
    """
    found = list(bindings)
    if not found or not _is_about(policy.spec.match_constraints, request):
        return False
    if policy.spec.param_kind is not None:
        return True
    return any(_is_about(binding.spec.match_resources, request) for binding in found)


def may_call_for_pods(webhook: Webhook, operation: str, subresource: str) -> bool:
    """Whether the webhook may be called for such a request about any pod."""
    exact = webhook.match_policy == EXACT
    return any(_covers_kind(rule, operation, subresource, exact=exact) for rule in webhook.rules or ())


def may_apply_to_pods(policy: AdmissionPolicy, operation: str, subresource: str) -> bool:
    """Whether the policy may apply to such a request about any pod, once there is a binding."""
    match = policy.spec.match_constraints
    if match is None or not match.resource_rules:
        return True
    exact = match.match_policy == EXACT
    return any(_covers_kind(rule, operation, subresource, exact=exact) for rule in match.resource_rules)


def _is_about(match: MatchResources | None, request: PodRequest) -> bool:
    """Without rules it is about every resource."""
    if match is None:
        return True
    if not _is_selected(match.namespace_selector, match.object_selector, request):
        return False
    if any(_covers(rule, request, exact=True, certain=True) for rule in match.exclude_resource_rules or ()):
        return False
    exact, rules = match.match_policy == EXACT, match.resource_rules
    return not rules or any(_covers(rule, request, exact=exact) for rule in rules)


def _is_selected(namespaces: Selector | None, objects: Selector | None, request: PodRequest) -> bool:
    own = request.namespace_labels
    labels = None if own is None else {**own, NAME_LABEL: request.namespace}
    return _may_select(namespaces, labels) and _may_select(objects, request.labels)


def _may_select(selector: Selector | None, labels: Mapping[str, str] | None) -> bool:
    return selector is None or labels is None or selects(selector, labels)


def _covers(rule: Rule, request: PodRequest, *, exact: bool, certain: bool = False) -> bool:
    if rule.resource_names and request.name not in rule.resource_names:
        return False
    return _covers_kind(rule, request.operation, request.subresource, exact=exact, certain=certain)


def _covers_kind(rule: Rule, operation: str, subresource: str, *, exact: bool, certain: bool = False) -> bool:
    """`exact`: pods of another version than v1 do not count. There is no other one today. `certain`: what is not
    understood does not count."""
    in_scope = rule.scope in SCOPES or (rule.scope != OTHER_SCOPE and not certain)
    versions = rule.api_versions or ()
    return (
        in_scope
        and _has(rule.operations, operation)
        and _has(rule.api_groups, "")
        and (_has(versions, VERSION) or (bool(versions) and not exact))
        and any(_is_resource(each, subresource) for each in rule.resources or ())
    )


def _has(items: Iterable[str] | None, wanted: str) -> bool:
    return any(item in (ANY, wanted) for item in items or ())


def _is_resource(text: str, subresource: str) -> bool:
    """`*` is every resource without its subresources."""
    resource, _, sub = text.partition("/")
    return resource in (ANY, "pods") and sub in (ANY, subresource)
