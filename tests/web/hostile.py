"""A world whose every text is hostile: names, namespaces, messages, schedulers, queues, nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from api.times import parse_rfc3339
from tests.kit.observed_plans import NOW, objects_of, plan

__all__ = ["IN_LISTS", "TEXTS", "hostile_file"]

TEXTS: Final = (
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "\u202egnp.exe",
    "nul\x00l",
    "\x1b[2J\x1b[31m",
    "x" * 253,
    "__proto__",
    "constructor",
    '=HYPERLINK("http:example")',
    "a\nb\tc",
    "\"'` onfocus=alert(1) autofocus",
    "{{7*7}} ${7*7} %s",
    "&lt;b&gt;&#60;",
    "zero\u200bwidth\u00a0space",
)
"""No slash is in them, so they can be in addresses."""
SLASHES: Final = "</script><script>alert(1)</script>"
IN_LISTS: Final = (*TEXTS, SLASHES)
"""What the list of Waiting has to show as it is."""


def hostile_file(folder: Path) -> Path:
    """A file with a pod, a gang and a plan for each text, and with Workloads and Jobs."""
    path = folder / "<b>hostile<img src=x>.json"
    items = [each for number, text in enumerate(IN_LISTS) for each in _objects(number, text)]
    items += [*_queues(), *_observed(), *_looked_at()]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def _observed() -> list[dict[str, Any]]:
    """Plans that say what a scheduler did, for a report: the namespaces and gangs of all texts."""
    age = NOW - parse_rfc3339("2026-02-28T12:00:00Z")
    plans = [
        plan(number, age=age, namespace=text, gang=text, pods=3 + number, served_nobody=number)
        for number, text in enumerate(TEXTS)
    ]
    return objects_of(*plans)


def _looked_at() -> list[dict[str, Any]]:
    """What the checks of doctor name."""
    webhooks = [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "reprieve"},
            "webhooks": [
                {
                    "name": text,
                    "clientConfig": {"service": {"namespace": text, "name": text}, "caBundle": text},
                }
                for text in TEXTS
            ],
        }
    ]
    scheduler = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": TEXTS[0], "namespace": TEXTS[1]},
        "data": {TEXTS[2]: f"kind: KubeSchedulerConfiguration\nextenders: [{{urlPrefix: '{TEXTS[3]}'}}]"},
    }
    return [*webhooks, scheduler]


def _objects(number: int, text: str) -> list[dict[str, Any]]:
    other = TEXTS[(number + 1) % len(TEXTS)]
    namespace = TEXTS[number % len(TEXTS)]
    requests = {"cpu": "1", other: "1"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": text, "labels": {"rack": text, "kubernetes.io/hostname": text}},
            "status": {"allocatable": {"cpu": "8", "pods": "110"}},
        },
        {
            "apiVersion": "reprieve.dev/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": text, "namespace": namespace, "uid": f"group-{number}"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}, "priority": number},
        },
        _pod(f"{text}-member", namespace, other, {"reprieve.dev/pod-group": text}, requests, f"job-{number}"),
        _pod(text, namespace, other, {}, {"cpu": "2"}, ""),
        _plan(number, text, other, namespace),
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": text, "namespace": namespace, "uid": f"job-{number}"},
            "spec": {
                "parallelism": 4,
                "template": {
                    "metadata": {"labels": {"reprieve.dev/pod-group": text}},
                    "spec": {"containers": []},
                },
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"event-{number}", "namespace": namespace},
            "involvedObject": {"kind": "Job", "name": text, "namespace": namespace, "uid": f"job-{number}"},
            "reason": "FailedCreate",
            "message": f"{text} {other} {SLASHES}",
        },
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": text, "namespace": namespace, "uid": f"workload-{number}"},
            "spec": {
                "queueName": "queue",
                "podSets": [
                    {
                        "name": "main",
                        "count": 2,
                        "template": {
                            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100"}}}]}
                        },
                    }
                ],
            },
        },
    ]


def _plan(number: int, text: str, other: str, namespace: str) -> dict[str, Any]:
    """A plan that has ended after it evicted."""
    pods = [{"namespace": other, "name": text, "uid": f"victim-{number}", "node": text}]
    return {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PreemptionPlan",
        "metadata": {"name": text, "namespace": namespace, "creationTimestamp": "2026-02-01T00:00:00Z"},
        "spec": {
            "preemptor": {
                "kind": "PodGroup",
                "apiVersion": text,
                "namespace": namespace,
                "name": text,
                "uid": f"group-{number}",
                "priority": 7,
            },
            "outcome": "Preempts",
            "reason": f"{text} {SLASHES}",
            "domain": {"topologyKey": text, "value": other},
            "placements": [{"pod": f"{text}-member", "node": other}],
            "victims": [
                {
                    "kind": "Pod",
                    "namespace": other,
                    "name": text,
                    "uid": f"victim-{number}",
                    "priority": 1,
                    "violatesPodDisruptionBudget": True,
                    "pods": pods,
                }
            ],
            "domains": [{"value": other, "outcome": "Preempts", "reason": text, "score": None}],
        },
        "status": {
            "phase": "Aborted",
            "takenNodes": [text],
            "conditions": [
                {
                    "type": each,
                    "status": "True",
                    "reason": text,
                    "message": f"{text} {other} {SLASHES}",
                    "lastTransitionTime": "2026-02-01T00:00:01Z",
                }
                for each in ("Evicting", "Aborted", text)
            ],
        },
    }


def _pod(
    name: str, namespace: str, scheduler: str, labels: dict[str, str], requests: dict[str, str], owner: str
) -> dict[str, Any]:
    owners = [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": owner, "controller": True}]
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": f"{name} {scheduler} {SLASHES}",
        "lastTransitionTime": "2026-02-01T00:00:00Z",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "uid": f"pod-{name}-{namespace}",
            **({"ownerReferences": owners} if owner else {}),
        },
        "spec": {
            "schedulerName": scheduler,
            "priority": 7,
            "containers": [{"name": "c", "resources": {"requests": requests}}],
        },
        "status": {"phase": "Pending", "conditions": [condition]},
    }


def _queues() -> list[dict[str, Any]]:
    """Their names, unlike others, are checked where they are read."""
    queues = [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": "queue", "namespace": namespace},
            "spec": {"clusterQueue": "queue"},
        }
        for namespace in TEXTS
    ]
    return [
        *queues,
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "flavor"}},
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": "queue"},
            "spec": {
                "namespaceSelector": {},
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu"],
                        "flavors": [{"name": "flavor", "resources": [{"name": "cpu", "nominalQuota": "1"}]}],
                    }
                ],
            },
        },
    ]
