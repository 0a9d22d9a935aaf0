from collections.abc import Callable
from typing import Any

class Shape:
    """What a JSON value is to be like; null is like everything."""

    def __init__(
        self,
        kind: str,
        fields: dict[str, Shape],
        every: Shape | None,
        check: Callable[[str], bool] | None,
    ) -> None:
        """`kind`: a type as OpenAPI names it, `quantity`, `date-time` or `integer or string`; anything for other names.

        `every`: of the items of an array, and of those of an object that `fields` does not have. `check`: whether a
        text is one of those that are meant; with it, one of more than 64 characters never is.
        """

    def fits(self, value: Any) -> bool:
        """Whether the value is like this all the way down; a number with a point is no integer, even 3.0."""

def nested_deeper(value: Any, limit: int) -> bool:
    """Whether objects and lists are nested more than `limit` deep; takes C stack for as many levels at most."""
