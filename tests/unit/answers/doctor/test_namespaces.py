"""What doctor says of `planning.enforcedNamespaceSelector`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from answers.doctor.findings import Finding
from answers.doctor.namespaces import enforced, gated
from answers.reading.documents import JsonDocument
from answers.reading.seen import SeenObjects
from tests.kit.healthy import healthy, only
from webhooks.registrations import configurations

Json = dict[str, Any]
CANARY = {"matchLabels": {"canary": "yes"}}
NOW = 0.0


def cluster(
    spaces: Mapping[str, Json], said: str, hook: Json | None = None, mode: str = "Enforce"
) -> dict[str, Finding]:
    """What both checks say, by function. `spaces`: labels by namespace. `hook`: what its selector requires, too."""
    objects = [each for each in healthy() if not each["kind"].endswith("WebhookConfiguration")]
    only(objects, "Lease")["metadata"]["annotations"].update(
        {"reprieve.dev/enforced-namespaces": said, "reprieve.dev/planning-mode": mode}
    )
    objects += [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        for name, labels in spaces.items()
    ]
    if hook is not None:
        mutating = configurations()[0]
        (pods,) = (each for each in mutating["webhooks"] if each["name"] == "pods.mutate.reprieve.dev")
        pods["namespaceSelector"]["matchExpressions"] += hook.get("matchExpressions", [])
        pods["namespaceSelector"]["matchLabels"] = hook.get("matchLabels", {})
        objects.append(mutating)
    seen = SeenObjects()
    body = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": objects})
    seen.add(JsonDocument(body), "test")
    found = {check.__name__: check(seen.seen(), NOW) for check in (enforced, gated)}
    return {name: finding for name, findings in found.items() for finding in findings}


SPACES = {"a": {"canary": "yes"}, "b": {}, "c": {"canary": "yes"}}
SAID = msgspec.json.encode(CANARY).decode()


def test_the_enforced_namespaces_are_named() -> None:
    found = cluster(SPACES, SAID)
    assert (found["enforced"].level, found["enforced"].message) == (
        "OK",
        "2 of 3 namespaces are enforced: a, c",
    )
    assert "gated" not in found, "there is no webhook"


def test_a_selector_that_selects_nothing_is_a_fault() -> None:
    assert cluster({"b": {}}, SAID)["enforced"].fault == "NothingEnforced"


@pytest.mark.parametrize(
    ("said", "mode"), [("", "Enforce"), ("no JSON", "Enforce"), (SAID, "Observe"), ("{}}", "Enforce")]
)
def test_where_all_namespaces_have_one_mode_nothing_is_said(said: str, mode: str) -> None:
    assert cluster({"b": {}}, said, {}, mode) == {}


@pytest.mark.parametrize(
    ("hook", "level", "fault"),
    [
        (CANARY, "OK", ""),
        ({"matchExpressions": [{"key": "canary", "operator": "In", "values": ["yes"]}]}, "OK", ""),
        ({}, "Warning", "WebhookSelectsOthers"),
        ({"matchLabels": {"canary": "no"}}, "Warning", "WebhookSelectsOthers"),
        ({"matchLabels": {"canary": "yes", "more": "x"}}, "Note", ""),
    ],
)
def test_the_selectors_of_webhook_and_process_are_compared(hook: Json, level: str, fault: str) -> None:
    found = cluster(SPACES, SAID, hook)["gated"]
    assert (found.level, found.fault) == (level, fault)
