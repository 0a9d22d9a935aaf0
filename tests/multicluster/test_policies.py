"""A worker whose policies change what the manager writes there (MutatingAdmissionPolicy)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import pytest

from api.multikueue import ORIGIN_LABEL
from hack.controlplane.client import ApiError, Json, path_of
from tests.e2e.job_sandbox import BATCH
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import wait_for
from tests.kit.multicluster.history import History
from tests.kit.often import SELDOM
from tests.multicluster.box import Box, Boxes, Place
from tests.multicluster.copies import copies_made
from tests.multicluster.recorder import Recorder
from tests.multicluster.trio import WORKERS, Trio

ADMISSION: Final = "admissionregistration.k8s.io/v1"
REST_SECONDS: Final = 60.0
MOST_WRITES: Final = 20
"""Versions of a copy or a Job in a minute. One that runs has about ten."""
SEEN: Final = "policy"
"""A label of what the policy has changed."""
PODS: Final = "/spec/podSets/0/template/spec"
ORIGIN: Final = f"/metadata/labels/{ORIGIN_LABEL.replace('/', '~1')}"


@dataclass(frozen=True)
class Policy:
    """What alpha does with what is created in the namespace, and what follows."""

    kind: str
    patch: str
    """A CEL expression: one more operation of a JSON patch."""
    says: str
    """What the message of the check says of alpha, while no other cluster has room; empty: it takes the Job."""
    copies: tuple[int, int] = (1, 1)
    """How many with our label are made in alpha and in beta."""


POLICIES: Final = {
    "label": Policy(
        "Job", 'JSONPatch{op: "add", path: "/spec/template/metadata/labels/team", value: "red"}', ""
    ),
    "image": Policy(
        "Workload",
        f'JSONPatch{{op: "replace", path: "{PODS}/containers/0/image", value: "mirror/pause"}}',
        "the cluster changes the Workload (spec)",
    ),
    "priority": Policy(
        "Workload",
        'JSONPatch{op: "replace", path: "/spec/priority", value: 7}',
        "the cluster changes the Workload (spec.priority)",
    ),
    "unmarked": Policy(
        "Workload",
        f'JSONPatch{{op: "remove", path: "{ORIGIN}"}}',
        f"the cluster changes the Workload (metadata.labels[{ORIGIN_LABEL}])",
        (0, 1),
    ),
    "job": Policy(
        "Job",
        f'JSONPatch{{op: "remove", path: "{ORIGIN}"}}',
        f"the cluster changes the Job (metadata.labels[{ORIGIN_LABEL}])",
    ),
    "toleration": Policy(
        "Job",
        'JSONPatch{op: "add", path: "/spec/template/spec/tolerations", '
        'value: [Object.spec.template.spec.tolerations{key: "red", operator: "Exists"}]}',
        "something there changes Jobs",
        (1, 2),  # it had quota twice
    ),
}
RESOURCES: Final = {"Job": ("batch", BATCH, "jobs"), "Workload": ("kueue.x-k8s.io", KUEUE, "workloads")}


@contextlib.contextmanager
def policy(place: Place, made: Policy) -> Iterator[None]:
    """Inside, the API server of the cluster changes what is created in the namespace."""
    group, _, resource = RESOURCES[made.kind]
    name, client = place.of("policy"), place.client
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [resource]}
    seen = f'JSONPatch{{op: "add", path: "/metadata/labels/{SEEN}", value: "yes"}}'
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {
            "resourceRules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place.name}},
        },
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": f"[{seen}, {made.patch}]"}}],
    }
    binding = {"policyName": name}
    for kind, body in (("MutatingAdmissionPolicy", spec), ("MutatingAdmissionPolicyBinding", binding)):
        client.create({"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": name}, "spec": body})
    try:
        wait_for(lambda: _changes(place, made), what=lambda: f"no policy {name}")
        yield
    finally:
        for kind in ("MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy"):
            client.delete(ADMISSION, kind, name)


def _changes(place: Place, made: Policy) -> bool:
    _, version, _ = RESOURCES[made.kind]
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"labels": {"app": "probe"}},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    }
    spec = (
        {"suspend": True, "template": template}
        if made.kind == "Job"
        else {"active": False, "priority": 1, "podSets": [{"name": "main", "count": 1, "template": template}]}
    )
    # Only the manager may create what keeps this label.
    labels = {ORIGIN_LABEL: "probe"} if ORIGIN in made.patch else {"app": "probe"}
    body = {
        "apiVersion": version,
        "kind": made.kind,
        "metadata": {"name": "probe", "namespace": place.name, "labels": labels},
        "spec": spec,
    }
    try:
        answer = place.client.request("POST", f"{path_of(version, made.kind, place.name)}?dryRun=All", body)
    except ApiError as error:
        if error.status in (403, 422) and ORIGIN in made.patch:
            return False  # the label is still there
        raise
    return SEEN in answer["metadata"]["labels"]


@pytest.fixture
def policies(trio: Trio) -> None:
    """Skips where API servers have none (before 1.36)."""
    try:
        trio.client("alpha").list(ADMISSION, "MutatingAdmissionPolicy")
    except ApiError as error:
        if error.status != 404:
            raise
        pytest.skip("this version serves no MutatingAdmissionPolicy")


@SELDOM
@pytest.mark.usefixtures("policies")
def test_policies_of_a_worker_make_no_loop_and_other_clusters_get_what_it_cannot_take(
    trio: Trio, boxes: Boxes
) -> None:
    """For a minute, with all policies at once, each in a namespace of its own: no copy is made again, nothing is
    written again and again, and the message says what is changed. Then beta gets room."""
    recorder = Recorder(trio)
    with ExitStack() as stack:
        stack.callback(recorder.close)
        all_: dict[str, Box] = {}
        for name, made in POLICIES.items():
            box = all_[name] = boxes(name, beta=0)
            stack.enter_context(policy(box.alpha, made))
            box.job("train", 1, template_labels={"app": "train"}, priority=3)
        for name, made in POLICIES.items():
            if made.says:
                _until_said(all_[name], made.says)
            else:
                assert all_[name].until_admitted(all_[name].workload_of("train")) == "alpha"
        time.sleep(REST_SECONDS)
        history = recorder.history()
        for name, box in all_.items():
            expected = dict(zip(WORKERS, POLICIES[name].copies, strict=True))
            found = {key.partition("/")[0]: count for key, count in copies_made(history, box.name).items()}
            assert {**dict.fromkeys(WORKERS, 0), **found} == expected, f"{name}\n{history.story(box.name)}"
            busy = {key: count for key, count in _versions(history, box.name).items() if count > MOST_WRITES}
            assert not busy, f"{name}\n{history.story(box.name)}"
        for name, made in POLICIES.items():
            if not made.says:
                continue
            box = all_[name]
            assert made.says in _said(box), name
            assert box.alpha.find_job("train") is None
            assert box.alpha.copies() == []
            box.beta.set_quota("q", 4)
            assert box.until_admitted(box.workload_of("train")) == "beta"
            box.beta.until_running("train", 1)


def _versions(history: History, namespace: str) -> dict[str, int]:
    """How often each copy and each Job in the workers has changed."""
    counts: dict[str, int] = {}
    for kind in ("Workload", "Job"):
        for each in history.of(kind, *WORKERS):
            if each.meta["namespace"] == namespace:
                key = f"{each.cluster}/{kind}/{each.meta['name']}"
                counts[key] = counts.get(key, 0) + 1
    return counts


def _said(box: Box) -> str:
    """Of the check on the manager."""
    body: Json = box.manager.find(box.workload_of("train")) or {}
    checks = body.get("status", {}).get("admissionChecks") or [{}]
    return str(checks[0].get("message", ""))


def _until_said(box: Box, text: str) -> None:
    wait_for(lambda: text in _said(box), what=lambda: f"{_said(box)}\n{box.story()}")
