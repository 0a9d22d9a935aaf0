"""What objects hold: the number of entries in each container that they reach, by the attribute that has it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any, Final

__all__ = ["entries"]

LIBRARIES: Final = ("asyncio", "concurrent", "threading", "logging", "structlog", "prometheus_client")


def entries(*roots: object, but: tuple[type, ...]) -> Counter[str]:
    """Entries of sets, lists, mappings and deques by `Class.attribute`. Nothing behind objects of the types `but`.

    Of a container in another one, the attribute has `[]` for each level.
    """
    found: Counter[str] = Counter()
    seen: set[int] = set()
    todo: list[tuple[str, object]] = [(type(root).__name__, root) for root in roots]
    while todo:
        path, held = todo.pop()
        if id(held) in seen or isinstance(held, (*but, type, str, bytes, int, float)):
            continue
        seen.add(id(held))
        if isinstance(held, Mapping | set | frozenset | list | deque):
            found[path] += len(held)
        todo.extend(_behind(path, held))
    return found


def _behind(path: str, held: object) -> Iterator[tuple[str, object]]:
    if isinstance(held, MethodType):
        yield path, held.__self__
    elif isinstance(held, FunctionType):
        yield from ((f"{path}()", cell.cell_contents) for cell in held.__closure__ or ())
    elif isinstance(held, Mapping):
        yield from ((f"{path}[]", each) for pair in held.items() for each in pair)
    elif isinstance(held, set | frozenset | Sequence | deque):
        yield from ((f"{path}[]", each) for each in held)
    if not type(held).__module__.startswith(LIBRARIES):
        name = type(held).__name__
        yield from ((f"{name}.{attribute}", value) for attribute, value in _attributes(held))


def _attributes(held: object) -> Iterator[tuple[str, Any]]:
    yield from list(getattr(held, "__dict__", {}).items())
    for kind in type(held).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            mangled = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") else name
            if hasattr(held, mangled):
                yield name, getattr(held, mangled)
