from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cli.common.configuration import Configuration, ConfigurationError, dump, load, parse
from controllers.gangs.configuration import PlanningConfiguration
from extender.configuration import TLSConfiguration, own_address
from webhooks.configuration import settings_of

HEAD = "apiVersion: reprieve.dev/v1alpha1\nkind: Configuration\n"
LOOPBACK = HEAD + "extender: {plainHTTP: true, bindAddress: 127.0.0.1}\n"
TLS = HEAD + "extender: {tls: {certFile: a.pem, keyFile: b.pem, clientCAFile: c.pem}}\n"
OFF = "planning: {mode: Off}\n"
QUOTA = HEAD + "extender: null\nquota: {mode: Enforce}\n"
ALONE = QUOTA + OFF
"""Quota alone."""
FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
WEBHOOKS = HEAD + OFF + "extender: null\nwebhooks: {gateOpeners: {example.com/gate: [jane]}}\n"


def test_the_webhooks_alone() -> None:
    configuration = parse(WEBHOOKS)
    assert configuration.extender is None
    assert configuration.webhooks is not None
    assert configuration.webhooks.port == 9444
    off = PlanningConfiguration(gates="Off", native_groups="Drive")
    settings = settings_of(configuration.webhooks, configuration.jobs, off)
    assert settings.gate_openers == {"example.com/gate": ("jane",)}
    assert (settings.gates_members, settings.gates_native) == (False, False)
    for planning, gated in (
        (PlanningConfiguration(mode="Off"), True),
        (PlanningConfiguration(mode="Enforce"), True),
        (PlanningConfiguration(mode="Enforce", native_groups="Off"), False),
    ):
        settings = settings_of(configuration.webhooks, configuration.jobs, planning)
        assert (settings.gates_members, settings.gates_native) == (True, gated)
    assert "authoritySeconds: 31536000" in dump(configuration)


def test_defaults() -> None:
    configuration = parse(TLS)
    assert configuration.extender is not None
    assert configuration.extender.tls == TLSConfiguration(
        cert_file="a.pem", key_file="b.pem", client_ca_file="c.pem"
    )
    assert configuration.extender.port == 9443
    assert configuration.ops.port == 9080
    assert configuration.planning.plan_deadline_seconds == 300
    assert configuration.planning.costs().daemon_set_pods == "Keep"
    assert configuration.groups.by_owner == "Victims"
    assert configuration.quota.mode == "Off"
    assert configuration.feature_gates == {
        "WorkloadAwarePreemption": True,
        "TimeBasedSamePriorityPreemption": True,
        "ACRequeueAfter": True,
        "MultiKueueOrchestratedPreemption": True,
    }
    assert configuration.multikueue is None


@pytest.mark.parametrize(
    "text",
    [
        TLS,
        LOOPBACK,
        LOOPBACK + "featureGates: {WorkloadAwarePreemption: true, TimeBasedSamePriorityPreemption: false}",
        WEBHOOKS,
        ALONE,
        TLS + "planning: {mode: Enforce}\nquota: {mode: Enforce, fairSharing: {}, freeOverdue: true}",
        ALONE + "multikueue: {}",
        ALONE + "multikueue: {origin: here, order: FirstComeFirstServed, nonPreemptingWindowSeconds: 0}",
        ALONE + "multikueue: {giveUpSeconds: 60, allowedNetworks: [127.0.0.0/8, '::1/128']}",
        ALONE + "featureGates: {MultiKueueOrchestratedPreemption: false}",
        TLS + f"quota: {{fairSharing: {{preemptionStrategies: [{INITIAL}]}}}}",
        TLS + f"quota: {{fairSharing: {{preemptionStrategies: [{FINAL}]}}}}",
    ],
)
def test_what_is_printed_is_the_same_configuration(text: str) -> None:
    configuration = parse(text)
    assert parse(dump(configuration)) == configuration


def test_every_default_is_printed() -> None:
    printed = dump(Configuration())
    for name in Configuration.__struct_encode_fields__:
        assert f"{name}:" in printed
    assert "  tls: null\n" in printed
    assert "  plainHTTP: false\n" in printed
    assert "  keptPlansPerPreemptor: 3\n" in printed


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.53", "::1", "localhost"])
def test_plain_http_on_loopback(address: str) -> None:
    extender = parse(f"{HEAD}extender: {{plainHTTP: true, bindAddress: '{address}'}}").extender
    assert extender is not None
    assert extender.plain_http


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected one document, found 0"),
        (TLS + "---\n" + TLS, "expected one document, found 2"),
        ("- a", "expected an object, got a list"),
        ("kind: Configuration", "apiVersion: is missing"),
        (HEAD.replace("v1alpha1", "v9"), "apiVersion: invalid enum value 'reprieve.dev/v9'"),
        (HEAD, "extender.tls: is missing"),
        (HEAD + "extender: {plainHTTP: true}", "extender.bindAddress: must be a loopback address"),
        (
            HEAD + "extender: {plainHTTP: true, bindAddress: example}",
            "extender.bindAddress: must be a loopback",
        ),
        (
            TLS.replace("{tls", "{plainHTTP: true, tls"),
            "extender.plainHTTP: cannot be true beside extender.tls",
        ),
        (HEAD + "extender: {tls: {certFile: a}}", "extender.tls.keyFile: is missing"),
        (HEAD + "extender: {tls: {certFile: ''}}", "extender.tls.certFile: expected a string"),
        (HEAD + "extender: {prot: 1}", "extender.prot: is no such field"),
        (HEAD + "ops: {port: 70000}", "ops.port: expected an integer <= 65535"),
        (HEAD + "ops: {port: '9080'}", "ops.port: expected an integer, got a string"),
        (LOOPBACK + "featureGates: {Nope: true}", "featureGates.Nope: is not a feature gate"),
        (
            LOOPBACK + "featureGates: {WorkloadAwarePreemption: 1}",
            "featureGates.WorkloadAwarePreemption: expected",
        ),
        (
            LOOPBACK + "featureGates: {WorkloadAwarePreemption: false}",
            "featureGates.WorkloadAwarePreemption: is locked to true",
        ),
        (
            HEAD + OFF + "extender: null",
            "extender: is null, webhooks is null, planning.mode is Off, and quota.mode is Off: there is nothing to",
        ),
        (
            QUOTA + "planning: {mode: Enforce}",
            "planning.mode: cannot be Enforce if extender is null: kube-scheduler has to ask reprieve.",
        ),
        (QUOTA, "planning.mode: cannot be Observe if quota.mode is Enforce: it is Enforce, or Off"),
        (LOOPBACK + "quota: {mode: Enforce}", "planning.mode: cannot be Observe if quota.mode is Enforce"),
        (
            QUOTA + "multikueue: {}",
            "planning.mode: cannot be Observe on a manager of several clusters",
        ),
        (LOOPBACK + "planning: {score: {terms: [Age]}}", "planning.score.terms[0]: "),
        (
            LOOPBACK + "planning: {score: {terms: [DisruptionCost, DisruptionCost]}}",
            "planning.score.terms[1]: DisruptionCost is there already",
        ),
        (
            LOOPBACK + "planning: {score: {maxDisruptionCostByNamespace: {a: -1}}}",
            "planning.score.maxDisruptionCostByNamespace",
        ),
        (LOOPBACK + "multikueue: {}", "multikueue: needs quota.mode Enforce, which is Off"),
        (
            LOOPBACK + "planning: {mode: Observe}\nquota: {mode: Enforce}",
            "planning.mode: cannot be Observe if quota.mode is Enforce",
        ),
        (
            QUOTA + "planning: {mode: Observe}\nmultikueue: {}",
            "planning.mode: cannot be Observe on a manager of several clusters",
        ),
        (
            LOOPBACK + "quota: {mode: Observe}\nmultikueue: {}",
            "multikueue: needs quota.mode Enforce, which is Observe",
        ),
        (ALONE + "multikueue: {origin: ''}", "multikueue.origin: expected"),
        (ALONE + "multikueue: {origin: a/b}", "multikueue.origin: expected"),
        (ALONE + "multikueue: {order: Cheapest}", "multikueue.order: invalid enum value"),
        (ALONE + "multikueue: {dispatcherName: x}", "multikueue.dispatcherName: is no such field"),
        (
            ALONE + "multikueue: {singleClusterPreemptionTimeoutSeconds: 0}",
            "multikueue.singleClusterPreemptionTimeoutSeconds: expected",
        ),
        (
            ALONE + "multikueue: {allowedNetworks: [10.0.0.0/8, 10.0.0.1/8]}",
            "multikueue.allowedNetworks[1]: 10.0.0.1/8 has host bits set",
        ),
        (LOOPBACK + "quota: {mode: On}", "quota.mode: "),
        (LOOPBACK + "quota: {overdueSeconds: 0}", "quota.overdueSeconds: expected"),
        (LOOPBACK + "quota: {freeOverdue: 1}", "quota.freeOverdue: expected"),
        (
            LOOPBACK + "quota: {planDeadlineSeconds: 300}",
            "quota.planDeadlineSeconds: is not more than quota.overdueSeconds",
        ),
        (LOOPBACK + "quota: {writesInFlight: 0}", "quota.writesInFlight: expected an integer >= 1"),
        (LOOPBACK + "quota: {kueueLease: ''}", "quota.kueueLease: expected"),
        (LOOPBACK + "quota: {fairSharing: {enable: true}}", "quota.fairSharing.enable: is no such field"),
        (
            LOOPBACK + "quota: {fairSharing: {preemptionStrategies: []}}",
            "quota.fairSharing.preemptionStrategies: is empty",
        ),
        (
            LOOPBACK + f"quota: {{fairSharing: {{preemptionStrategies: [{INITIAL}, {FINAL}]}}}}",
            f"quota.fairSharing.preemptionStrategies: [{INITIAL}, {FINAL}] is none of [{FINAL}], [{INITIAL}], "
            f"[{FINAL}, {INITIAL}]",
        ),
        (
            LOOPBACK + f"quota: {{fairSharing: {{preemptionStrategies: [{FINAL}, {FINAL}]}}}}",
            f"quota.fairSharing.preemptionStrategies: [{FINAL}, {FINAL}] is none of",
        ),
        (
            LOOPBACK + "quota: {fairSharing: {preemptionStrategies: [Nope]}}",
            "quota.fairSharing.preemptionStrategies[0]: invalid enum value 'Nope'",
        ),
        (
            LOOPBACK + "featureGates: {ACRequeueAfter: false}",
            "featureGates.ACRequeueAfter: is locked to true",
        ),
        (LOOPBACK + "webhooks: {clientNames: [a]}", "webhooks.clientNames: have no effect without"),
        (
            LOOPBACK + "webhooks: {certificates: {pollSeconds: 61}}",
            "webhooks.certificates.pollSeconds: expected",
        ),
        (
            LOOPBACK + "webhooks: {certificates: {managed: {overlapSeconds: 20000000}}}",
            "webhooks.certificates.managed.overlapSeconds: is more than a third",
        ),
        (
            LOOPBACK + "webhooks: {certificates: {managed: {authoritySeconds: 86400}}}",
            "webhooks.certificates.managed.certificateSeconds: is more than authoritySeconds",
        ),
        (
            LOOPBACK + "webhooks: {certificates: {managed: {hosts: []}}}",
            "webhooks.certificates.managed.hosts: expected",
        ),
        (
            QUOTA + "planning: {mode: Enforce, enforcedNamespaceSelector: {matchLabels: {a: b}}}",
            "planning.enforcedNamespaceSelector: must be empty if quota.mode is Enforce",
        ),
        (
            QUOTA
            + "planning: {mode: Enforce, enforcedNamespaceSelector: {matchLabels: {a: b}}}\nmultikueue: {}",
            "planning.enforcedNamespaceSelector: must be empty on a manager of several clusters",
        ),
        (
            LOOPBACK + "planning: {enforcedNamespaceSelector: {matchLabels: {a: 'b c'}}}",
            "planning.enforcedNamespaceSelector.matchLabels[a]: not a label value",
        ),
        (LOOPBACK + "planning: {searchBudget: 0}", "planning.searchBudget: expected an integer >= 1"),
        (
            LOOPBACK + "planning: {searchMilliseconds: -1}",
            "planning.searchMilliseconds: expected an integer >= 0",
        ),
        (LOOPBACK + "planning: {planDeadlineSeconds: .nan}", "planning.planDeadlineSeconds: expected"),
        (LOOPBACK + "planning: {backoffMaxSeconds: 0.5}", "planning.backoffMaxSeconds: is less than"),
        (LOOPBACK + "planning: {limits: {podsPerHour: 0}}", "planning.limits.podsPerHour"),
        (LOOPBACK + "planning: {limits: {plansInVainPerHour: 1.5}}", "planning.limits.plansInVainPerHour"),
        (LOOPBACK + "planning: {limits: {podsPerDay: 5}}", "planning.limits.podsPerDay"),
        (
            LOOPBACK + "leaderElection: {leaseDurationSeconds: 3.5}",
            "leaderElection.leaseDurationSeconds: is no whole number",
        ),
        (
            LOOPBACK + "leaderElection: {renewDeadlineSeconds: 14}",
            "leaderElection.renewDeadlineSeconds: is more than three",
        ),
        (
            LOOPBACK + "leaderElection: {retryPeriodSeconds: 6}",
            "leaderElection.retryPeriodSeconds: is more than half",
        ),
        (LOOPBACK + "leaderElection: {resourceName: ''}", "leaderElection.resourceName"),
        (TLS.replace("{tls", "{peers: {host: ''}, tls"), "extender.peers.host: expected"),
        (TLS.replace("{tls", "{peers: {serverName: ''}, tls"), "extender.peers.serverName: expected"),
        (TLS.replace("{tls", "{peers: {filterSeconds: 0}, tls"), "extender.peers.filterSeconds: expected"),
        (TLS.replace("{tls", "{peers: {name: a}, tls"), "extender.peers.name: is no such field"),
        (HEAD + "kind: Configuration", "line 3, column 1: key 'kind' is there twice"),
    ],
)
def test_errors_name_the_field(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("settings", "pod_ip", "address"),
    [
        ("", "10.0.0.7", "10.0.0.7:9443"),
        ("", "fd00::7", "[fd00::7]:9443"),
        ("", None, ""),
        ("peers: {host: reprieve-0.example}, port: 1, ", "10.0.0.7", "reprieve-0.example:1"),
        ("port: 0, ", "10.0.0.7", ""),
    ],
)
def test_replicas_reach_each_other_at_the_address_of_their_pod(
    monkeypatch: pytest.MonkeyPatch, settings: str, pod_ip: str | None, address: str
) -> None:
    monkeypatch.delenv("POD_IP", raising=False)
    if pod_ip is not None:
        monkeypatch.setenv("POD_IP", pod_ip)
    extender = parse(TLS.replace("{tls", f"{{{settings}tls")).extender
    assert extender is not None
    assert own_address(extender) == address


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    with pytest.raises(ConfigurationError, match=f"^{path}: No such file"):
        load(path)
    path.write_bytes(b"\xff\xff")
    with pytest.raises(ConfigurationError, match=f"^{path}: is not UTF-8"):
        load(path)
    path.write_text(HEAD)
    with pytest.raises(ConfigurationError, match=f"^{path}: extender.tls: is missing"):
        load(path)
    path.write_text("\ufeff" + TLS, "utf-8")
    extender = load(path).configuration.extender
    assert extender is not None
    assert extender.tls is not None


MANIFESTS = Path(__file__).parents[4] / "manifests"


def test_the_shipped_configuration_of_the_webhooks() -> None:
    """What the components add to it is in tests/unit/manifests/test_combinations.py."""
    configuration = load(MANIFESTS / "webhooks" / "configuration.yaml").configuration
    assert configuration.extender is None
    assert configuration.webhooks is not None
    # The one that lease.yaml grants.
    assert configuration.leader_election.resource_name == "reprieve-webhooks"


def test_the_mode_of_the_gates() -> None:
    assert parse(TLS).planning.gates == "Gathering"
    assert parse(TLS + "planning: {gates: UntilPlanned}\n").planning.gates == "UntilPlanned"
    with pytest.raises(ConfigurationError, match=r"planning\.gates"):
        parse(TLS + "planning: {gates: Never}\n")


@pytest.mark.parametrize("off", ["Off", "'Off'"])
def test_off_needs_no_quotes(off: str) -> None:
    assert parse(LOOPBACK + f"quota: {{mode: {off}}}\n").quota.mode == "Off"
    assert parse(LOOPBACK + f"groups: {{byOwner: {off}}}\n").groups.by_owner == "Off"
    planning = parse(LOOPBACK + f"planning: {{mode: {off}, gates: {off}, confirmation: {off}}}\n").planning
    assert (planning.mode, planning.gates, planning.confirmation) == ("Off", "Off", "Off")
    with pytest.raises(ConfigurationError, match=r"^planning\.partialGangs: expected a string"):
        parse(LOOPBACK + "planning: {partialGangs: Off}\n")


def test_to_observe_needs_no_listener() -> None:
    """But somebody has to have something to do."""
    alone = HEAD + "extender: null\n"
    assert parse(alone).planning.mode == "Observe"
    assert parse(alone + "planning: {mode: Observe}\n").planning.mode == "Observe"
    assert parse(LOOPBACK + "planning: {mode: Observe}\nquota: {mode: Observe}\n").quota.mode == "Observe"
    with pytest.raises(ConfigurationError, match="there is nothing to serve"):
        parse(alone + OFF)


def test_only_one_shipped_file_says_enforce_and_who_decides_nothing_about_nodes_says_off() -> None:
    """The base says nothing: the default is to observe."""
    said = {
        str(path.relative_to(MANIFESTS)): mode
        for path in MANIFESTS.rglob("*.yaml")
        for document in yaml.safe_load_all(path.read_text())
        if isinstance(document, dict) and document.get("kind") == "Configuration"
        if (mode := (document.get("planning") or {}).get("mode")) is not None
    }
    assert said == {
        "components/enforce/configuration.yaml": "Enforce",
        "components/page/configuration.yaml": "Off",
        "webhooks/configuration.yaml": "Off",
    }
    assert Configuration().planning.mode == "Observe"


@pytest.mark.parametrize("mode", ["Off", "Observe"])
def test_a_selector_stays_in_the_file_when_the_mode_goes_back(mode: str) -> None:
    selector = "enforcedNamespaceSelector: {matchExpressions: [{key: canary, operator: Exists}]}"
    planning = parse(LOOPBACK + f"planning: {{mode: '{mode}', {selector}}}\n").planning
    assert not planning.modes().narrowed
    assert parse(LOOPBACK + f"planning: {{{selector}, mode: Enforce}}\n").planning.modes().narrowed
    assert not parse(LOOPBACK + "planning: {enforcedNamespaceSelector: {}}\n").planning.modes().narrowed
