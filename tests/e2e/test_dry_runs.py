"""Which evictions are tried by a dry run, as the audit log has it."""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
import yaml

from hack.controlplane.client import Json
from hack.controlplane.components import REPRIEVE_USER
from hack.controlplane.plane import ControlPlane
from tests.e2e.noting_webhook import NotingWebhook, noting
from tests.e2e.support import PlaneFactory, Sandbox, SandboxFactory, wait_for
from tests.kit.versions import older_than

VICTIMS = 6
GUARDED = {"app": "guarded"}
ADMISSION = "admissionregistration.k8s.io/v1"
HOOKS = "test-dry-runs"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}


def asked(sandbox: Sandbox) -> Counter[tuple[str, str, bool]]:
    """Marks and deletions of pods that reprieve asked for: verb, name of the pod, and whether it was a dry run."""
    counts: Counter[tuple[str, str, bool]] = Counter()
    for line in plane_of(sandbox).audit_log.read_text().splitlines():
        event = json.loads(line)
        reference = event.get("objectRef") or {}
        if event["user"]["username"] != REPRIEVE_USER or reference.get("namespace") != sandbox.namespace:
            continue
        dry = "dryRun" in event["requestURI"] or "dryRun" in (event.get("requestObject") or {})
        if reference.get("resource") == "pods" and event["verb"] in ("patch", "delete"):
            counts[event["verb"], reference["name"], dry] += 1
    return counts


def plane_of(sandbox: Sandbox) -> ControlPlane:
    """The plane, whose audit log is ours to read."""
    if sandbox.plane is None:
        pytest.skip("the audit log of this cluster is not ours to read")
    return sandbox.plane


def crowd(sandbox: Sandbox, guarded: int = 0) -> list[str]:
    """Nodes that are full, and the pods on them. The last ones are guarded."""
    nodes = sandbox.nodes(VICTIMS, cpu="1")
    return [
        sandbox.filler(f"low-{at}", node, 1, labels=GUARDED if at >= VICTIMS - guarded else None)[0]
        for at, node in enumerate(nodes)
    ]


def tried(counts: Counter[tuple[str, str, bool]], verb: str, pods: list[str]) -> list[str]:
    """The victims for which this was tried by a dry run."""
    return sorted(pod for pod in pods if counts[verb, pod, True])


def carried_out(sandbox: Sandbox) -> Json:
    """The plan of the gang that has got room."""
    return sandbox.wait_plan("hero", "Bound")


def test_without_webhooks_a_victim_takes_two_requests(sandbox: Sandbox) -> None:
    pods = crowd(sandbox)
    sandbox.wait_bound(*sandbox.gang("hero", VICTIMS, priority=100))
    counts = asked(sandbox)
    for verb in ("patch", "delete"):
        assert [counts[verb, pod, False] for pod in pods] == [1] * VICTIMS
        assert sum(counts[verb, pod, True] for pod in pods) == 1
    assert carried_out(sandbox)["status"]["skippedDryRuns"] == VICTIMS - 1


def guard(sandbox: Sandbox, webhook: NotingWebhook) -> None:
    """Have the API server ask the webhook before a guarded pod is deleted, and wait until reprieve knows."""
    hook = {
        "name": "guard.example.com",
        "clientConfig": webhook.client_config("guard"),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [RULE],
        "objectSelector": {"matchLabels": GUARDED},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": sandbox.namespace}},
    }
    plane, kind, meta = plane_of(sandbox), "ValidatingWebhookConfiguration", {"name": HOOKS}
    before = known(plane, kind)
    sandbox.client.create({"apiVersion": ADMISSION, "kind": kind, "metadata": meta, "webhooks": [hook]})
    wait_for(lambda: known(plane, kind) > before, what="reprieve does not see the webhook")


def known(plane: ControlPlane, kind: str) -> float:
    """How many objects of the kind reprieve sees."""
    with urllib.request.urlopen(f"{plane.ops_url}/metrics") as answer:  # noqa: S310  # our own URL
        lines = answer.read().decode().splitlines()
    return sum(
        float(line.rpartition(" ")[2])
        for line in lines
        if line.startswith("reprieve_mirror_objects{") and f'"{kind.lower()}s"' in line
    )


def test_a_webhook_is_asked_about_its_pods_only(sandbox: Sandbox, tmp_path: Path) -> None:
    pods = crowd(sandbox, guarded=2)
    with noting(tmp_path) as webhook:
        guard(sandbox, webhook)
        try:
            sandbox.wait_bound(*sandbox.gang("hero", VICTIMS, priority=100))
        finally:
            sandbox.client.delete(ADMISSION, "ValidatingWebhookConfiguration", HOOKS)
    counts = asked(sandbox)
    for verb in ("patch", "delete"):
        assert [counts[verb, pod, False] for pod in pods] == [1] * VICTIMS
        *samples, first, second = tried(counts, verb, pods)
        assert [first, second] == pods[-2:]
        assert len(samples) == 1
    assert carried_out(sandbox)["status"]["skippedDryRuns"] == VICTIMS - 3


@pytest.mark.skipif(older_than("1.37"), reason="API servers read policies from files from 1.37 on")
def test_a_refusal_that_no_api_shows_evicts_nobody(
    planes: PlaneFactory, sandboxes: SandboxFactory, tmp_path: Path
) -> None:
    """All pods of the sample's sort are tried then, so that no later plan meets them one by one."""
    name = "guard.static.k8s.io"
    meta = {"apiVersion": ADMISSION, "metadata": {"name": name}}
    who = f"request.userInfo.username != '{REPRIEVE_USER}'"
    match = {"resourceRules": [RULE], "objectSelector": {"matchLabels": GUARDED}, "namespaceSelector": {}}
    policy = {"matchConstraints": match, "validations": [{"expression": who, "message": "not these"}]}
    bound = {"policyName": name, "validationActions": ["Deny"]}
    (tmp_path / "policy.yaml").write_text(
        yaml.safe_dump_all(
            [
                {**meta, "kind": "ValidatingAdmissionPolicy", "spec": policy},
                {**meta, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound},
            ]
        )
    )
    sandbox = sandboxes(planes(reprieve=True, static_policies=tmp_path))
    pods = crowd(sandbox, guarded=VICTIMS)
    members = sandbox.gang("hero", VICTIMS, priority=100)
    plan = sandbox.wait_plan("hero", "Aborted")
    assert [each["reason"] for each in plan["status"]["conditions"]][-1] == "EvictionRefused"
    sandbox.watch_quietly(2, *members)
    counts = asked(sandbox)
    assert tried(counts, "delete", pods) == sorted(pods)
    assert [counts[verb, pod, False] for verb in ("patch", "delete") for pod in pods] == [0] * 2 * VICTIMS
