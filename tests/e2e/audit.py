"""What our identities asked of the API servers of a test run, from their audit logs."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from hack.controlplane.components import MANAGER_USER, PAGE_USER, REPRIEVE_USER, WEBHOOKS_USER
from hack.controlplane.manifests import BASE, MANIFESTS

__all__ = [
    "READS",
    "AuditTrail",
    "Findings",
    "Right",
    "beyond_an_observer",
    "findings_of",
    "granted",
    "writes_of_reprieve",
]


FILES: Final = {
    REPRIEVE_USER: (
        BASE / "rbac.yaml",
        MANIFESTS / "rights" / "rbac.yaml",
        MANIFESTS / "quota" / "rbac.yaml",
        MANIFESTS / "components" / "quota-observe" / "rbac.yaml",
        MANIFESTS / "multikueue" / "rbac.yaml",
    ),
    MANAGER_USER: (MANIFESTS / "multikueue-worker" / "rbac.yaml",),
    WEBHOOKS_USER: (MANIFESTS / "webhooks" / "rbac.yaml",),
    PAGE_USER: (MANIFESTS / "components" / "page" / "rbac.yaml",),
}
"""Where the rights of our identities are."""

ENDING: Final = "because it is being terminated"
"""Nobody may create anything in a namespace that is being deleted, whatever their rights are."""


FORBIDDEN: Final = 403


class Right(NamedTuple):
    """A verb on a resource (with its subresource) of an API group, and whose it is."""

    user: str
    verb: str
    group: str
    resource: str


@dataclass
class Findings:
    """What our services did on all planes."""

    used: Counter[Right] = field(default_factory=Counter)
    """What they asked for and got."""
    refused: list[str] = field(default_factory=list)
    """Users that got 403 or 401, and for what."""

    def add(self, event: dict[str, object]) -> None:
        """Count one line of a log."""
        user = event["user"]
        reference = event.get("objectRef")
        status = event.get("responseStatus")
        if not isinstance(user, dict) or not isinstance(reference, dict) or not isinstance(status, dict):
            return
        # Others, such as KWOK, are refused now and then while an API server that was restarted learns the rights.
        if user["username"] not in FILES:
            return
        if status.get("code") == FORBIDDEN and _is_allowed(
            str(user["username"]), str(event["verb"]), reference
        ):
            return
        if status.get("code") in (401, FORBIDDEN) and ENDING not in str(status.get("message")):
            self.refused.append(
                f"{user['username']}: {event['verb']} {event['requestURI']}: {status.get('message')}"
            )
        else:
            resource = "/".join(filter(None, (reference["resource"], reference.get("subresource"))))
            right = Right(user["username"], str(event["verb"]), reference.get("apiGroup", ""), resource)
            self.used[right] += 1


class AuditTrail:
    """The audit logs of all planes of a test run, and the tests that have ended, whichever process ran them.

    The processes share a folder. In it is a link for each log, which a copy replaces before the log is removed, and a
    list of the tests that have ended.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._ended = folder / "ended"
        self._links: dict[Path, Path] = {}

    def follow(self, log: Path) -> None:
        """Count this log, too. It need not exist yet."""
        self._links[log] = self._folder / f"{uuid.uuid4().hex}.jsonl"
        self._links[log].symlink_to(log.resolve())

    def keep(self, log: Path) -> None:
        """Copy what our services did out of a log that is about to be removed."""
        link = self._links.pop(log)
        copy = link.with_suffix(".copy")
        copy.write_text("".join(line for line in _lines(link) if any(user in line for user in FILES)))
        copy.replace(link)

    def end(self, test: str) -> None:
        """Note that a test has ended, well or not."""
        with self._ended.open("a") as file:
            file.write(f"{test}\n")

    def missing(self, tests: Iterable[str]) -> set[str]:
        """Those that have not ended yet, in any process."""
        return set(tests) - set(_lines(self._ended, ends=False))

    def findings(self) -> Findings:
        """The sum over all logs."""
        return findings_of(*self._folder.glob("*.jsonl"))


def findings_of(*logs: Path) -> Findings:
    """The sum over these logs."""
    found = Findings()
    for log in logs:
        for line in _lines(log):
            found.add(json.loads(line))
    return found


def _lines(file: Path, *, ends: bool = True) -> Iterator[str]:
    """The whole lines of a file; of one that grows not the last piece. None where there is no file."""
    if file.exists():
        lines = file.read_text().splitlines(keepends=True)
        yield from (line if ends else line[:-1] for line in lines if line.endswith("\n"))


def _is_allowed(user: str, verb: str, reference: dict[str, object]) -> bool:
    """Whether the shipped roles allow the request. An API server that has just started does not know them yet."""
    resource = "/".join(str(part) for part in (reference["resource"], reference.get("subresource")) if part)
    return any(
        verb in rule["verbs"]
        and reference.get("apiGroup", "") in rule["apiGroups"]
        and resource in rule["resources"]
        and reference.get("name") in rule.get("resourceNames", [reference.get("name")])
        and role["metadata"].get("namespace") in (None, reference.get("namespace"))
        for role in _roles(user)
        for rule in role["rules"]
    )


@cache
def _roles(user: str) -> list[dict[str, Any]]:
    """The roles that are shipped for a user."""
    return [
        role
        for file in FILES[user]
        for role in yaml.safe_load_all(file.read_text())
        if role["kind"] in ("ClusterRole", "Role")
    ]


def granted() -> set[Right]:
    """What the shipped roles allow."""
    return {
        Right(user, verb, group, resource)
        for user in FILES
        for role in _roles(user)
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


READS: Final = frozenset({"get", "list", "watch"})
"""Verbs that change nothing."""
OF_AN_OBSERVER: Final = frozenset(
    {"reprieve.dev", "coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}
)
"""API groups to which an observer writes."""


def writes_of_reprieve(audit_log: Path) -> Iterator[dict[str, Any]]:
    """What reprieve has sent besides reads, as the audit log has it."""
    for line in audit_log.read_text().splitlines():
        event = json.loads(line)
        if event["user"]["username"] == REPRIEVE_USER and event["verb"] not in READS:
            yield event


def beyond_an_observer(audit_log: Path) -> list[str]:
    """What reprieve has sent that an observer must not send."""
    return [
        f"reprieve sent {event['verb']} {event['requestURI']}"
        for event in writes_of_reprieve(audit_log)
        if (event.get("objectRef") or {}).get("apiGroup", "") not in OF_AN_OBSERVER
    ]
