"""Reads what `reprieve doctor --for Enforce` looks at: what doctor reads, and what decisions about nodes need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import msgspec

from answers.doctor.before import Looked
from answers.doctor.kinds import Deployment, SeenPod
from answers.errors import InputError
from answers.reading.documents import Kind
from answers.reading.node_objects import HELPFUL, NodeObjects
from answers.reading.published import PublishedLease
from answers.reading.seen import SeenObjects
from api.foreign_owners import ScaledDeployment, ScaleSpec
from api.lease import Lease
from api.owner_annotations import ByOwner
from nodes.groups.forms import ALL_PREEMPTING, Sources
from nodes.state.costs import CostRules

__all__ = ["BeforeEnforce"]

POD: Final = ("v1", "Pod")
OF_NODES: Final[Mapping[tuple[str, str], Kind]] = {
    # An object of somebody else that cannot be decided about must not prevent an answer.
    key: kind._replace(check=lambda _: None)
    for key, kind in NodeObjects.kinds.items()
    if key not in SeenObjects.kinds
}
STRUCTS: Final = frozenset(kind.struct for kind in OF_NODES.values())
CHECKS: Final[Mapping[type[Any], Callable[[Any], object]]] = {
    **{kind.struct: kind.check for kind in NodeObjects.kinds.values()},
    SeenPod: NodeObjects.kinds[POD].check,
}
UNUSABLE: Final = (ValueError, msgspec.DecodeError, RecursionError)


class BeforeEnforce(SeenObjects):
    """Keeps both. Only what doctor itself needs is missed: of all else, an answer says that it is not there."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {**OF_NODES, **SeenObjects.kinds}

    def __init__(
        self,
        costs: CostRules | None = None,
        by_owner: ByOwner | None = None,
        preempting: Sources = ALL_PREEMPTING,
    ) -> None:
        """`costs`, `by_owner`: as they would be set. `preempting`: see `nodes.groups.forms`."""
        super().__init__()
        self._nodes = NodeObjects(costs, by_owner)
        self._nodes.tables.set_preempting(preempting)
        self._refused: list[str] = []
        self._unusable: list[str] = []

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`."""
        if type(thing) not in STRUCTS:
            super().keep(thing, place)
        it = _for_nodes(thing)
        check = CHECKS.get(type(it))
        if check is None:
            return
        try:
            check(it)
            self._nodes.keep(it, place)
        except UNUSABLE as error:
            self._unusable.append(f"{place}: {error}")

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`."""
        if kind not in OF_NODES:
            return super().do_without(kind, problem)
        if kind not in HELPFUL and problem not in self._refused:
            self._refused.append(problem)
        return True

    def looked(self) -> Looked:
        """What was read. Call it after the last object was read."""
        nodes = self._nodes
        picture, why = None, "; ".join(self._refused)
        try:
            picture = nodes.picture() if not why else None
        except InputError as error:
            why = str(error)
        return Looked(picture, nodes.tables, nodes.jobs, why, tuple(self._unusable))


def _for_nodes(thing: Any) -> Any:
    """The object as decisions about nodes read it."""
    match thing:
        case Lease():
            return PublishedLease(metadata=thing.metadata)
        case Deployment():
            return ScaledDeployment(metadata=thing.metadata, spec=ScaleSpec(thing.spec.replicas))
        case _:
            return thing
