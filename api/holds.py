"""What a former `planning.mode: Enforce` has left and nobody has withdrawn yet, as the Lease says it."""

from __future__ import annotations

from typing import Final

import msgspec

from api.words import counted

__all__ = ["COUNTED", "UNKNOWN", "Holds", "holds_of"]

COUNTED: Final = ("units", "marks", "gates", "nominations", "pods")
"""The fields with counts."""
NOUNS: Final = ("broken group", "mark", "gate", "nomination", "held pod")
"""Of each of them."""


class Holds(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """How much is held, by kind. A pod with a gate and a nomination counts for both."""

    units: int = 0
    """Groups that are evicted whole, and have lost some of their pods."""
    marks: int = 0
    """Pods with our condition DisruptionTarget that stay."""
    gates: int = 0
    """Pods with our scheduling gate."""
    nominations: int = 0
    """Pods that a plan has nominated to a node."""
    pods: int = 0
    """Pods that filter has turned down, or whose condition reprieve.dev/Held is True. One more for each scheduler whose
    pods preempt may have answered with no node: nothing shows which ones, or how many."""
    lacks_rights: bool = False
    """The process may not write to pods."""
    unknown: bool = False
    """The process does not know yet what is held."""

    def __bool__(self) -> bool:
        """Whether anything is held, or may be."""
        return self.unknown or any(self.counts)

    @property
    def counts(self) -> tuple[int, ...]:
        """In the order of COUNTED."""
        return self.units, self.marks, self.gates, self.nominations, self.pods

    def text(self) -> str:
        """As an annotation: a JSON object. Empty if nothing is held."""
        return msgspec.json.encode(self).decode() if self else ""

    def __str__(self) -> str:
        """For people: `2 gates, 1 nomination`."""
        if not self:
            return "nothing"
        said = [counted(number, noun) for number, noun in zip(self.counts, NOUNS, strict=True) if number]
        return ", ".join(said) or "it is not known yet what"


UNKNOWN: Final = Holds(unknown=True)


def holds_of(text: str) -> Holds:
    """What the annotation says. Empty: nothing. What cannot be read may mean anything, so it counts as unknown."""
    if not text:
        return Holds()
    try:
        return msgspec.json.decode(text, type=Holds)
    except msgspec.DecodeError:
        return UNKNOWN
