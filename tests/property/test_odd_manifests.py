"""Whatever is wrong with a manifest, what-if says where, or reads it as its kind says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import yaml
from hypothesis import given
from hypothesis import strategies as st

from answers.errors import InputError
from answers.reading.documents import JsonDocument
from answers.reading.submissions import SubmissionReader
from answers.submission import Submission
from answers.what_if.claims import claims_of
from answers.what_if.pod_groups import with_pod_groups
from answers.what_if.units import units_of
from answers.what_if.workloads import workload_of
from api.validation import FieldError
from controllers.jobs.owned_workload import Classes, JobError
from nodes.answers.picture import NodesPicture
from nodes.state.tables import Tables

CASES: Final = Path(__file__).parents[1] / "conformance/answers/own/kinds.yaml"
ODD: Final[list[Any]] = [
    None, 0, -1, 1, 2**31, "", "x", [], {}, [None], [{}], {"a": 1}, True, 1.5, "1", {"containers": [{"name": "c"}]},
]  # fmt: skip
NODES: Final = NodesPicture.of(Tables())


def manifests() -> list[dict[str, Any]]:
    submitted = [case["files"]["sub.json"] for case in yaml.safe_load(CASES.read_text())]
    return [each for thing in submitted for each in (thing["items"] if thing["kind"] == "List" else [thing])]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of each value inside. Name, apiVersion and kind are left out: without them it is nothing at all."""
    if len(path) > 1 and path != ("metadata", "name"):
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from paths(each, (*path, key))


@st.composite
def odd_manifests(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = deepcopy(draw(st.sampled_from(MANIFESTS)))
    for _ in range(draw(st.integers(1, 3))):
        if not (places := [*paths(found)]):
            return found
        *before, last = draw(st.sampled_from(places))
        inside: Any = found
        for key in before:
            inside = inside[key]
        inside[last] = deepcopy(draw(st.sampled_from(ODD)))
    return found


MANIFESTS: Final = manifests()


@given(odd_manifests())
def test_an_odd_manifest_is_read_or_refused(manifest: dict[str, Any]) -> None:
    reader, refused = SubmissionReader("t"), ""
    try:
        reader.add(JsonDocument(json.dumps(manifest).encode()), "the manifest")
        submission = reader.expand({}, {})
    except InputError as error:
        refused = str(error)
    else:
        check(submission)
    assert not refused or refused.startswith("the manifest")  # it names the place


def check(submission: Submission) -> None:
    """Units and Workloads can be made of it."""
    NODES.with_claims(submission.claims)
    units = with_pod_groups(units_of(NODES, submission))
    assert sum(each.pods for each in units) >= 0
    for claim in (claim for unit in units for claim in claims_of(unit)):
        try:
            workload = workload_of(claim, Classes({}, {}), "2026-03-01T12:00:00Z")
        except (JobError, FieldError):
            continue
        assert workload.spec.queue_name or claim.kind == "Workload"


def test_the_manifests_themselves_are_read() -> None:
    reader = SubmissionReader("t")
    for number, manifest in enumerate(MANIFESTS):
        if manifest["kind"] != "deployment" and manifest["apiVersion"] != "ray.io/v1alpha1":
            named = {**manifest, "metadata": {**manifest["metadata"], "name": f"m{number}"}}
            if "much" not in json.dumps(manifest):
                reader.add(JsonDocument(json.dumps(named).encode()), f"manifest {number}")
    assert len(reader.expand({}, {}).objects) > 60
