"""Questions that end with status 1 or 2: options, files and objects that are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hack.record.cases import Case

__all__ = ["wrong"]

NODES: Final = ("-f", "examples/training-cluster.yaml")
QUOTA: Final = ("-f", "examples/quota-teams.yaml")
ASKED: Final = (
    ("plan", "--for", "research/llama-train"),
    ("quota", "--for", "team-a/train"),
    ("queue",),
    ("queue", "a-standard"),
    ("why", "pod", "research/notebook"),
    ("why", "podgroup", "research/train"),
    ("why", "job", "research/evaluate"),
    ("why", "workload", "team-a/train"),
    ("what-if", "examples/what-if/train.yaml"),
    ("diff", "examples/diff/nodes.yaml"),
    ("who-evicted", "research/notebook"),
    ("doctor",),
)
"""Each reads a cluster."""
POD: Final = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}, "spec": %s}'
QUEUE: Final = (
    '{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": %s}'
)
INPUTS: Final = {
    "no-yaml": "a: [b",
    "no-object": "[1, 2]",
    "text": "hello",
    "empty": "",
    "unknown-kind": "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n",
    "no-name": "apiVersion: v1\nkind: Pod\nmetadata: {}\n",
    "no-kind": "apiVersion: v1\nmetadata: {name: a}\n",
    "wrong-type": POD % '{"containers": "none"}',
    "wrong-quantity": POD % '{"containers": [{"name": "c", "resources": {"requests": {"cpu": "much"}}}]}',
    "wrong-selector": POD % '{"containers": [{"name": "c"}], "nodeSelector": {"a": 1}}',
    "wrong-queue": QUEUE
    % '{"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "none", "resources": []}]}]}',
    "twice": "\n---\n".join([POD % '{"containers": [{"name": "c"}]}'] * 2),
}
OPTIONS: Final = (
    ("plan", *NODES),
    ("plan", "--for", "a/b/c", *NODES),
    ("plan", "--for", "/b", *NODES),
    ("plan", "--for", "research/llama-train", "--score-term", "None", *NODES),
    ("plan", "--for", "research/llama-train", "--score-term", "Cascade", "--score-term", "Cascade", *NODES),
    ("plan", "--for", "research/llama-train", "--jsonl", "-"),
    ("plan", "--for", "research/llama-train", "--groups-by-owner", "Some", *NODES),
    ("quota", *QUOTA),
    ("quota", "--for", "team-a/train", "--now", "noon", *QUOTA),
    ("quota", "--for", "team-a/train", "--feature-gates", "None=true", *QUOTA),
    ("quota", "--for", "team-a/train", "--feature-gates", "TimeBasedSamePriorityPreemption=maybe", *QUOTA),
    ("quota", "--for", "team-a/missing", *QUOTA),
    ("queue", "-n", "team-a", *QUOTA),
    ("queue", "team-a/standard", "-n", "team-a", *QUOTA),
    ("queue", "--priority", "99999999999", *QUOTA),
    ("queue", "--now", "2026-13-01T00:00:00Z", *QUOTA),
    ("why", "deployment", "a/b", *NODES),
    ("why", "pod", *NODES),
    ("what-if", *NODES),
    ("what-if", "examples/quota-teams.yaml", *NODES),
    ("what-if", "missing.yaml", *NODES),
    ("diff", *NODES),
    ("diff", "examples/what-if/train.yaml", *NODES),
    ("diff", "missing.yaml", *NODES),
    ("who-evicted", *NODES),
    ("validate",),
    ("validate", "-f", "-", "--old", "-"),
    ("validate", "--jsonl", "-", "-o", "json"),
    ("validate", "-f", "missing"),
    ("serve", "--config", "missing.yaml"),
    ("serve", "--config", "examples"),
    ("serve", "--config", "examples/quota-teams.yaml", "--print-config"),
)
LINES: Final = (
    "",
    "not json\n",
    "[]\n",
    '{"id": 1}\n{"id": 2, "objects": [], "for": "a/b"}\n',
    '{"id": 1, "objects": [], "for": "a"}\n',
    '{"id": 1, "now": "noon", "objects": [], "incoming": "a/b"}\n',
    '{"id": 1, "kind": "Pod", "operation": "CREATE", "object": {}}\n',
)


def wrong() -> Iterator[Case]:
    """All of them. Some kinds of wrong input are none for some commands."""
    for arguments in OPTIONS:
        yield Case(arguments)
    for asked in ASKED:
        yield Case(asked)
        yield Case((*asked, "--kubeconfig", "missing"))
        yield Case((*asked, "--context", "missing", "--kubeconfig", "config"), files={"config": "{}"})
        yield Case((*asked, "-f", "missing.yaml"))
        yield Case((*asked, "-f", "examples"))
        yield Case((*asked, *NODES, "--overlay", "missing.yaml"))
        yield Case((*asked, *NODES, "-o", "xml"))
        for name, text in INPUTS.items():
            yield Case((*asked, "-f", "-", *NODES, *QUOTA), stdin=text)
            yield Case((*asked, "-f", f"{name}.yaml"), files={f"{name}.yaml": text})
    for name, text in INPUTS.items():
        yield Case(("validate", "-f", f"{name}.yaml"), files={f"{name}.yaml": text})
        yield Case(("what-if", f"{name}.yaml", *NODES), files={f"{name}.yaml": text})
        yield Case(("diff", f"{name}.yaml", *NODES), files={f"{name}.yaml": text})
        yield Case(("plan", "--for", "research/llama-train", *NODES, "--overlay", "-"), stdin=text)
    for command in ("plan", "quota", "validate"):
        for lines in LINES:
            yield Case((command, "--jsonl", "-"), stdin=lines)
