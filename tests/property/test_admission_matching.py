"""Who may be asked about a request about a pod: the rules of the API server, written twice."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings

from api.admission import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, Webhook
from api.admission_matching import (
    PodRequest,
    may_apply,
    may_apply_to_pods,
    may_be_called,
    may_call_for_pods,
)
from tests.kit.examples import examples
from tests.twins.api import admission as twin

KEYS = st.sampled_from(["app", "tier", "kubernetes.io/metadata.name"])
VALUES = st.sampled_from(["a", "b", "ns"])
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), VALUES, max_size=2)
NAMES = st.sampled_from(["one", "two", "three"])


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object in which each field may be absent."""
    return st.fixed_dictionaries({}, optional=fields)


EXPRESSIONS = st.one_of(
    st.fixed_dictionaries(
        {
            "key": KEYS,
            "operator": st.sampled_from(["In", "NotIn"]),
            "values": st.lists(VALUES, min_size=1, max_size=2),
        }
    ),
    st.fixed_dictionaries({"key": KEYS, "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
)
SELECTORS = optional(
    matchLabels=st.dictionaries(KEYS, VALUES, max_size=1), matchExpressions=st.lists(EXPRESSIONS, max_size=2)
)
RULES = optional(
    operations=st.lists(st.sampled_from(["*", "CREATE", "UPDATE", "DELETE", "CONNECT"]), max_size=2),
    apiGroups=st.lists(st.sampled_from(["", "*", "apps"]), max_size=2),
    apiVersions=st.lists(st.sampled_from(["v1", "*", "v2"]), max_size=2),
    resources=st.lists(
        st.sampled_from(
            [
                "pods",
                "pods/status",
                "pods/eviction",
                "pods/*",
                "*/status",
                "*",
                "*/*",
                "nodes",
                "nodes/status",
            ]
        ),
        max_size=2,
    ),
    scope=st.sampled_from(["*", "Namespaced", "Cluster", "Unheard"]),
    resourceNames=st.lists(NAMES, max_size=2),
)
POLICIES = st.sampled_from(["Exact", "Equivalent"])
SELECTING: dict[str, st.SearchStrategy[Any]] = {
    "namespaceSelector": SELECTORS,
    "objectSelector": SELECTORS,
    "matchPolicy": POLICIES,
}
WEBHOOKS = optional(rules=st.lists(RULES, max_size=2), **SELECTING)
MATCHES = optional(
    resourceRules=st.lists(RULES, max_size=2), excludeResourceRules=st.lists(RULES, max_size=1), **SELECTING
)
PARAMETERS = st.just({"apiVersion": "v1", "kind": "ConfigMap"})
SPECS = optional(matchConstraints=MATCHES, paramKind=PARAMETERS)
BINDINGS = st.lists(optional(matchResources=MATCHES, paramRef=st.just({"name": "it"})), max_size=2)
REQUESTS = st.builds(
    lambda kind, name, of_namespace, own: kind._replace(name=name, namespace_labels=of_namespace, labels=own),
    st.sampled_from(
        [
            PodRequest("DELETE", "", "ns", "", None, None),
            PodRequest("UPDATE", "status", "ns", "", None, None),
            PodRequest("CREATE", "eviction", "ns", "", None, None),
        ]
    ),
    NAMES,
    st.none() | LABELS,
    st.none() | LABELS,
)


@given(WEBHOOKS, REQUESTS)
@settings(max_examples=examples(1500))
def test_a_webhook_is_called_as_the_api_server_calls_it(made: dict[str, Any], request: PodRequest) -> None:
    webhook = msgspec.convert(made, Webhook)
    called = may_be_called(webhook, request)
    # A webhook has no names of resources.
    rules = [{key: each[key] for key in each if key != "resourceNames"} for each in made.get("rules") or []]
    if rules == made.get("rules", []):
        assert called == twin.calls(made, request)
    assert not called or may_call_for_pods(webhook, request.operation, request.subresource)


@given(SPECS, BINDINGS, REQUESTS)
@settings(max_examples=examples(1500))
def test_a_policy_applies_as_the_api_server_applies_it(
    spec: dict[str, Any], bindings: list[dict[str, Any]], request: PodRequest
) -> None:
    policy = msgspec.convert({"spec": spec}, ValidatingAdmissionPolicy)
    bound = [msgspec.convert({"spec": each}, ValidatingAdmissionPolicyBinding) for each in bindings]
    applies = may_apply(policy, bound, request)
    assert applies == twin.dispatches(spec, bindings, request)
    assert not applies or may_apply_to_pods(policy, request.operation, request.subresource)


@given(WEBHOOKS, REQUESTS)
@settings(max_examples=examples(300))
def test_what_is_not_known_matches_whatever_else_does(made: dict[str, Any], request: PodRequest) -> None:
    webhook = msgspec.convert(made, Webhook)
    if may_be_called(webhook, request):
        assert may_be_called(webhook, request._replace(namespace_labels=None, labels=None))


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"app": "not a value"}},
        {"matchExpressions": [{"key": "app", "operator": "Is", "values": ["a"]}]},
        {"matchExpressions": [{"key": "app", "operator": "In"}]},
    ],
)
def test_a_selector_that_is_not_understood_makes_its_object_unreadable(selector: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match="selector"):
        msgspec.convert({"objectSelector": selector}, Webhook)
