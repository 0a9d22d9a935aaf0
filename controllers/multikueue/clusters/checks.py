"""Which clusters an AdmissionCheck names, and what its condition Active says. Pure. The words are Kueue's (MK 2)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from api.checks import AdmissionCheck, MultiKueueConfig
from api.kueue import API_VERSION

__all__ = ["ConfigError", "State", "clusters_of", "state_of"]

GROUP: Final = API_VERSION.partition("/")[0]
KIND: Final = MultiKueueConfig.__name__
RESOURCE: Final = f"multikueueconfigs.{GROUP}"
BAD: Final = "bad parameters reference"

ConfigOf = Callable[[str], MultiKueueConfig | None]
"""The MultiKueueConfig of a name; None if no object has this name."""


class ConfigError(Exception):
    """The parameters of a check cannot be used."""


class State(NamedTuple):
    """The condition Active of an AdmissionCheck."""

    is_active: bool
    reason: str
    message: str


def clusters_of(check: AdmissionCheck, config_of: ConfigOf) -> tuple[str, ...]:
    """The clusters of the check's MultiKueueConfig, in its order. Raises ConfigError."""
    parameters = check.spec.parameters if check.spec is not None else None
    if parameters is None:
        raise ConfigError("missing parameters reference")
    if parameters.api_group != GROUP:
        raise ConfigError(f'wrong group "{parameters.api_group}", expecting "{GROUP}": {BAD}')
    if parameters.kind != KIND:
        raise ConfigError(f'wrong kind "{parameters.kind}", expecting "{KIND}": {BAD}')
    config = config_of(parameters.name)
    if config is None or config.spec is None:
        raise ConfigError(f'{RESOURCE} "{parameters.name}" not found')
    if config.spec.quota_management == "Automated":
        raise ConfigError(f"spec.quotaManagement of {KIND} {parameters.name}: Automated is not supported")
    return tuple(config.spec.clusters)


def state_of(
    check: AdmissionCheck, config_of: ConfigOf, known: Collection[str], is_active: Callable[[str], bool]
) -> State:
    """What the condition must be. `known`: the names of all MultiKueueClusters."""
    try:
        clusters = clusters_of(check, config_of)
    except ConfigError as error:
        return State(False, "BadConfig", f"Cannot load the AdmissionChecks parameters: {error}")
    missing = [name for name in clusters if name not in known]
    inactive = [name for name in clusters if name in known and not is_active(name)]
    if not missing and not inactive:
        return State(True, "Active", "The admission check is active")
    parts = [
        f"{what} clusters: [{' '.join(names)}]"
        for what, names in (("Missing", missing), ("Inactive", inactive))
        if names
    ]
    some = len(missing) + len(inactive) < len(clusters)
    return State(some, "SomeActiveClusters" if some else "NoUsableClusters", ", ".join(parts))
