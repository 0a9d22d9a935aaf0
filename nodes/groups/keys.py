"""The names of groups in the tables. A group of a foreign kind has a name that tells its kind.

Our own PodGroups have their bare names. Any other group is `<source>:<name>`, with a UID behind another colon if its
pods or their chain of controllers tell it. No Kubernetes object has a colon in its name, so no two groups share a key.
See docs/decisions/0069 and 0082.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "COSCHEDULING",
    "NATIVE",
    "SEPARATOR",
    "VOLCANO",
    "foreign_name",
    "is_foreign",
    "is_native_name",
    "is_owned",
    "named_by",
    "short_name",
    "source_of",
]

SEPARATOR: Final = ":"

POD_GROUPS: Final = "podgroups."
"""What the sources begin with whose objects are groups."""
NATIVE: Final = "podgroups.scheduling.k8s.io"
COSCHEDULING: Final = "podgroups.scheduling.x-k8s.io"
VOLCANO: Final = "podgroups.scheduling.volcano.sh"
"""Sources: the resource and API group of the objects."""


def foreign_name(source: str, name: str, uid: str = "") -> str:
    """The name of a group of another kind. `source`: the resource and API group, such as podgroups.scheduling.x-k8s.io.

    `uid`: of the object, or of the owner that has several groups. Empty if it is not known.
    """
    return SEPARATOR.join((source, name, uid) if uid else (source, name))


def named_by(name: str, uid: str) -> str:
    """The name of the same group with the UID of its owner."""
    source, bare, *_ = name.split(SEPARATOR)
    return foreign_name(source, bare, uid)


def is_foreign(name: str) -> bool:
    """Whether the name is that of a group of another kind."""
    return SEPARATOR in name


def is_native_name(name: str) -> bool:
    """Whether the name is that of a group of kube-scheduler's own kind."""
    return source_of(name) == NATIVE


def is_owned(name: str) -> bool:
    """Whether the name is that of a group that pods have by their owner."""
    return SEPARATOR in name and not name.startswith(POD_GROUPS)


def source_of(name: str) -> str:
    """The source of a group of another kind; empty for a PodGroup of ours."""
    source, colon, _ = name.partition(SEPARATOR)
    return source if colon else ""


def short_name(name: str) -> str:
    """The name without the UID, for people."""
    return SEPARATOR.join(name.split(SEPARATOR)[:2])
