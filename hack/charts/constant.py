"""What the chart `reprieve` has from manifests/ as it stands there: which objects, under which condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hack.charts.folders import MANIFESTS, Json, objects, patch_of
from hack.charts.text import action, item_action, template

__all__ = ["FILES", "TEMPLATES", "files", "templates"]

ENFORCES: Final = 'include "reprieve.enforces" .'
CALLED: Final = 'include "reprieve.called" .'
RIGHTS: Final = 'include "reprieve.rights" .'
CERT_MANAGER: Final = 'eq .Values.certificates "CertManager"'
BY_HAND: Final = frozenset({"Namespace", "Deployment"})
"""The kinds that the chart does not take over: it makes no Namespace, and Deployments vary with its values."""
OWN_CERTIFICATES: Final = "reprieve-webhooks-certificates"
"""The name of rights that the component `cert-manager` takes away."""
TEMPLATES: Final[tuple[tuple[str, str, str], ...]] = (
    ("observer", "base", ""),
    ("extender", "components/extender", CALLED),
    ("rights", "rights", RIGHTS),
    ("webhooks", "webhooks", ENFORCES),
    ("quota-enforce", "quota", 'eq (include "reprieve.quota" .) "Enforce"'),
    ("quota-observe", "components/quota-observe", 'eq (include "reprieve.quota" .) "Observe"'),
    ("second-scheduler", "components/second-scheduler", 'eq .Values.scheduler.entries "Second"'),
    ("page", "components/page", ".Values.page.enabled"),
    ("cert-manager", "components/cert-manager", CERT_MANAGER),
    ("multikueue", "multikueue", ".Values.multikueue.manager"),
    ("multikueue-worker", "multikueue-worker", ".Values.multikueue.worker"),
)
"""The file, the folder below manifests/, and the condition on the values; empty: always."""
MONITORS: Final = {
    "PodMonitor": 'eq .Values.monitoring.monitor "PodMonitor"',
    "PrometheusRule": ".Values.monitoring.rules",
}
"""The kinds of components/monitoring have a condition each."""
FILES: Final = (
    "base/configuration.yaml",
    "base/extender.yaml",
    "components/extender/configuration.yaml",
    "components/extender/kube-scheduler.yaml",
    "components/enforce/kube-scheduler.yaml",
    "components/second-scheduler/kube-scheduler.yaml",
    "components/quota-enforce/configuration.yaml",
    "components/quota-enforce/webhooks-configuration.yaml",
    "components/quota-observe/configuration.yaml",
    "components/page/configuration.yaml",
    "components/monitoring/dashboard.json",
    "webhooks/configuration.yaml",
)
"""What is in ConfigMaps. The chart has it in files/, byte for byte."""
PATCHES: Final = (
    "components/kueue-installed/webhooks-configuration.yaml",
    "components/cert-manager/webhooks-configuration.yaml",
)
"""Patches that add such a file."""

SELECTED: Final = "pods.mutate.reprieve.dev"
"""The webhook that adds scheduling gates: only where reprieve enforces (docs/modes.md)."""
EXPRESSIONS: Final = "with .Values.selector.matchExpressions }}{{ toYaml . | nindent 4 }}{{- end"
LABELS: Final = 'with .Values.selector.matchLabels }}{{ dict "matchLabels" . | toYaml | nindent 4 }}{{- end'


def templates() -> dict[str, str]:
    """By name of the file below templates/, its text."""
    found = {name: template(_chosen(folder), condition) for name, folder, condition in TEMPLATES}
    for body in objects("components/monitoring"):
        found[f"monitoring-{body['kind'].lower()}"] = template([body], MONITORS[body["kind"]])
    own = [body for body in objects("webhooks") if body["metadata"]["name"] == OWN_CERTIFICATES]
    found[OWN_CERTIFICATES.removeprefix("reprieve-")] = template(
        own, f"and ({ENFORCES}) (not ({CERT_MANAGER}))"
    )
    return {f"{name}.yaml": text for name, text in found.items()}


def files() -> dict[str, str]:
    """By name of the file below files/, its text."""
    found = {name: (MANIFESTS / name).read_text() for name in FILES}
    for name in PATCHES:
        (operation,) = patch_of(name.rpartition("/")[0], "ConfigMap", "reprieve-webhooks-configuration")
        found[name] = operation["value"]
    return found


def _chosen(folder: str) -> list[Json]:
    return [
        VARIED.get((body["kind"], body["metadata"]["name"]), _same)(body)
        for body in objects(folder)
        if body["kind"] not in BY_HAND and body["metadata"]["name"] != OWN_CERTIFICATES
    ]


def _same(body: Json) -> Json:
    return body


def _network_policy(body: Json) -> Json:
    """With the rule that the component `extender` adds."""
    (operation,) = patch_of("components/extender", "NetworkPolicy", "reprieve")
    rules = body["spec"]["ingress"]
    rules[:0] = [item_action(f"if {CALLED}"), operation["value"], item_action("end")]
    return body


def _webhook_configuration(body: Json) -> Json:
    """With the annotation of the component `cert-manager`."""
    annotation = {"annotations": {"cert-manager.io/inject-ca-from": "reprieve-system/reprieve-webhooks"}}
    body["metadata"] |= {**action(f"if {CERT_MANAGER}"), **annotation, **action("end")}
    return body


def _mutating(body: Json) -> Json:
    """With what the component `quota-observe` takes away, and with the namespaces that are enforced."""
    deleted = patch_of("components/quota-observe", body["kind"], "reprieve")
    names = {each["name"] for each in deleted["webhooks"]}
    body["webhooks"] = [each for webhook in body["webhooks"] for each in _webhook(webhook, names)]
    return _webhook_configuration(body)


def _webhook(webhook: Json, deleted: set[str]) -> list[Any]:
    if webhook["name"] == SELECTED:
        selector = webhook["namespaceSelector"]
        selector["matchExpressions"].append(item_action(EXPRESSIONS))
        selector |= action(LABELS)
    if webhook["name"] not in deleted:
        return [webhook]
    condition = 'if ne (include "reprieve.quota" .) "Observe"'
    return [item_action(condition), webhook, item_action("end")]


CONFIGURATIONS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
VARIED: Final[dict[tuple[str, str], Callable[[Json], Json]]] = {
    ("NetworkPolicy", "reprieve"): _network_policy,
    **{(kind, "reprieve-queues"): _webhook_configuration for kind in CONFIGURATIONS},
    ("ValidatingWebhookConfiguration", "reprieve"): _webhook_configuration,
    ("MutatingWebhookConfiguration", "reprieve"): _mutating,
}
"""The objects that components change."""
