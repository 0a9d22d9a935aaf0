"""Turns the tree of an expression into Python functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from api.durations import DurationError, parse_duration
from schema.cel import parser
from schema.cel.parser import (
    Binary,
    Call,
    CelSyntaxError,
    Choice,
    Expr,
    ListOf,
    Literal,
    Name,
    Not,
    Select,
)
from schema.cel.values import (
    CelError,
    Duration,
    ObjectValue,
    OptionalValue,
    Value,
    contains,
    either,
    equal,
    items_of,
    precedes,
    read,
    size,
)
from schema.formats import go_pattern, matches

__all__ = ["Program", "compile_rule"]

Scope = Mapping[str, Value]
"""The values of the variables, by name."""
Step = Callable[[Scope], Value]

VARIABLES: Final = frozenset({"self", "oldSelf"})
MACROS: Final = frozenset({"all", "exists", "exists_one"})


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled rule."""

    holds: Callable[[Scope], bool]
    """Whether the object obeys the rule. Raises CelError if the expression has no value."""
    about_change: bool
    """Whether the rule reads `oldSelf`."""


@cache
def compile_rule(text: str) -> Program:
    """Compile the rule. Raises CelSyntaxError."""
    names: set[str] = set()
    step = _step(parser.parse(text), VARIABLES, names)
    return Program(_truth(step), "oldSelf" in names)


def _step(tree: Expr, known: frozenset[str], names: set[str]) -> Step:
    """The function of a tree. The variables that it reads are added to `names`; all of them must be in `known`."""

    def inner(part: Expr) -> Step:
        return _step(part, known, names)

    match tree:
        case Literal(value):
            return lambda _: value
        case Name(name):
            if name not in known:
                raise CelSyntaxError(f"there is no variable {name!r}")
            names.add(name)
            return lambda scope: read(scope[name])
        case Select(operand, name):
            return _select(inner(operand), name)
        case ListOf(items):
            return _list(list(map(inner, items)))
        case Not(operand):
            return _not(inner(operand))
        case Binary("&&" | "||" as operator, left, right):
            return _logic(operator == "||", inner(left), inner(right))
        case Binary(operator, left, right):
            return _relation(operator, inner(left), inner(right))
        case Choice(condition, then, otherwise):
            return _choice(inner(condition), inner(then), inner(otherwise))
        case Call(None, "has", (Select(operand, name),)):
            return _has(inner(operand), name)
        case Call(receiver, name, (Name(variable), body)) if receiver is not None and name in MACROS:
            step = _step(body, known | {variable}, names)
            if name == "exists_one":
                return _one(inner(receiver), variable, step)
            return _fold(name == "exists", inner(receiver), variable, step)
        case Call(receiver, name, arguments):
            parts = arguments if receiver is None else (receiver, *arguments)
            return _call(name, receiver is not None, list(map(inner, parts)))


def _truth(step: Step) -> Callable[[Scope], bool]:
    def holds(scope: Scope) -> bool:
        value = step(scope)
        if not isinstance(value, bool):
            raise CelError("no such overload: this is not true or false")
        return value

    return holds


def _select(operand: Step, name: str) -> Step:
    return lambda scope: _object(operand(scope), name).get(name)


def _has(operand: Step, name: str) -> Step:
    return lambda scope: _object(operand(scope), name).has(name)


def _object(value: Value, name: str) -> ObjectValue:
    if not isinstance(value, ObjectValue):
        raise CelError(f"no such overload: {name} of what is no object")
    return value


def _list(items: list[Step]) -> Step:
    return lambda scope: tuple(item(scope) for item in items)


def _not(operand: Step) -> Step:
    holds = _truth(operand)
    return lambda scope: not holds(scope)


def _logic(decisive: bool, left: Step, right: Step) -> Step:
    sides = (_truth(left), _truth(right))
    return lambda scope: either(decisive, (partial(side, scope) for side in sides))


def _fold(decisive: bool, receiver: Step, variable: str, body: Step) -> Step:
    """The macros exists and all. They are || and && over the elements."""
    holds = _truth(body)

    def fold(scope: Scope) -> Value:
        elements = items_of(receiver(scope))
        return either(decisive, (partial(holds, {**scope, variable: each}) for each in elements))

    return fold


def _one(receiver: Step, variable: str, body: Step) -> Step:
    """The macro exists_one. It looks at every element: an error in one of them is an error of the whole."""
    holds = _truth(body)

    def one(scope: Scope) -> Value:
        elements = items_of(receiver(scope))
        return sum(holds({**scope, variable: each}) for each in elements) == 1

    return one


def _choice(condition: Step, then: Step, otherwise: Step) -> Step:
    holds = _truth(condition)
    return lambda scope: then(scope) if holds(scope) else otherwise(scope)


RELATIONS: Final[Mapping[str, Callable[[Value, Value], bool]]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": precedes,
    ">": lambda left, right: precedes(right, left),
    "<=": lambda left, right: not precedes(right, left),
    ">=": lambda left, right: not precedes(left, right),
    "in": lambda left, right: contains(right, left),
}


def _relation(operator: str, left: Step, right: Step) -> Step:
    relation = RELATIONS[operator]
    return lambda scope: relation(left(scope), right(scope))


def _call(name: str, is_method: bool, parts: list[Step]) -> Step:
    key = (name, is_method, len(parts))
    if key not in FUNCTIONS:
        raise CelSyntaxError(f"there is no function {name!r} with {len(parts)} arguments")
    function = FUNCTIONS[key]
    return lambda scope: function(*(part(scope) for part in parts))


def _texts(*values: Value) -> list[str]:
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) != len(values):
        raise CelError("no such overload: this is no string")
    return texts


def _matches(value: Value, pattern: Value) -> Value:
    text, expression = _texts(value, pattern)
    return matches(go_pattern(expression), text)


def _starts_with(value: Value, prefix: Value) -> Value:
    text, start = _texts(value, prefix)
    return text.startswith(start)


def _duration(value: Value) -> Value:
    (text,) = _texts(value)
    try:
        return Duration(parse_duration(text))
    except DurationError as error:
        raise CelError(str(error)) from None


def _optional(value: Value) -> OptionalValue:
    if not isinstance(value, OptionalValue):
        raise CelError("no such overload: this is no optional")
    return value


def _value(value: Value) -> Value:
    optional = _optional(value)
    if not optional.present:
        raise CelError("there is no old value")
    return read(optional.value)


FUNCTIONS: Final[Mapping[tuple[str, bool, int], Callable[..., Value]]] = {
    ("size", False, 1): size,
    ("size", True, 1): size,
    ("duration", False, 1): _duration,
    ("matches", True, 2): _matches,
    ("startsWith", True, 2): _starts_with,
    ("hasValue", True, 1): lambda value: _optional(value).present,
    ("value", True, 1): _value,
}
"""The key has the name, whether the function is called on its first argument, and the number of arguments with that
one."""
