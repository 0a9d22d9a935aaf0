"""How far reprieve goes on the nodes plane, by namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from api.core import Namespace
from api.meta import LabelSelector
from api.selectors import selects

__all__ = ["Mode", "ModeChange", "Modes"]

Mode = Literal["Off", "Observe", "Enforce"]
"""Off: nothing is decided, and the verbs give back what they get. Observe: what would be done is decided and written
down, and no pod is touched. Enforce: it is done."""

EVERYWHERE: Final = LabelSelector()
"""An empty selector selects every namespace."""

ModeChange = Callable[[str, Mode, Mode], None]
"""Gets a namespace, its former mode, and the mode that it has now."""


class Modes:
    """The mode of each namespace. It is the store of a view of namespaces: labels count as they are now.

    With a selector, Enforce is for the namespaces that it selects. The others are observed, and so is a namespace that
    is not known, or is not known any longer.
    """

    def __init__(self, mode: Mode = "Enforce", enforced: LabelSelector = EVERYWHERE) -> None:
        """`enforced` must be valid (`api.selectors.check_selector`). It counts with Enforce only."""
        self._mode: Mode = mode
        self._wanted: Final = mode
        self._enforced = enforced
        self._known: dict[str, bool] = {}
        """By namespace: whether the selector selects it."""
        self._hooks: list[ModeChange] = []
        self.changes = 0
        """How often a namespace got another mode."""

    # ---- questions

    def of(self, namespace: str) -> Mode:
        """The mode of this namespace now."""
        if not self.narrowed or self._known.get(namespace, False):
            return self._mode
        return "Observe"

    def observes(self, namespace: str) -> bool:
        """Whether what is decided for this namespace is not done."""
        return self.of(namespace) == "Observe"

    def why_observed(self, namespace: str) -> str:
        """Why nothing is done for this namespace; empty if what is decided for it is done."""
        if not self.observes(namespace):
            return ""
        if self._mode == "Observe":
            lacks = "reprieve lacks rights to enforce, so it observes"
            return lacks if self.wants_to_enforce else "planning.mode is Observe"
        return f"planning.enforcedNamespaceSelector does not select namespace {namespace}"

    def knows(self, namespace: str) -> bool:
        """Whether the mode of this namespace is certain: it does not depend on labels that are not known yet."""
        return not self.narrowed or namespace in self._known

    @property
    def wants_to_enforce(self) -> bool:
        """Whether the Configuration says Enforce. `permit` says whether that can be done."""
        return self._wanted == "Enforce"

    def permit(self, may_act: bool) -> None:
        """Whether this process has the rights to enforce. Without them it observes in place of that."""
        self._mode = self._wanted if may_act or not self.wants_to_enforce else "Observe"

    @property
    def enforces(self) -> bool:
        """Whether anything is done, in whatever namespace."""
        return self._mode == "Enforce"

    @property
    def narrowed(self) -> bool:
        """Whether some namespaces may be observed, and others enforced."""
        selector = self._enforced
        return self._mode == "Enforce" and bool(selector.match_labels or selector.match_expressions)

    def on_change(self, hook: ModeChange) -> None:
        """Call `hook` whenever a namespace gets another mode. `of` has the new one by then."""
        self._hooks.append(hook)

    # ---- the store of a view (see `runtime.mirror.view.Store`)

    def upsert(self, item: Namespace) -> bool:
        """See `Store`."""
        name = item.metadata.name
        return self._put(name, selects(self._enforced, item.metadata.labels or {}))

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        del namespace
        return self._put(name, None)

    def _put(self, name: str, selected: bool | None) -> bool:
        """`selected`: None: the namespace is gone."""
        before = self.of(name)
        if selected is None:
            self._known.pop(name, None)
        else:
            self._known[name] = selected
        now = self.of(name)
        if now == before:
            return False
        self.changes += 1
        for hook in self._hooks:
            hook(name, before, now)
        return True
