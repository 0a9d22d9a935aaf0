"""Evaluates CEL rules on an object as API servers do: what did not change is tolerated, and changes are checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from schema import paths
from schema.cel import CelError
from schema.cel.values import ABSENT, OptionalValue, Value, variable
from schema.correlation import TYPE_META, Correlated, map_key, old_entries
from schema.nodes import CompiledRule, Json, Node
from schema.verdict import INVALID, Cause

__all__ = ["has_rules", "rule_causes"]


@dataclass(frozen=True, slots=True)
class _Standing:
    """How a value relates to the stored object: its own old value, or the old value of its parent."""

    own: Correlated | None = None
    parent: Correlated | None = None

    def unchanged(self) -> bool:
        """Whether nothing changed. A fault in it is then an old fault."""
        known = self.own or self.parent
        return known is not None and known.equal()

    def key(self, name: str) -> _Standing:
        """The standing of a field."""
        if self.own is None:
            return self
        if self.parent is None and name in TYPE_META:
            return _Standing()
        return _Standing(self.own.key(name), self.own)

    def index(self, index: int) -> _Standing:
        """The standing of an item."""
        return self if self.own is None else _Standing(self.own.index(index), self.own)


@cache
def has_rules(node: Node) -> bool:
    """Whether the schema, or a schema inside it, has a rule."""
    parts = (*node.properties.values(), node.additional, node.items)
    return bool(node.rules) or any(part is not None and has_rules(part) for part in parts)


def rule_causes(node: Node, new: Json, old: Json, correlated: Correlated | None) -> Iterator[Cause]:
    """The causes that the rules find in an object whose types are right. `old` is None on create."""
    return _causes(node, new, old, "", _Standing(correlated))


def _causes(node: Node, new: Json, old: Json, path: str, standing: _Standing) -> Iterator[Cause]:
    if new is None:
        return
    yield from _own_causes(node, new, old, path, standing)
    if isinstance(new, dict):
        stored = old if isinstance(old, dict) else {}
        for name, value in new.items():
            part = node.child(name)
            if part is not None:
                inner = paths.child(path, name) if name in node.properties else paths.key(path, name)
                yield from _causes(part, value, stored.get(name), inner, standing.key(name))
    elif isinstance(new, list) and node.items is not None:
        entries = old_entries(node, old)
        for index, item in enumerate(new):
            before = entries.get(map_key(node, item))
            yield from _causes(node.items, item, before, paths.index(path, index), standing.index(index))


def _own_causes(node: Node, new: Json, old: Json, path: str, standing: _Standing) -> Iterator[Cause]:
    for rule in node.rules:
        if rule.program.about_change and old is None and not rule.optional_old_self:
            continue
        try:
            holds = rule.program.holds(_scope(rule, node, new, old))
        except CelError as error:
            yield Cause(paths.shown(path), INVALID, f"{rule.message} (it cannot be evaluated: {error})")
            continue
        if not holds and (rule.program.about_change or not standing.unchanged()):
            yield Cause(_place(rule, path), INVALID, rule.message)


def _scope(rule: CompiledRule, node: Node, new: Json, old: Json) -> dict[str, Value]:
    scope: dict[str, Value] = {"self": variable(new, node)}
    if rule.optional_old_self:
        scope["oldSelf"] = ABSENT if old is None else OptionalValue(variable(old, node))
    elif old is not None:
        scope["oldSelf"] = variable(old, node)
    return scope


def _place(rule: CompiledRule, path: str) -> str:
    return paths.child(path, rule.field_path) if rule.field_path else paths.shown(path)
