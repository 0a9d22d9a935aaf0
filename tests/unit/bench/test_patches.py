"""The forms in which the bench writes a mark."""

from __future__ import annotations

from bench.patches import FORMS, body_of
from kube.client import APPLY_PATCH, JSON_PATCH, STRATEGIC_MERGE_PATCH

POD = {"metadata": {"name": "p", "namespace": "d", "uid": "uid-p", "resourceVersion": "7"}}


def test_each_form_writes_the_same_condition_to_the_same_pod() -> None:
    bodies = {form.content_type: body_of(form, POD) for form in FORMS}
    merge, patch, applied = (bodies[each] for each in (STRATEGIC_MERGE_PATCH, JSON_PATCH, APPLY_PATCH))
    (condition,) = merge["status"]["conditions"]
    assert merge["metadata"] == {"uid": "uid-p"}
    assert [(each["path"], each["value"]) for each in patch[:2]] == [
        ("/metadata/uid", "uid-p"),
        ("/metadata/resourceVersion", "7"),
    ]
    assert patch[2]["value"].keys() == condition.keys()
    assert applied["metadata"] == {"name": "p", "namespace": "d", "uid": "uid-p"}
    assert [each["type"] for each in applied["status"]["conditions"]] == ["DisruptionTarget"]


def test_the_first_form_is_what_reprieve_sends() -> None:
    assert (FORMS[0].content_type, "as=PartialObjectMetadata" in FORMS[0].accept) == (
        STRATEGIC_MERGE_PATCH,
        True,
    )
