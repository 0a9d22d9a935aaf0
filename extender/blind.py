"""The answers of a standby of Enforce that knows nothing of the cluster: nothing that a leader may not allow."""

from __future__ import annotations

from collections.abc import Callable

from controllers.gangs.answering import STARTING
from extender.wire import (
    ExtenderArgs,
    Verb,
    filter_all,
    filter_decoder,
    filter_none,
    names_decoder,
    preemption_decoder,
    preemption_result,
)
from nodes.groups.registry import groups_of

__all__ = ["Blind"]


class Blind:
    """For a process that runs no nodes plane while another replica enforces, and does not answer."""

    def __init__(self, saw: Callable[[str], None] = lambda _: None) -> None:
        """`saw`: gets the schedulerName of the pod of each call."""
        self._saw = saw

    def answer(self, verb: Verb, body: bytes) -> bytes:
        """See `extender.server.Answers`. Pods of groups wait, and nothing is evicted."""
        if verb == "filter":
            return self._filter(filter_decoder.decode(body))
        self._saw(preemption_decoder.decode(body).pod.spec.scheduler_name)
        return preemption_result({})

    def _filter(self, args: ExtenderArgs) -> bytes:
        self._saw(args.pod.spec.scheduler_name)
        if args.pod.spec.scheduling_group is not None or groups_of(args.pod):
            return filter_none(names_decoder.decode(args.node_names) or [], STARTING)
        return filter_all(args.node_names)
