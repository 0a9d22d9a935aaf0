"""What API servers send, and what they are answered."""

from __future__ import annotations

import base64
from typing import Any

import hypothesis.strategies as st
import orjson
import pytest
from hypothesis import given, settings

from tests.kit.examples import examples
from tests.kit.webhooks.reviews import BY_KIND, review
from tests.unit.webhooks.support import BAD, CLASSES, group, queue, reviewer
from webhooks.facts import NO_FACTS, Facts
from webhooks.registrations import REGISTRATIONS, Registration
from webhooks.review import MUTATE, VALIDATE, BadReviewError, Purpose


def answered(
    body: dict[str, Any], purpose: Purpose = VALIDATE, kind: str = "ClusterQueue", facts: Facts = CLASSES
) -> dict[str, Any]:
    answer = orjson.loads(reviewer(facts).answer(purpose, BY_KIND[kind], orjson.dumps(body)))
    assert answer.keys() == {"apiVersion", "kind", "response"}
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = answer["response"]
    assert response["uid"] == body["request"]["uid"]
    return response


def test_a_good_object_is_allowed() -> None:
    assert answered(review(queue(reclaimWithinCohort="Any"), "ClusterQueue")) == {
        "uid": "u-1",
        "allowed": True,
    }


def test_a_bad_object_is_refused_with_the_field() -> None:
    response = answered(review(BAD, "ClusterQueue"))
    assert response["allowed"] is False
    status = response["status"]
    assert (status["status"], status["code"], status["reason"]) == ("Failure", 422, "Invalid")
    assert status["details"]["kind"] == "ClusterQueue"
    assert status["details"]["name"] == "queue"
    causes = [(cause["field"], cause["reason"]) for cause in status["details"]["causes"]]
    assert causes == [("spec.preemption", "FieldValueInvalid")]
    assert status["message"].startswith("spec.preemption: ")


def test_a_dry_run_gets_the_same_answer() -> None:
    assert answered(review(BAD, "ClusterQueue", dryRun=True)) == answered(review(BAD, "ClusterQueue"))


def test_an_answer_names_a_hundred_causes_and_counts_the_rest() -> None:
    flavors = [{"name": "f", "resources": []} for _ in range(150)]
    value = queue()
    value["spec"]["resourceGroups"] = [{"coveredResources": [], "flavors": flavors}]
    status = answered(review(value, "ClusterQueue"))["status"]
    assert len(status["details"]["causes"]) == 100
    assert "more]" in status["message"]


def test_an_answer_has_twenty_warnings_and_counts_the_rest() -> None:
    gates = [{"name": f"example.com/gate-{number}", "position": "Closed"} for number in range(30)]
    workload = {"metadata": {"name": "w", "namespace": "default"}, "spec": {}}
    new = workload | {"status": {"preemptionGates": gates}}
    response = answered(review(new, "Workload", workload, subResource="status"), VALIDATE, "Workload")
    assert len(response["warnings"]) == 21
    assert response["warnings"][-1] == "and 10 more"


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT", "SOMETHING"])
def test_other_operations_are_allowed(operation: str) -> None:
    body = review(None, "ClusterQueue", BAD, operation=operation)
    assert answered(body) == {"uid": "u-1", "allowed": True}


def test_what_is_filled_in_is_a_patch() -> None:
    response = answered(review(group(priorityClassName="high"), "PodGroup"), MUTATE, "PodGroup")
    assert response["patchType"] == "JSONPatch"
    operations = orjson.loads(base64.b64decode(response["patch"]))
    assert {"op": "add", "path": "/spec/priority", "value": 1000} in operations


def test_an_object_that_is_complete_needs_no_patch() -> None:
    complete = group(priorityClassName="high", priority=1000, preemptionPolicy="PreemptLowerPriority")
    assert answered(review(complete, "PodGroup"), MUTATE, "PodGroup") == {"uid": "u-1", "allowed": True}


def test_without_the_mirror_filling_in_is_refused_for_now() -> None:
    body = review(group(priorityClassName="high"), "PodGroup")
    response = answered(body, MUTATE, "PodGroup", NO_FACTS)
    assert response["allowed"] is False
    assert (response["status"]["code"], response["status"]["reason"]) == (503, "ServiceUnavailable")
    assert response["status"]["details"]["retryAfterSeconds"] >= 1


def test_without_the_mirror_a_check_that_cannot_be_made_is_a_warning() -> None:
    response = answered(review(group(priorityClassName="high"), "PodGroup"), VALIDATE, "PodGroup", NO_FACTS)
    assert response["allowed"] is True
    assert len(response["warnings"]) == 1
    assert "high" in response["warnings"][0]


GOOD = review(queue(), "ClusterQueue")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        orjson.dumps(GOOD)[:-1],
        orjson.dumps(GOOD) + b"x",
        orjson.dumps(GOOD | {"apiVersion": "admission.k8s.io/v1beta1"}),
        orjson.dumps(GOOD | {"kind": "ConversionReview"}),
        orjson.dumps(GOOD | {"request": None}),
        orjson.dumps({name: value for name, value in GOOD.items() if name != "request"}),
        orjson.dumps(review([], "ClusterQueue")),
        orjson.dumps(review("x", "ClusterQueue")),
        orjson.dumps(review(queue(), "ClusterQueue", uid=1)),
        orjson.dumps(review(queue(), "Cohort")),
        orjson.dumps(
            review(queue(), "ClusterQueue", kind={"group": "x", "version": "v1", "kind": "ClusterQueue"})
        ),
        orjson.dumps(review(queue(), "ClusterQueue")).replace(b'"preemption":{}', b'"preemption":NaN'),
    ],
    ids=range(19),
)
def test_what_is_no_review_is_no_answer(body: bytes) -> None:
    with pytest.raises(BadReviewError):
        reviewer().answer(VALIDATE, BY_KIND["ClusterQueue"], body)


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for number in range(depth):
        value = [value] if number % 2 else {"a": value}
    return {"spec": value, "metadata": {"annotations": {str(number): "{[" for number in range(50)}}}


@pytest.mark.parametrize(("depth", "allowed"), [(40, True), (98, True), (101, False), (200, False)])
def test_depth_is_limited(depth: int, allowed: bool) -> None:
    body = orjson.dumps(review(nested(depth), "ClusterQueue"))
    if allowed:
        reviewer().answer(VALIDATE, BY_KIND["ClusterQueue"], body)
    else:
        with pytest.raises(BadReviewError, match="nested"):
            reviewer().answer(VALIDATE, BY_KIND["ClusterQueue"], body)


NAMES = st.sampled_from(
    [
        "metadata", "name", "namespace", "annotations", "labels", "deletionTimestamp", "finalizers", "spec",
        "status", "preemption", "borrowWithinCohort", "policy", "resourceGroups", "flavors", "resources",
        "coveredResources", "nominalQuota", "podSets", "template", "count", "conditions", "admission",
        "preemptionGates", "position", "lastTransitionTime", "admissionChecks", "priority",
        "priorityClassName", "schedulingPolicy", "disruptionMode", "reclaimablePods", "namespaceSelector",
        "matchExpressions", "fairSharing", "weight", "cohortName", "retryCount", "requeueAfterSeconds",
    ]
)  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "1", "-1", "1e400", "cpu", "True", "2026-01-01T00:00:00Z", "Never", "Open"])
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=25,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=5)


@given(
    registration=st.sampled_from(REGISTRATIONS),
    purpose=st.sampled_from([VALIDATE, MUTATE]),
    new=OBJECTS,
    old=st.none() | OBJECTS,
    subresource=st.sampled_from(["", "status", "scale"]),
    synced=st.booleans(),
)
@settings(max_examples=examples(1000), deadline=None)
def test_whatever_the_object_there_is_an_answer(
    registration: Registration,
    purpose: Purpose,
    new: dict[str, Any],
    old: dict[str, Any] | None,
    subresource: str,
    synced: bool,
) -> None:
    body = review(new, registration.kind, old, subResource=subresource)
    response = answered(body, purpose, registration.kind, CLASSES if synced else NO_FACTS)
    assert isinstance(response["allowed"], bool)
