"""What is wrong with an object of a kind that a command does not read, if it looks like one of those that it does."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from api.meta import Struct

__all__ = [
    "STATUS",
    "KindName",
    "ReportedStatus",
    "is_table",
    "misspelled",
    "other_version",
    "plural",
    "said",
]

KindName = tuple[str, str]
"""apiVersion and kind."""

STATUS: Final = ("v1", "Status")
TABLE: Final = "Table"
EVENTS: Final = "events.k8s.io"


class ReportedStatus(Struct):
    """meta/v1 Status: the API server's answer when it has no objects."""

    status: str = ""
    message: str = ""
    reason: str = ""


def said(status: ReportedStatus) -> str:
    """What an API server has answered in place of objects."""
    if status.status != "Failure":
        return "this is a Status of the API server, and no object"
    return (
        f"this is an error of the API server, and no object: {status.message or status.reason or 'Failure'}"
    )


def is_table(name: KindName) -> bool:
    """Whether this is what an API server makes for `kubectl get` without -o."""
    return name[1] == TABLE and _group(name[0]) == "meta.k8s.io"


def misspelled(name: KindName, known: Collection[KindName]) -> str:
    """The known kind that `pod` or `pods` means; "" if no known kind is meant. No API server takes these."""
    version, kind = name
    spelled = kind.lower()
    for each in known:
        if each[0] == version and spelled in (each[1].lower(), plural(each[1])):
            return each[1]
    return ""


def other_version(name: KindName, known: Collection[KindName]) -> KindName | None:
    """The known kind that this one is an older or a newer version of; None if it is another kind.

    Of the groups without a dot, some kinds have moved: `extensions/v1beta1` Deployment is now of `apps/v1`.
    """
    version, kind = name
    group = _group(version)
    moved = "." not in group or group == EVENTS
    for each in known:
        if each[1] == kind and (_group(each[0]) == group or (moved and "." not in _group(each[0]))):
            return each
    return None


def plural(kind: str) -> str:
    """What paths call the kind, by the rule that Kubernetes has for most kinds."""
    name = kind.lower()
    if name.endswith(("s", "x", "ch", "sh")):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _group(version: str) -> str:
    group, slash, _ = version.partition("/")
    return group if slash else ""
