"""Where Kueue is installed: its CRDs stay as they are, our webhooks add what it lacks, and answer to API servers only.

The CRDs are ours without what Kueue's do not have, so that nothing but the webhooks can refuse it.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from api.crds import definitions
from api.crds.rules import KEP_8522, MIN_ADMIT_DURATION, RULES
from api.crds.workload_rules import GATE_NAME
from api.workloads import AdmissionCheckState, PreemptionGateState
from hack.controlplane.binaries import binaries
from hack.controlplane.client import Json, path_of
from hack.controlplane.manifests import MANIFESTS, WEBHOOK_KINDS, apply_cluster_objects, render
from hack.controlplane.pki import Authority, Pair, write_kubeconfig
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import wait_until
from tests.e2e.rules.clusterqueue_webhook import KEPS, WEBHOOK
from tests.e2e.rules.gates_retries import GATE, GATES, OPENER, RETRIES
from tests.e2e.rules.sending import pairs, send
from tests.e2e.rules.table import Rule
from tests.e2e.webhook_server import bundle, metrics, status_of
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.manifests import cluster_queue, preemption, workload

OVERLAY: Final = "overlays/kueue"
KUEUE: Final = "kueue.x-k8s.io/v1beta2"
CRD: Final = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
FIELD: Final = "withinClusterQueueConfig"
OURS: Final = frozenset(
    rule.rule
    for rule in (
        KEP_8522,
        MIN_ADMIT_DURATION,
        GATE_NAME,
        *RULES[AdmissionCheckState],
        *RULES[PreemptionGateState],
    )
)
"""CEL that Kueue's CRDs do not have."""
ANNOTATION: Final = "metadata.annotations[reprieve.dev/min-admit-duration]"
NAME: Final = "kube-apiserver"


def of_kueue(value: Any) -> Any:
    """A schema, or a part of it, as Kueue has it."""
    if isinstance(value, list):
        return [of_kueue(each) for each in value if not (isinstance(each, dict) and each.get("rule") in OURS)]
    if isinstance(value, dict):
        return {name: of_kueue(each) for name, each in value.items() if name != FIELD}
    return value


def kueues_definitions() -> list[Json]:
    return [of_kueue(each) for each in definitions().values() if each["spec"]["group"] == "kueue.x-k8s.io"]


@pytest.fixture(scope="module")
def callers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the authority that API servers have their certificate from; `accepted.crt` is who is let in."""
    folder = tmp_path_factory.mktemp("callers")
    accepted = Authority(folder, "callers").pair.certificate.read_bytes()
    (folder / "accepted.crt").write_bytes(accepted)
    return folder


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane], callers: Path) -> ControlPlane:
    """With what the overlay says, Kueue's CRDs, and an API server that has a certificate for webhooks."""
    shipped = MANIFESTS / "components" / "kueue-installed" / "webhooks-configuration.yaml"
    (added,) = yaml.safe_load(shipped.read_text())
    settings = {
        "besideKueue": yaml.safe_load(added["value"])["webhooks"]["besideKueue"],
        "gateOpeners": {GATE: [OPENER]},
        "clientCAFile": str(callers / "accepted.crt"),
        "clientNames": [NAME],
        "certificates": {"pollSeconds": 0.2},
    }
    authority = Authority(callers, "callers")
    caller = authority.client(NAME, NAME)
    kubeconfig = callers / "kubeconfig"
    write_kubeconfig(kubeconfig, "https://unused", authority.pair.certificate, caller)
    content = yaml.safe_load(kubeconfig.read_text())
    content["users"][0]["name"] = "*"  # for every webhook
    kubeconfig.write_text(yaml.safe_dump(content))
    options = Options(
        api_only=True,
        webhooks=True,
        webhooks_settings={"webhooks": settings},
        webhooks_caller=kubeconfig,
        manifests=("crds", OVERLAY),
    )
    plane = start_plane(options)
    apply_cluster_objects(plane.client, kueues_definitions())
    return plane


def test_the_crds_have_the_shape_of_kueues() -> None:
    text = str(kueues_definitions())
    assert FIELD not in text
    assert not any(rule in text for rule in OURS)
    assert len(kueues_definitions()) == 9


def test_the_overlay_leaves_them_alone(plane: ControlPlane) -> None:
    """All of it is applied once more, over them."""
    names = [body["metadata"]["name"] for body in kueues_definitions()]
    before = [plane.client.get(*CRD, name) for name in names]
    known = bundle(plane.client)
    for body in render(binaries(["kubectl"])["kubectl"], MANIFESTS / OVERLAY):
        if body["kind"] not in WEBHOOK_KINDS:
            plane.client.apply(body)
    assert [plane.client.get(*CRD, name)["metadata"] for name in names] == [
        each["metadata"] for each in before
    ]
    assert bundle(plane.client) == known


def lacks_the_field(rule: Rule) -> bool:
    return FIELD not in f"{rule.base}{rule.good}{rule.bad}"


ADDED: Final = [rule for rule in (*KEPS, *GATES, *RETRIES) if lacks_the_field(rule)]


@pytest.mark.parametrize("rule", ADDED, ids=str)
def test_what_kueue_lacks_is_checked(plane: ControlPlane, rule: Rule) -> None:
    for operation in ("CREATE", "UPDATE") if rule.creates else ("UPDATE",):
        bad = send(plane, rule, rule.bad, operation)
        assert pairs(bad) == (rule.causes if operation == "CREATE" else rule.update_causes), bad.text
        good = send(plane, rule, rule.good, operation)
        assert good.allowed, good.text


@pytest.mark.parametrize(
    ("duration", "policy", "is_right"),
    [
        ("1m", "LowerOrNewerEqualPriority", True),
        ("1h30m", "LowerOrNewerEqualPriority", True),
        *((bad, "LowerOrNewerEqualPriority", False) for bad in ("59s", "0s", "-1h", "90", "1d", "")),
        ("1h", "LowerPriority", False),
        ("1h", "Never", False),
    ],
)
def test_the_annotation_is_under_the_rules_of_the_field(
    plane: ControlPlane, duration: str, policy: str, is_right: bool
) -> None:
    annotated = cluster_queue(preemption=preemption(withinClusterQueue=policy))
    annotated["metadata"]["annotations"] = {"reprieve.dev/min-admit-duration": duration}
    for operation in ("CREATE", "UPDATE"):
        rule = Rule.of("annotation", cluster_queue(), {})
        answer = send(plane, rule, {"metadata": annotated["metadata"], "spec": annotated["spec"]}, operation)
        expected = set() if is_right else {(ANNOTATION, "FieldValueInvalid")}
        assert pairs(answer) == expected, answer.text


def test_the_field_itself_does_not_get_as_far_as_the_webhook(plane: ControlPlane) -> None:
    """Kueue's CRD prunes it, or refuses it when asked to be strict."""
    body = cluster_queue(
        preemption=preemption(
            withinClusterQueue="LowerOrNewerEqualPriority",
            withinClusterQueueConfig={"minAdmitDuration": "1s"},
        )
    )
    made = plane.client.request("POST", f"{path_of(KUEUE, 'ClusterQueue')}?dryRun=All", body)
    assert FIELD not in made["spec"]["preemption"]


@pytest.mark.parametrize("rule", [rule for rule in WEBHOOK if rule.creates], ids=str)
def test_what_kueue_checks_is_left_to_it(plane: ControlPlane, rule: Rule) -> None:
    """Kueue's webhook is not here: whatever is refused all the same is refused by its CRDs."""
    bad = send(plane, rule, rule.bad, "CREATE")
    assert "admission webhook" not in bad.text


@pytest.mark.parametrize(
    "body", [cluster_queue(stopPolicy="None"), workload()], ids=lambda body: body["kind"]
)
def test_nothing_is_filled_in(plane: ControlPlane, body: Json) -> None:
    """The schema's defaults are there already; a finalizer, say, is Kueue's to add."""
    path = path_of(KUEUE, body["kind"], body["metadata"].get("namespace"))
    made = plane.client.request("POST", f"{path}?dryRun=All", body)
    assert made["spec"] == body["spec"]
    assert "finalizers" not in made["metadata"]


def attempt(plane: ControlPlane, pair: Pair | None) -> int:
    """The status of a request by whoever has this certificate. Raises OSError where no answer comes at all."""
    context = ssl.create_default_context(cadata=bundle(plane.client))
    if pair is not None:
        context.load_cert_chain(pair.certificate, pair.key)
    return status_of(plane, context)


def is_kept_out(plane: ControlPlane, pair: Pair | None) -> bool:
    try:
        attempt(plane, pair)
    except (ssl.SSLError, ConnectionError):
        return True
    return False


def test_only_api_servers_get_an_answer(plane: ControlPlane, callers: Path, tmp_path: Path) -> None:
    """All other tests here are asked by one that has a certificate."""
    ours, theirs = Authority(callers, "callers"), Authority(tmp_path, "others")
    assert is_kept_out(plane, None)
    assert is_kept_out(plane, theirs.client(NAME, NAME))
    assert attempt(plane, ours.client("somebody", "somebody")) == 403
    assert attempt(plane, ours.client(NAME, NAME)) == 400


def test_client_authorities_change_without_a_restart(
    plane: ControlPlane, callers: Path, tmp_path: Path
) -> None:
    """A file that is damaged or gone changes nothing; an authority that is not in it any more is not accepted."""
    accepted = callers / "accepted.crt"
    old, new = Authority(callers, "callers"), Authority(tmp_path, "others")
    pairs = [each.client(NAME, NAME) for each in (old, new)]
    before = accepted.read_bytes()
    known = faults(plane)
    try:
        accepted.write_bytes(new.pair.certificate.read_bytes())
        wait_until(
            lambda: is_kept_out(plane, pairs[0]), PATIENCE_SECONDS, "the old one is still accepted".__str__
        )
        assert attempt(plane, pairs[1]) == 400
        for damage in (lambda: accepted.write_text("no certificate"), accepted.unlink):
            damage()
            seen = faults(plane)
            wait_until(
                lambda: faults(plane) > seen,  # noqa: B023 - now
                PATIENCE_SECONDS,
                "nobody noticed".__str__,
            )
            assert attempt(plane, pairs[1]) == 400
            assert is_kept_out(plane, pairs[0])
    finally:
        accepted.write_bytes(before)
    wait_until(
        lambda: not is_kept_out(plane, pairs[0]), PATIENCE_SECONDS, "the old one is not accepted".__str__
    )
    assert is_kept_out(plane, pairs[1])
    assert faults(plane) > known


def faults(plane: ControlPlane) -> float:
    """How often a certificate could not be read, or published."""
    return metrics(plane)["reprieve_webhook_certificate_faults_total"]
