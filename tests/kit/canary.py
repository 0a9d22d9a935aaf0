"""Some namespaces are enforced, and the others are observed."""

from __future__ import annotations

from typing import Any, Final

from api.core import Namespace
from api.meta import ObjectMeta
from controllers.gangs.configuration import PlanningConfiguration
from serving.namespaces import NamespaceSelector

__all__ = ["ENFORCED", "canary", "space"]

ENFORCED: Final = {"reprieve": "enforce"}
"""The labels of an enforced namespace."""


def canary(**settings: Any) -> PlanningConfiguration:
    """A Configuration that enforces only namespaces with these labels. `settings`: more of `planning`."""
    selector = NamespaceSelector(match_labels=ENFORCED)
    return PlanningConfiguration(mode="Enforce", enforced_namespace_selector=selector, **settings)


def space(name: str, *, enforced: bool) -> Namespace:
    """A namespace."""
    return Namespace(ObjectMeta(name=name, uid=f"uid-{name}", labels=dict(ENFORCED) if enforced else {}))
