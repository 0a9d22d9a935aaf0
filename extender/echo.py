"""The answers for pods that are left to the scheduler: each call gets back what it brought.

That needs nothing but the call itself: no mirror, no leader, and no pod that can be read. See docs/decisions/0108.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from extender.wire import NULL, Verb, Wire, filter_all, preemption_all

__all__ = ["Echo"]


class _Spec(msgspec.Struct, rename="camel", gc=False):
    scheduler_name: str = ""


class _Pod(msgspec.Struct, gc=False):
    spec: _Spec


class _Given(Wire):
    """What the answers give back, as it came."""

    nodes: msgspec.Raw = NULL
    node_names: msgspec.Raw = NULL
    node_name_to_meta_victims: msgspec.Raw = NULL


class _Call(_Given, kw_only=True):
    pod: _Pod


_calls: Final = msgspec.json.Decoder(_Call)
_given: Final = msgspec.json.Decoder(_Given)


class Echo:
    """filter and preempt as if there were no extender."""

    def __init__(self, saw: Callable[[str], None] = lambda _: None) -> None:
        """`saw`: gets the schedulerName of the pod of each call, if it can be read."""
        self._saw = saw

    def answer(self, verb: Verb, body: bytes) -> bytes:
        """The answer to a call. Raises msgspec.DecodeError for a body that is no JSON object."""
        given = self._read(body)
        if verb == "filter":
            return filter_all(given.node_names, given.nodes)
        return preemption_all(given.node_name_to_meta_victims)

    def _read(self, body: bytes) -> _Given:
        try:
            call = _calls.decode(body)
        except msgspec.ValidationError:
            return _given.decode(body)  # the pod cannot be read, and the rest may be in order
        self._saw(call.pod.spec.scheduler_name)
        return call
