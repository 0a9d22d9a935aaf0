"""What reprieve does in a cluster, by what its leader says on its Lease."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from answers.names import EVERYWHERE
from api.pauses import pauses_in
from api.published import ENFORCED, LIMITS_REACHED, NAMESPACE, PAUSES, PLANNING_MODE, RIGHTS_MISSING
from api.reached_limits import limits_in

__all__ = ["Mode", "ModeName", "mode_of"]

ModeName = Literal["Off", "Observe", "Enforce", ""]
"""Empty if nobody says it."""
MEANS: Final[dict[ModeName, str]] = {
    "Off": "planning.mode is Off: reprieve decides nothing about nodes, and evicts no pod for room on them.",
    "Observe": "planning.mode is Observe: reprieve writes down what it would do, and touches no pod.",
    "Enforce": "planning.mode is Enforce: reprieve evicts pods.",
}
PARTLY: Final = (
    "planning.mode is Enforce: reprieve evicts pods for gangs of selected namespaces. For others it only writes down "
    "what it would do."
)
NOT_SAID: Final = (
    "No process says on a Lease what it does here: reprieve is not installed, or nothing was read of it."
)
LACKS: Final = (
    "reprieve lacks rights to enforce ({}). Until it has them, it writes down what it would do, "
    "and touches no pod."
)


@dataclass(frozen=True, slots=True)
class Mode:
    """What a reader may know of it."""

    mode: ModeName
    sentence: str
    selector: Any = None
    """The label selector of the namespaces that are enforced, if others are not. It may name them, so only a reader of
    all namespaces gets it."""
    pauses: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()


def mode_of(notes: Mapping[str, str], may_name: Callable[[str], bool]) -> Mode:
    """By the annotations of the Lease. `may_name`: whether the reader may hear of a namespace, of all if it is
    `EVERYWHERE`."""
    said = notes.get(PLANNING_MODE)
    mode = next((each for each in MEANS if each == said), None)
    if mode is None:
        return Mode("", NOT_SAID)
    selector = _selector(notes.get(ENFORCED, "")) if mode == "Enforce" else None
    lacks = notes.get(RIGHTS_MISSING, "")
    sentence = LACKS.format(lacks) if lacks else PARTLY if selector is not None else MEANS[mode]
    return Mode(
        mode,
        sentence,
        selector if may_name(EVERYWHERE) else None,
        tuple(
            _paused(each.namespace, each.reason)
            for each in pauses_in(notes.get(PAUSES, ""))
            if each.namespace == NAMESPACE or may_name(each.namespace)
        ),
        tuple(
            str(each)
            for each in limits_in(notes.get(LIMITS_REACHED, ""))
            if not each.namespace or may_name(each.namespace)
        ),
    )


def _paused(namespace: str, reason: str) -> str:
    if namespace == NAMESPACE:
        return f"Evictions are paused in the whole cluster{reason}"
    return f"Evictions for namespace {namespace} and in it are paused{reason}"


def _selector(text: str) -> Any:
    """The selector in the text; None if the text is empty or no JSON."""
    try:
        return msgspec.json.decode(text or "null")
    except msgspec.DecodeError:
        return None
