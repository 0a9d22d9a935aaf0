"""What our identities asked of the API servers of a test session, from their audit logs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import yaml

from hack.controlplane.components import REPRIEVE_USER, WEBHOOKS_USER
from hack.controlplane.manifests import BASE

__all__ = ["AuditTrail", "Right", "granted"]


FILES: Final = {
    REPRIEVE_USER: BASE / "rbac.yaml",
    WEBHOOKS_USER: BASE / "webhooks" / "rbac.yaml",
}
"""Where the rights of our identities are."""


class Right(NamedTuple):
    """A verb on a resource (with its subresource) of an API group, and whose it is."""

    user: str
    verb: str
    group: str
    resource: str


@dataclass
class AuditTrail:
    """The sum over all planes that the session started."""

    used: Counter[Right] = field(default_factory=Counter)
    """What our services asked for and got."""
    refused: list[str] = field(default_factory=list)
    """Which of our services was told 403 or 401, and for what."""
    _logs: list[Path] = field(default_factory=list)

    def follow(self, log: Path) -> None:
        """Count this log too, when the time comes."""
        self._logs.append(log)

    def read(self, log: Path) -> None:
        """Count a log now, because it is about to be removed."""
        if log in self._logs:
            self._logs.remove(log)
            for line in log.read_text().splitlines():
                self._count(json.loads(line))

    def read_all(self) -> None:
        """Count whatever has not been counted."""
        for log in list(self._logs):
            self.read(log)

    def _count(self, event: dict[str, object]) -> None:
        user = event["user"]
        reference = event.get("objectRef")
        status = event.get("responseStatus")
        if not isinstance(user, dict) or not isinstance(reference, dict) or not isinstance(status, dict):
            return
        # Others, such as KWOK, are refused now and then while an API server that was restarted learns the rights.
        if user["username"] not in FILES:
            return
        if status.get("code") in (401, 403):
            self.refused.append(
                f"{user['username']}: {event['verb']} {event['requestURI']}: {status.get('message')}"
            )
        else:
            resource = "/".join(filter(None, (reference["resource"], reference.get("subresource"))))
            right = Right(user["username"], str(event["verb"]), reference.get("apiGroup", ""), resource)
            self.used[right] += 1


def granted() -> set[Right]:
    """What the shipped roles allow."""
    return {
        Right(user, verb, group, resource)
        for user, file in FILES.items()
        for role in yaml.safe_load_all(file.read_text())
        if role["kind"] in ("ClusterRole", "Role")
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
