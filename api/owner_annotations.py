"""What users say in annotations of the groups that owners make."""

from __future__ import annotations

from typing import Final, Literal

from api.words import shown

__all__ = ["BY_OWNER", "BY_OWNER_ANNOTATION", "GANG_ANNOTATION", "ByOwner", "parse_by_owner", "parse_gang"]

ByOwner = Literal["Victims", "Gangs", "Off"]
"""Victims: the pods of an owner of a known kind are evicted together, or not at all. Gangs: and they wait for one
another, and reprieve evicts for all of them or for none. Off: only those count that say it."""
BY_OWNER: Final[tuple[ByOwner, ...]] = ("Victims", "Gangs", "Off")

GANG_ANNOTATION: Final = "reprieve.dev/gang"
"""On a pod, so in the pod template of its owner, or on the owner. "true": the pods of one owner are one group, whatever
its kind is. "false": they are not a group."""
BY_OWNER_ANNOTATION: Final = "reprieve.dev/groups-by-owner"
"""On an owner or a namespace: what counts there in place of `groups.byOwner` of the Configuration. On the Lease of the
process: what its Configuration says (`api.published`)."""


def parse_gang(text: str) -> bool:
    """The value of GANG_ANNOTATION. Raises ValueError, which does not name the annotation."""
    if text not in ("true", "false"):
        raise ValueError(f"{shown(text)} is not true or false")
    return text == "true"


def parse_by_owner(text: str) -> ByOwner:
    """The value of BY_OWNER_ANNOTATION. Raises ValueError, which does not name the annotation."""
    for setting in BY_OWNER:
        if text == setting:
            return setting
    raise ValueError(f"{shown(text)} is not {', '.join(BY_OWNER[:-1])} or {BY_OWNER[-1]}")
