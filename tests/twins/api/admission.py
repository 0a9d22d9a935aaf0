"""The plain twin of `api.admission_matching`: the API server's own code, step by step, with what we cannot know as yes.

Sources: k8s.io/apiserver/pkg/admission/plugin, webhook/predicates/{rules,namespace,object}, webhook/generic/webhook.go,
policy/matching/matching.go and policy/generic/policy_dispatcher.go.
"""

from __future__ import annotations

from typing import Any

from api.admission_matching import PodRequest

__all__ = ["calls", "dispatches"]

Json = dict[str, Any]


def calls(webhook: Json, request: PodRequest) -> bool:
    """ShouldCallHook."""
    if not _selected(webhook, request):
        return False
    return _any_rule(webhook.get("rules") or [], webhook.get("matchPolicy"), request)


def dispatches(policy: Json, bindings: list[Json], request: PodRequest) -> bool:
    """Dispatch: a policy is looked at only with its bindings. What cannot be configured refuses before them."""
    for binding in bindings:
        if not _matches(policy.get("matchConstraints"), request):
            return False
        if policy.get("paramKind"):
            return True
        if _matches(binding.get("matchResources"), request):
            return True
    return False


def _matches(match: Json | None, request: PodRequest) -> bool:
    if match is None:
        return True
    if not _selected(match, request):
        return False
    for rule in match.get("excludeResourceRules") or []:
        names = rule.get("resourceNames") or [request.name]
        if _rule(rule, "v1", request) is True and request.name in names:
            return False
    rules = match.get("resourceRules") or []
    return not rules or _any_rule(rules, match.get("matchPolicy"), request)


def _any_rule(rules: list[Json], policy: str | None, request: PodRequest) -> bool:
    for rule in rules:
        names = rule.get("resourceNames") or [request.name]
        versions = ["v1"] if policy == "Exact" else ["v1", *(rule.get("apiVersions") or [])]
        if request.name in names and any(
            _rule(rule, version, request) in (True, None) for version in versions
        ):
            return True
    return False


def _rule(rule: Json, version: str, request: PodRequest) -> bool | None:
    """Matcher.Matches; None where the scope is none that we know."""
    scope = rule.get("scope")
    if scope == "Cluster":
        return False
    operation = any(each in ("*", request.operation) for each in rule.get("operations") or [])
    group = any(each in ("*", "") for each in rule.get("apiGroups") or [])
    of_version = any(each in ("*", version) for each in rule.get("apiVersions") or [])
    resource = False
    for each in rule.get("resources") or []:
        parts = each.split("/", 1)
        name, sub = (parts[0], parts[1]) if len(parts) == 2 else (parts[0], "")
        resource |= (name in ("*", "pods")) and (sub in ("*", request.subresource))
    if not (operation and group and of_version and resource):
        return False
    return True if scope in (None, "*", "Namespaced") else None


def _selected(item: Json, request: PodRequest) -> bool:
    own = request.namespace_labels
    labels = None if own is None else dict(own) | {"kubernetes.io/metadata.name": request.namespace}
    return _selects(item.get("namespaceSelector"), labels) and _selects(
        item.get("objectSelector"), None if request.labels is None else dict(request.labels)
    )


def _selects(selector: Json | None, labels: dict[str, str] | None) -> bool:
    if selector is None or labels is None:
        return True
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for each in selector.get("matchExpressions") or []:
        there, values = each["key"] in labels, each.get("values") or []
        has = there and labels[each["key"]] in values
        if each["operator"] == "In" and not has:
            return False
        if each["operator"] == "NotIn" and has:
            return False
        if each["operator"] == "Exists" and not there:
            return False
        if each["operator"] == "DoesNotExist" and there:
            return False
    return True
