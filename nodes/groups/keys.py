"""The names of groups in the tables. A group of a foreign kind has a name that tells its kind.

Our own PodGroups have their bare names. Any other group is `<source>:<name>`, with a UID behind another colon if its
pods tell it. No Kubernetes object has a colon in its name, so no two groups share a key. See docs/decisions/0069.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID, uuid5

from api.groups import DisruptionMode, Empty, PodGroup, PodGroupSchedulingPolicy, PodGroupSpec
from api.meta import ObjectMeta

__all__ = ["asking", "foreign_name", "implied", "is_foreign", "short_name"]

SEPARATOR: Final = ":"
HIGHEST: Final = 2**31 - 1
"""No pod has a higher priority. So the lowest priority of its pods is that of the group."""
NAMES: Final = UUID("6b1e1c3a-0f0e-4c5e-9f5e-3d1f6f5a2b69")
"""Plans name victims by UID. A group whose pods do not tell its UID gets one from its name, the same everywhere."""


def foreign_name(source: str, name: str, uid: str = "") -> str:
    """The name of a group of another kind. `source`: the resource and API group, such as podgroups.scheduling.x-k8s.io.

    `uid`: of the object. Empty if its pods do not tell it.
    """
    return SEPARATOR.join((source, name, uid) if uid else (source, name))


def is_foreign(name: str) -> bool:
    """Whether the name is that of a group of another kind."""
    return SEPARATOR in name


def short_name(name: str) -> str:
    """The name without the UID, for people."""
    return SEPARATOR.join(name.split(SEPARATOR)[:2])


def implied(namespace: str, name: str) -> PodGroup:
    """The internal form of a group of another kind, from its name alone.

    It is evicted whole or not at all, by the lowest priority of its pods. It is no gang of ours: its pods ask for room
    one by one, as they are.
    """
    _, _, uid = name.partition(SEPARATOR)[2].partition(SEPARATOR)
    made_up = str(uuid5(NAMES, f"{namespace}/{name}"))
    return PodGroup(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=uid or made_up),
        spec=PodGroupSpec(
            scheduling_policy=PodGroupSchedulingPolicy(basic=Empty()),
            disruption_mode=DisruptionMode(all=Empty()),
            priority=HIGHEST,
        ),
    )


def asking(group: PodGroup | None) -> PodGroup | None:
    """The group, if its priority and policies replace those of its pods when they preempt: only ours do."""
    return None if group is None or is_foreign(group.metadata.name) else group
