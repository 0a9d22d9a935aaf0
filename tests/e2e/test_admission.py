"""Who is asked about an eviction: what we read of webhooks and policies, and what a real API server does."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
import pytest

from api.admission_matching import PodRequest
from hack.controlplane import objects
from hack.controlplane.client import ApiError, Client, Json
from hack.controlplane.plane import ControlPlane, Options
from runtime.mirror.views import Views
from runtime.mirror.watched_admission import WatchedAdmission
from tests.e2e.admission_load import GROUP, NAMESPACES, Random, labels
from tests.e2e.noting_webhook import NotingWebhook, noting
from tests.e2e.support import wait_for
from tests.kit.connected import connected
from tests.kit.often import SELDOM
from tests.kit.versions import THERE
from tests.kit.waiting import until

STRATEGIC: Final = "application/strategic-merge-patch+json"
PODS: Final = 12
REQUESTS_A_ROUND: Final = 50
KINDS: Final = {
    "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
    "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
    "validatingadmissionpolicies": "ValidatingAdmissionPolicy",
    "validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding",
    "mutatingadmissionpolicies": "MutatingAdmissionPolicy",
    "mutatingadmissionpolicybindings": "MutatingAdmissionPolicyBinding",
}
ASKED: Final = ("validating", "mutating", "policy", "change")
"""Begins of names: webhooks of both kinds, and policies of both kinds."""
MARK: Final = "mark"
"""Begins the names of what shows that the API server has learned of a round."""


@dataclass
class Table:
    """How often we said that somebody may be asked, and how often somebody was."""

    counts: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    """How often each kind of configuration was asked first."""
    unseen: list[str] = field(default_factory=list)
    """We said that nobody may be asked, and somebody was."""

    def add(self, said: bool, who: str, what: str) -> None:
        """`who`: who was asked; empty if nobody was."""
        self.counts[said, bool(who)] += 1
        if who:
            self.kinds[next((kind for kind in ASKED if f"{kind}-" in who), who)] += 1
        if who and not said:
            self.unseen.append(f"{what}: {who}")

    def __str__(self) -> str:
        total, nobody = self.counts.total(), self.counts[False, False] + self.counts[True, False]
        return (
            f"{total} requests: {self.counts[True, True]} reached somebody, {nobody} nobody; "
            f"unseen {len(self.unseen)}; tried by a dry run for nothing {self.counts[True, False]} "
            f"({self.counts[True, False] / max(1, nobody):.1%} of those that reached nobody); {dict(self.kinds)}"
        )


class Cluster:
    """Pods in namespaces with labels, and what is configured."""

    def __init__(self, client: Client, webhook: NotingWebhook, rng: random.Random) -> None:
        self.client, self.webhook = client, webhook
        self.versions = {plural: version for plural in KINDS if (version := self._version(plural))}
        """By kind that is served: its newest version."""
        self.pods: list[tuple[str, str, dict[str, str]]] = []
        """Namespace, name and labels."""
        for name, its in NAMESPACES.items():
            meta = {"name": name, "labels": its}
            client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
            account = {"name": "default", "namespace": name}
            client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
        for number in range(PODS):
            namespace, its = rng.choice(list(NAMESPACES)), labels(rng)
            client.create(objects.pod(f"pod-{number}", namespace, labels=its))
            self.pods.append((namespace, f"pod-{number}", its))
        self.configured: list[str] = []
        """Paths."""

    def _version(self, plural: str) -> str:
        for version in ("v1", "v1beta1", "v1alpha1"):
            with suppress(ApiError):
                self.client.request("GET", f"/apis/{GROUP}/{version}/{plural}?limit=1")
                return version
        return ""

    def put(self, plural: str, name: str, **content: object) -> None:
        """Create a configuration. One that the API server refuses is left out."""
        version = self.versions[plural]
        path = f"/apis/{GROUP}/{version}/{plural}"
        body = {"apiVersion": f"{GROUP}/{version}", "kind": KINDS[plural], "metadata": {"name": name}}
        try:
            self.client.request("POST", path, {**body, **content})
        except ApiError as error:
            if error.status != 422:
                raise
            return
        self.configured.append(f"{path}/{name}")

    def clear(self) -> None:
        """Remove all configurations."""
        while self.configured:
            self.client.request("DELETE", self.configured.pop())

    def configure(self, made: Random, number: int) -> None:
        """Other configurations than before."""
        self.clear()
        denies = made.some(0.3)
        for each in range(made.rng.randint(0, 2)):
            for kind in ("validating", "mutating"):
                name = f"{kind}-{number}-{each}"
                hooks = [
                    made.webhook(f"{name}-{at}", self.webhook.client_config(f"{name}-{at}"))
                    for at in range(made.rng.randint(0, 2))
                ]
                self.put(f"{kind}webhookconfigurations", name, webhooks=hooks)
        for each in range(made.rng.randint(0, 2)):
            self._put_policy(
                "validating",
                f"policy-{number}-{each}",
                *made.validating(f"policy-{number}-{each}", denies=denies),
            )
        if denies and "mutatingadmissionpolicies" in self.versions:
            for each in range(made.rng.randint(0, 2)):
                self._put_policy(
                    "mutating", f"change-{number}-{each}", *made.mutating(f"change-{number}-{each}")
                )
        self._put_marks(number)
        wait_for(lambda: self._knows(number), what=f"the API server does not learn of round {number}")

    def _put_policy(self, kind: str, name: str, spec: Json, bindings: list[Json]) -> None:
        self.put(f"{kind}admissionpolicies", name, spec=spec)
        for at, binding in enumerate(bindings):
            self.put(f"{kind}admissionpolicybindings", f"{name}-{at}", spec=binding)

    def _put_marks(self, number: int) -> None:
        """Last of each kind: something that is asked about ConfigMaps of this round."""
        rule = {
            "operations": ["CREATE"],
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["configmaps"],
        }
        of_round = {"objectSelector": {"matchLabels": {"round": str(number)}}}
        for kind in ("validating", "mutating"):
            name = f"{MARK}-{kind}-{number}"
            hook = {
                "name": f"{name}.example.com",
                "clientConfig": self.webhook.client_config(name),
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "rules": [rule],
                **of_round,
            }
            self.put(f"{kind}webhookconfigurations", name, webhooks=[hook])
        match = {"resourceRules": [rule], **of_round}
        said = {"expression": "false", "message": f"{MARK}-policy-{number}"}
        spec: Json = {"matchConstraints": match, "validations": [said]}
        self._put_policy(
            "validating",
            f"{MARK}-policy-{number}",
            spec,
            [{"policyName": f"{MARK}-policy-{number}", "validationActions": ["Warn"]}],
        )
        if "mutatingadmissionpolicies" in self.versions:
            patch = '[JSONPatch{op: "add", path: "/data", value: {"changed": "yes"}}]'
            spec = {
                "failurePolicy": "Fail",
                "reinvocationPolicy": "Never",
                "matchConstraints": match,
                "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
            }
            self._put_policy(
                "mutating", f"{MARK}-change-{number}", spec, [{"policyName": f"{MARK}-change-{number}"}]
            )

    def _knows(self, number: int) -> bool:
        self.webhook.take()
        self.client.warnings.clear()
        meta = {"name": "probe", "namespace": "default", "labels": {"round": str(number)}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
        answer = self.client.request("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", body)
        asked = {call.hook for call in self.webhook.take()}
        is_changed = "data" in answer or "mutatingadmissionpolicies" not in self.versions
        is_warned = any(f"{MARK}-policy-{number}" in each for each in self.client.warnings)
        expected = {f"{MARK}-{kind}-{number}" for kind in ("validating", "mutating")}
        return expected <= asked and is_changed and is_warned

    def asks(self, request: PodRequest) -> str:
        """Send the request as a dry run. Returns who was asked about it; empty if nobody was."""
        self.webhook.take()
        self.client.warnings.clear()
        refusal = self._send(request)
        resource = "/".join(filter(None, ("pods", request.subresource)))
        what = request.operation, resource, request.namespace, request.name
        called = sorted(call.hook for call in self.webhook.take() if call[1:] == what)
        return ", ".join(filter(None, (*called, *self.client.warnings, refusal)))

    def _send(self, request: PodRequest) -> str:
        path = f"/api/v1/namespaces/{request.namespace}/pods/{request.name}"
        try:
            if request.operation == "UPDATE":
                condition = {"type": "DisruptionTarget", "status": "True", "reason": "Test"}
                body: Json = {"status": {"conditions": [condition]}}
                self.client.request("PATCH", f"{path}/status?dryRun=All", body, STRATEGIC)
                return ""
            options = {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]}
            if request.operation == "DELETE":
                self.client.request("DELETE", path, options)
                return ""
            meta = {"name": request.name, "namespace": request.namespace}
            eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
            self.client.request("POST", f"{path}/eviction", {**eviction, "deleteOptions": options})
        except ApiError as error:
            return str(error)
        return ""

    def requests(self, rng: random.Random) -> Iterator[PodRequest]:
        """Random ones, for ever."""
        while True:
            namespace, name, its = rng.choice(self.pods)
            where = namespace, name, NAMESPACES[namespace]
            yield rng.choice(
                (
                    PodRequest("UPDATE", "status", *where, its),
                    PodRequest("DELETE", "", *where, its),
                    PodRequest("CREATE", "eviction", *where, {}),
                )
            )


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """An API server without our webhooks."""
    return start_plane(Options(api_only=True, manifests=()))


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[NotingWebhook]:
    """Who notes what is asked."""
    with noting(tmp_path / "webhook") as made:
        yield made


@pytest.mark.parametrize(
    ("requests", "seed"), [(300, 1), pytest.param(5000, 2, marks=SELDOM)], ids=["some", "many"]
)
@pytest.mark.matrix
async def test_nobody_is_asked_where_we_say_that_nobody_may_be(
    plane: ControlPlane, webhook: NotingWebhook, requests: int, seed: int
) -> None:
    rng, table = random.Random(seed), Table()
    client = Client.of_kubeconfig(plane.kubeconfig)
    cluster = await asyncio.to_thread(Cluster, client, webhook, rng)
    made = Random(seed, [name for _, name, _ in cluster.pods])
    async with connected(plane.kubeconfig) as ours:
        views = Views(ours)
        admission = WatchedAdmission(views, 60.0)
        following = asyncio.create_task(views.run())
        try:
            for number in range(requests // REQUESTS_A_ROUND):
                await asyncio.to_thread(cluster.configure, made, number)
                await until(lambda: admission.is_known and _names(admission) == _there(cluster))
                asked = cluster.requests(rng)
                for request in (next(asked) for _ in range(REQUESTS_A_ROUND)):
                    said = admission.may_reach(request)
                    who = await asyncio.to_thread(cluster.asks, request)
                    configured = "" if said or not who else _configured(cluster)
                    table.add(said, who, f"{request}\n{configured}")
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await asyncio.to_thread(_remove, cluster)
            client.close()
    versions = sorted({f"{plural} {version}" for plural, version in cluster.versions.items()})
    print(f"\n{THERE or 'default version'} ({', '.join(versions)}): {table}")
    assert table.unseen == []
    assert table.counts[True, True] > requests // 20
    assert table.counts[False, False] > requests // 20
    there = ASKED if "mutatingadmissionpolicies" in cluster.versions else ASKED[:-1]
    assert table.kinds.keys() == set(there) or requests < 5000


def _names(admission: WatchedAdmission) -> set[str]:
    return {name for kept in admission._kept for name in kept.items}


def _there(cluster: Cluster) -> set[str]:
    return {path.rpartition("/")[2] for path in cluster.configured}


def _configured(cluster: Cluster) -> str:
    found = (cluster.client.request("GET", path) for path in cluster.configured if MARK not in path)
    return "\n".join(msgspec.json.encode(each.get("spec", each.get("webhooks"))).decode() for each in found)


def _remove(cluster: Cluster) -> None:
    """Leave no traces for the next test on this plane."""
    cluster.clear()
    for namespace, name, _ in cluster.pods:
        cluster.client.delete("v1", "Pod", name, namespace, grace_seconds=0)
    for name in NAMESPACES:
        cluster.client.delete("v1", "ServiceAccount", "default", name)
        cluster.client.delete("v1", "Namespace", name)
