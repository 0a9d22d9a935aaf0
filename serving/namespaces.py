"""How a Configuration file chooses namespaces by their labels."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from api.meta import LabelSelector, LabelSelectorRequirement
from api.selectors import check_selector
from api.validation import FieldError
from serving.sections import Section

__all__ = ["NamespaceRequirement", "NamespaceSelector"]


class NamespaceSelector(Section):
    """meta/v1 LabelSelector."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: list[NamespaceRequirement] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether it selects all namespaces."""
        return not (self.match_labels or self.match_expressions)

    def check(self, path: str) -> None:
        """Raises FieldError, which names the field below `path`, for what an API server would refuse."""
        try:
            check_selector(self.selector, path)
        except ValueError as error:
            where, _, problem = str(error).partition(": ")
            raise FieldError(where, problem) from None

    @property
    def selector(self) -> LabelSelector:
        """The same as the API has it."""
        return LabelSelector(
            dict(self.match_labels),
            [
                LabelSelectorRequirement(each.key, each.operator, list(each.values))
                for each in self.match_expressions
            ],
        )


class NamespaceRequirement(Section):
    """meta/v1 LabelSelectorRequirement."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: list[str] = field(default_factory=list)
