"""What follows when a worker cluster refuses an act, or fails."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from api.clock import Clock
from controllers.multikueue.acting.patience import PATIENCE_SECONDS, Patience
from controllers.multikueue.life.memory import Memory
from controllers.multikueue.life.seen import Seen
from kube.errors import ApiError

__all__ = ["Refusing", "Remember"]

Remember = Callable[[Seen, Callable[[Memory], Memory]], None]
REFUSED: Final = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.CONFLICT,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
"""Answers that another attempt would get again: the cluster is out for this attempt of the Workload."""
UNSENT: Final = frozenset({"NotConnected", "Fenced"})
"""Reasons of errors that say nothing about the cluster."""


class Refusing:
    """In one term."""

    def __init__(self, remember: Remember, clock: Clock) -> None:
        self._remember, self._patience = remember, Patience(clock)

    def succeeded(self, seen: Seen, cluster: str) -> None:
        """The cluster did what was asked."""
        if self._patience.succeeded(seen, cluster):
            self._remember(seen, lambda memory: memory.works(cluster))

    def changed(self, what: str, seen: Seen, cluster: str, kind: str) -> None:
        """Another attempt would be changed again: the cluster is out for this attempt. `what`: the field."""
        message = f"the cluster changes the {kind} ({what})"
        self._remember(seen, lambda memory: memory.refused(cluster, "Changed", message))

    def gone(self, key: str) -> None:
        """There is no Workload of this key any longer."""
        self._patience.gone(key)

    def out(self, error: ApiError, seen: Seen, cluster: str, kind: str, *, for_good: bool = False) -> None:
        """A refusal that does not go away by itself puts the cluster out for this attempt. Raises any other one.

        `for_good`: a cluster that fails for too long is out, too: another one may take the Workload.
        """
        if error.status in REFUSED:
            reason, message = error.reason or str(error.status), _in_our_words(error, kind)
            self._remember(seen, lambda memory: memory.refused(cluster, reason, message))
            return
        if error.reason in UNSENT:
            raise error
        if not (self._patience.is_over(seen, cluster) and for_good):
            fault = f"no {kind} could be made there yet: {error.message}"
            self._remember(seen, lambda memory: memory.fails(cluster, fault))
            raise error
        message = f"no {kind} could be made there for {PATIENCE_SECONDS:.0f} s: {error.message}"
        self._remember(seen, lambda memory: memory.refused(cluster, "Failing", message))


def _in_our_words(error: ApiError, kind: str) -> str:
    """Never the text of the answer: a worker cluster is not trusted to say anything here."""
    match error.status:
        case HTTPStatus.NOT_FOUND:
            return f"its namespace or the kind {kind} does not exist there (404)"
        case HTTPStatus.CONFLICT:
            return f"a {kind} of this name exists there, and is not ours (409)"
        case HTTPStatus.FORBIDDEN:
            return f"the manager may not create a {kind} there, or a quota or policy refuses it (403)"
        case _:
            return f"the cluster refuses the {kind} ({error.status})"
