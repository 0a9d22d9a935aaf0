"""Which metrics and labels an expression of Prometheus names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import promql_parser as promql

__all__ = ["Named", "added", "grouped", "named"]


@dataclass(frozen=True, slots=True)
class Named:
    """A selector of an expression."""

    name: str
    """Of the samples."""
    matchers: tuple[tuple[str, str, bool], ...]
    """Label, value, and whether it has to be equal."""


def named(expression: str) -> list[Named]:
    """The selectors of the expression. Raises ValueError if Prometheus would not read it."""
    return [
        Named(
            each.name or "",
            tuple((m.name, m.value, m.op == promql.MatchOp.Equal) for m in each.matchers.matchers),
        )
        for each in _nodes(promql.parse(expression))
        if isinstance(each, promql.VectorSelector)
    ]


def grouped(expression: str) -> list[tuple[set[str], list[Named]]]:
    """The aggregations of the expression: the labels that are kept, and the selectors inside."""
    return [
        (set(each.modifier.labels) if each.modifier is not None else set(), named(each.prettify()))
        for each in _nodes(promql.parse(expression))
        if isinstance(each, promql.AggregateExpr)
    ]


def added(expression: str) -> list[str]:
    """The parts of the expression that are added, or taken from one another, and name metrics. There is no result if
    one of them has none."""
    sums = [
        each
        for each in _nodes(promql.parse(expression))
        if isinstance(each, promql.BinaryExpr) and str(each.op) in "+-"
    ]
    sides = [side.prettify() for each in sums for side in (each.lhs, each.rhs)]
    return [side for side in sides if named(side)]


def _nodes(node: promql.Expr) -> Iterator[promql.Expr]:
    yield node
    match node:
        case promql.BinaryExpr():
            children = [node.lhs, node.rhs]
        case promql.AggregateExpr() | promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            children = [node.expr]
        case promql.Call():
            children = list(node.args)
        case promql.MatrixSelector():
            children = [node.vector_selector]
        case _:
            children = []
    for child in children:
        yield from _nodes(child)
