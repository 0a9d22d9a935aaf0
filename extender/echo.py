"""The answers for pods that are left to the scheduler: each call gets back what it brought.

That needs nothing but the call itself: no mirror, no leader, and no pod that can be read. Who observes hears of preempt
calls, and cannot change the answers. See docs/decisions/0108.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final

import msgspec
import structlog

from api.clock import SYSTEM_CLOCK
from api.core import Pod
from extender.quiet import QuietMoments
from extender.wire import (
    NULL,
    Verb,
    Wire,
    candidates_decoder,
    filter_all,
    preemption_all,
    preemption_decoder,
    uids_of,
)

__all__ = ["Echo", "Hears"]

log = structlog.get_logger(__name__)


class _Metadata(msgspec.Struct, gc=False):
    uid: str = ""


class _Spec(msgspec.Struct, rename="camel", gc=False):
    scheduler_name: str = ""


class _Pod(msgspec.Struct, gc=False):
    spec: _Spec
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Given(Wire):
    """What the answers give back, as it came."""

    nodes: msgspec.Raw = NULL
    node_names: msgspec.Raw = NULL
    node_name_to_meta_victims: msgspec.Raw = NULL


class _Call(_Given, kw_only=True):
    pod: _Pod


_calls: Final = msgspec.json.Decoder(_Call)
_given: Final = msgspec.json.Decoder(_Given)


Hears = Callable[[Pod, Mapping[str, Collection[str]]], None]
"""Gets the pod of a preempt call, and the victims (UIDs) by node that it offers."""


class Echo:
    """filter and preempt as if there were no extender."""

    def __init__(
        self,
        saw: Callable[[str], None] = lambda _: None,
        hears: Hears | None = None,
        quiet: QuietMoments | None = None,
    ) -> None:
        """`saw`: gets the schedulerName of the pod of each call, if it can be read. `hears`: None: nobody does.

        `quiet`: when somebody hears of a call. That takes more time than the answer, and no scheduler waits for it.
        """
        self._saw, self._hears = saw, hears
        self._quiet = quiet or QuietMoments(SYSTEM_CLOCK)

    def answer(self, verb: Verb, body: bytes) -> bytes:
        """The answer to a call. Raises msgspec.DecodeError for a body that is no JSON object."""
        given = self._read(body)
        self._quiet.called()
        if verb == "filter":
            return filter_all(given.node_names, given.nodes)
        if self._hears is not None and isinstance(given, _Call):
            self._quiet.put(given.pod.metadata.uid, len(body), partial(self._tell, body, self._hears))
        return preemption_all(given.node_name_to_meta_victims)

    def _tell(self, body: bytes, hears: Hears) -> None:
        """A call that cannot be read, and a fault of ours, are logged."""
        try:
            args = preemption_decoder.decode(body)
            offered = candidates_decoder.decode(args.node_name_to_meta_victims) or {}
            hears(args.pod, uids_of(offered))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            log.warning("a preempt call is not understood", error=str(error))
        except Exception:
            log.exception("a preempt call is not heard")

    def _read(self, body: bytes) -> _Given:
        try:
            call = _calls.decode(body)
        except msgspec.ValidationError:
            return _given.decode(body)  # the pod cannot be read, and the rest may be in order
        self._saw(call.pod.spec.scheduler_name)
        return call
