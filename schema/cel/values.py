"""The values of expressions: JSON values with their schemas, and the operations on them.

Booleans, integers and strings are Python's own. Null is None. Every other type has a class here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

from api.times import instant

__all__ = [
    "ABSENT",
    "CelError",
    "Duration",
    "ListValue",
    "ObjectValue",
    "OptionalValue",
    "Schema",
    "Time",
    "Value",
    "WrongValue",
    "contains",
    "either",
    "equal",
    "items_of",
    "precedes",
    "read",
    "size",
    "typed",
    "variable",
]


class CelError(Exception):
    """The expression has no value for this object."""


class Schema(Protocol):
    """The part of a schema that decides how a value is read."""

    @property
    def types(self) -> tuple[str, ...]:
        """The JSON types of the value."""

    @property
    def format(self) -> str:
        """The format of a string."""

    @property
    def nullable(self) -> bool:
        """Whether null is a value."""

    @property
    def properties(self) -> Mapping[str, Schema]:
        """The fields of an object. Empty for a map."""

    @property
    def items(self) -> Schema | None:
        """The schema of the items of a list."""

    @property
    def list_type(self) -> str:
        """map, set, atomic or ""."""

    @property
    def map_keys(self) -> tuple[str, ...]:
        """The keys of the items, for a list of type map."""

    def child(self, name: str) -> Schema | None:
        """The schema of a field, or of a map's values."""


@dataclass(frozen=True, slots=True)
class ObjectValue:
    """An object or a map."""

    fields: Mapping[str, Any]
    schema: Schema

    def has(self, name: str) -> bool:
        """Whether the field is present. Raises CelError if it is, but its value has the wrong type."""
        if self._is_absent(name):
            return False
        self.get(name)
        return True

    def get(self, name: str) -> Value:
        """The value of the field. Raises CelError if it is absent or has the wrong type."""
        if self._is_absent(name):
            raise CelError(f"no such key: {name}")
        return typed(self.fields[name], self.schema.child(name))

    def _is_absent(self, name: str) -> bool:
        """In an object, null means absent. In a map, it does not."""
        return name not in self.fields or (self.fields[name] is None and bool(self.schema.properties))


@dataclass(frozen=True, slots=True)
class ListValue:
    """A list. In a list of type set or map the order does not count."""

    elements: Sequence[Any]
    schema: Schema

    def __iter__(self) -> Iterator[Value]:
        """The elements. An element of the wrong type raises an error only when it is `read`."""
        return (variable(element, self.schema.items) for element in self.elements)

    def __len__(self) -> int:
        return len(self.elements)

    def key(self, element: Value) -> tuple[Any, ...]:
        """The key of an entry of a map list. Raises CelError."""
        if not isinstance(element := read(element), ObjectValue):
            raise CelError("an entry of a map list is no object")
        key = tuple(element.fields.get(name) for name in self.schema.map_keys)
        if any(isinstance(part, dict | list) for part in key):
            raise CelError("the key of an entry of a map list is no scalar")
        return key


@dataclass(frozen=True, slots=True, order=True)
class Time:
    """A point in time."""

    nanoseconds: int


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time."""

    microseconds: int
    """Rounded down. Comparisons with whole microseconds stay right."""


@dataclass(frozen=True, slots=True)
class WrongValue:
    """A variable of the wrong type. It raises an error only when it is read."""

    problem: str


@dataclass(frozen=True, slots=True)
class OptionalValue:
    """The value of `oldSelf` in a rule where it may be absent."""

    value: Value
    present: bool = True


ABSENT: Final = OptionalValue(None, present=False)
Value: TypeAlias = (
    bool
    | int
    | str
    | float
    | ObjectValue
    | ListValue
    | Time
    | Duration
    | OptionalValue
    | WrongValue
    | tuple["Value", ...]
    | None
)
EPOCH: Final = "1970-01-01T00:00:00Z"
ORDERED: Final = (int, str, Time, Duration)


def variable(value: Any, schema: Schema | None) -> Value:
    """As `typed`, but a value of the wrong type raises an error only when it is `read`."""
    try:
        return typed(value, schema)
    except CelError as error:
        return WrongValue(str(error))


def read(value: Value) -> Value:
    """The value of a variable. Raises CelError if its type is wrong."""
    if isinstance(value, WrongValue):
        raise CelError(value.problem)
    return value


def typed(value: Any, schema: Schema | None) -> Value:
    """The value as its schema describes it. Raises CelError for a value of another type."""
    if schema is None:
        raise CelError("a value without a schema")
    if value is None:
        if schema.nullable:
            return None
        raise CelError("null, which it may not be")
    match value:
        case bool():
            found: Value = value if "boolean" in schema.types else ABSENT
        case int():
            found = (
                value if "integer" in schema.types else float(value) if "number" in schema.types else ABSENT
            )
        case float():
            found = value if "number" in schema.types else ABSENT
        case str():
            found = _text(value, schema)
        case dict():
            found = ObjectValue(value, schema) if "object" in schema.types else ABSENT
        case list():
            found = ListValue(value, schema) if "array" in schema.types else ABSENT
        case _:
            found = ABSENT
    if found is ABSENT:
        raise CelError(f"a value of the wrong type, not {' or '.join(schema.types)}")
    return found


def _text(value: str, schema: Schema) -> Value:
    if "string" not in schema.types:
        return ABSENT
    if schema.format != "date-time":
        return value
    # A stored value may have passed a weaker check. API servers then read "" as 1970, and a time without zone as UTC.
    for text in (value or EPOCH, f"{value}Z"):
        if (nanoseconds := instant(text)) is not None:
            return Time(nanoseconds)
    raise CelError(f"no time: {value!r}")


def equal(left: Value, right: Value) -> bool:
    """The operator ==. Values of different types are never equal. Raises CelError."""
    left, right = read(left), read(right)
    match left, right:
        case ObjectValue(), ObjectValue():
            if len(left.fields) != len(right.fields):
                return False
            return all(_equal_fields(left, right, name) for name in left.fields)
        case (ListValue() | tuple(), ListValue() | tuple()):
            return _equal_lists(left, right)
        case OptionalValue(), OptionalValue():
            return left.present == right.present and equal(left.value, right.value)
        case _:
            return same_type(left, right) and left == right


def _equal_fields(left: ObjectValue, right: ObjectValue, name: str) -> bool:
    there = left.has(name)
    return right.has(name) is there and (not there or equal(left.get(name), right.get(name)))


def _equal_lists(left: ListValue | tuple[Value, ...], right: ListValue | tuple[Value, ...]) -> bool:
    if len(left) != len(right):
        return False
    kind = left.schema.list_type if isinstance(left, ListValue) else ""
    if isinstance(left, ListValue) and kind == "map":
        entries = {left.key(element): element for element in left}
        seen = {left.key(element) for element in right}
        return seen == set(entries) and all(equal(entries[left.key(each)], each) for each in right)
    if kind == "set":
        others = list(right)
        return all(contains(others, element) for element in left)
    return all(equal(mine, other) for mine, other in zip(left, right, strict=True))


def same_type(left: Value, right: Value) -> bool:
    """Whether both have the same type. Integers and other numbers count as one type."""
    numbers = (int, float)
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool)
    return type(left) is type(right) or (isinstance(left, numbers) and isinstance(right, numbers))


def precedes(left: Value, right: Value) -> bool:
    """The operator <. Raises CelError for types without an order."""
    if same_type(left, right) and not isinstance(left, bool) and isinstance(left, (*ORDERED, float)):
        return left < right  # type: ignore[operator]  # both are of one ordered type
    raise CelError("no such overload: < of these types")


def contains(container: Any, element: Value) -> bool:
    """The operator in. Raises CelError if the container is neither a list nor a map."""
    if isinstance(container, ObjectValue):
        return isinstance(element, str) and container.has(element)
    return either(True, (partial(equal, each, element) for each in items_of(container)))


def either(decisive: bool, sides: Iterable[Callable[[], bool]]) -> bool:
    """The operators || and &&. If one side is decisive (true for ||, false for &&), an error in another side does not
    count."""
    error: CelError | None = None
    for side in sides:
        try:
            if side() is decisive:
                return decisive
        except CelError as raised:
            error = error or raised
    if error is not None:
        raise error
    return not decisive


def items_of(container: Value | list[Value]) -> Iterator[Value]:
    """The elements of a list, or the keys of a map. Raises CelError for any other value."""
    if isinstance(container, ObjectValue):
        return iter(container.fields)
    if isinstance(container, ListValue | tuple | list):
        return iter(container)
    raise CelError("no such overload: this is neither a list nor a map")


def size(value: Value) -> int:
    """The number of characters, elements or keys. Raises CelError for any other value."""
    match value:
        case str() | ListValue() | tuple():
            return len(value)
        case ObjectValue():
            return len(value.fields)
        case _:
            raise CelError("no such overload: size of this type")
