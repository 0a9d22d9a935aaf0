"""Is a mirror, at rest, what a fresh list says? Compared by name, UID and resourceVersion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.kit.stress.history import Json

__all__ = ["Held", "differences", "identities"]

Held = Mapping[tuple[str, str], tuple[str, str]]
"""UID and resourceVersion of each object of a kind, by namespace and name."""


def identities(bodies: Iterable[Json]) -> Held:
    """What a list holds."""
    metas = (body["metadata"] for body in bodies)
    return {
        (meta.get("namespace", ""), meta["name"]): (meta["uid"], meta["resourceVersion"]) for meta in metas
    }


def differences(who: str, kind: str, held: Held, listed: Held) -> list[str]:
    """What the mirror of a process lacks, has too much, or has in another state than the list."""
    wrong = []
    for key in sorted(held.keys() | listed.keys()):
        where = f"{kind} {'/'.join(key).strip('/')}"
        if key not in held:
            wrong.append(f"{who} does not know {where}")
        elif key not in listed:
            wrong.append(f"{who} knows {where}, which is gone")
        elif held[key][0] != listed[key][0]:
            wrong.append(f"{who} knows {where} of another UID")
        elif held[key][1] != listed[key][1]:
            wrong.append(f"{who} knows {where} in another state than it is")
    return wrong
