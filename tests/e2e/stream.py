"""A steady stream of ordinary pods in a sandbox."""

from __future__ import annotations

import threading
from collections.abc import Collection
from types import TracebackType
from typing import Any, Final, Self

from tests.e2e.support import Sandbox, wait_for

__all__ = ["Stream"]

PERIOD_SECONDS: Final = 0.2


class Stream:
    """While the context lasts, an ordinary pod of low priority is created five times a second.

    There is a node that has room for a few of them and is too small for a pod that asks for one CPU. A pod that is
    bound is deleted soon, and its node is known.
    """

    def __init__(self, sandbox: Sandbox, **pod: Any) -> None:
        """`pod`: see `Sandbox.pod`."""
        self._sandbox, self._pod = sandbox, {"priority": 1, "cpu": "100m", **pod}
        self.node = sandbox.node("spare", cpu="900m")
        sandbox.priority(1)
        self.created: list[str] = []
        self._nodes: dict[str, str] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stream", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def wait_bound(self) -> None:
        """Create no more, and wait until each pod has been bound."""
        self._ended.set()
        self._thread.join()
        wait_for(self._all_bound, what=lambda: f"not all were bound: {self._sandbox.report()}")

    def on(self, nodes: Collection[str]) -> list[str]:
        """The pods that were bound to these nodes."""
        return sorted(name for name, node in self._nodes.items() if node in nodes)

    def _all_bound(self) -> bool:
        self._look()
        return set(self.created) == self._nodes.keys()

    def _run(self) -> None:
        while not self._ended.wait(PERIOD_SECONDS):
            self.created.append(self._sandbox.pod(f"ordinary-{len(self.created)}", **self._pod))
            self._look()

    def _look(self) -> None:
        """Note who is bound, and delete them."""
        for name, node in self._sandbox.bound().items():
            if name.startswith("ordinary-") and name not in self._nodes:
                self._nodes[name] = node
                self._sandbox.delete_pod(name)
