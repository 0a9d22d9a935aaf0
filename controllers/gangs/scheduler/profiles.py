"""What the profiles of kube-scheduler's configuration file say of its filters.

A filter runs if `plugins.filter` enables its plugin, or if `plugins.multiPoint` has it and `plugins.filter` does not
disable it (kube-scheduler's mergePluginSet and expandMultiPointPlugins).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Meta

from api.core import NodeAffinity, NodeSelector, TopologySpreadConstraint
from api.meta import Struct
from api.names import is_qualified_name
from api.selectors import check_node_selector
from api.validation import FieldError, convert
from nodes.filters.profile import Profile

__all__ = ["PluginConfig", "Plugins", "plugin_args", "profile_of"]

S = TypeVar("S", bound=msgspec.Struct)

FILTERS: Final = frozenset(
    {
        "DeferredPodScheduling",
        "DynamicResources",
        "GangScheduling",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeDeclaredFeatures",
        "NodeName",
        "NodePorts",
        "NodeResourcesFit",
        "NodeUnschedulable",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "TaintToleration",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    }
)
"""kube-scheduler's own plugins that filter nodes."""
REFUSING_PRE_FILTERS: Final = frozenset(
    {
        "DynamicResources",
        "GangScheduling",
        "NodeAffinity",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    }
)
"""Those of them whose preFilter refuses pods or nodes, too."""
READING_FILTERS: Final = (
    "DynamicResources",
    "InterPodAffinity",
    "NodeDeclaredFeatures",
    "NodePorts",
    "NodeResourcesFit",
    "PodTopologySpread",
    "VolumeBinding",
    "VolumeRestrictions",
)
"""Those of them whose filter fails without their preFilter."""
EVERY: Final = "*"


class Plugin(Struct):
    """Plugin."""

    name: Annotated[str, Meta(min_length=1)]


class PluginSet(Struct):
    """PluginSet."""

    enabled: list[Plugin] | None = None
    disabled: list[Plugin] | None = None

    def is_off(self, name: str) -> bool:
        """Whether the set disables the plugin."""
        return any(each.name in (name, EVERY) for each in self.disabled or ())

    def has(self, name: str) -> bool:
        """Whether the set enables the plugin."""
        return any(each.name == name for each in self.enabled or ())


class Plugins(Struct):
    """Plugins, as far as filters go."""

    multi_point: PluginSet | None = None
    pre_filter: PluginSet | None = None
    filter: PluginSet | None = None


class PluginConfig(Struct):
    """Arguments of a plugin, whatever they are."""

    name: str = ""
    args: Any = None


class NodeAffinityArgs(Struct):
    """NodeAffinityArgs."""

    added_affinity: NodeAffinity | None = None


class FitArgs(Struct):
    """NodeResourcesFitArgs."""

    ignored_resources: list[str] | None = None
    ignored_resource_groups: list[str] | None = None


class SpreadArgs(Struct):
    """PodTopologySpreadArgs."""

    default_constraints: list[TopologySpreadConstraint] | None = None
    defaulting_type: Literal["System", "List", ""] | None = None


def profile_of(
    plugins: Plugins | None,
    configs: Sequence[PluginConfig] | None,
    managed: Iterable[str],
    path: str,
) -> Profile:
    """What a profile at this path of the file says. `managed`: resources that extenders tell the scheduler to ignore.

    Raises FieldError, which names the field.
    """
    plugins = plugins or Plugins()
    filters, pre_filters = plugins.filter or PluginSet(), plugins.pre_filter or PluginSet()
    every = plugins.multi_point or PluginSet()
    half_off = frozenset(
        name
        for name in REFUSING_PRE_FILTERS
        if not _runs(name, every, filters) and _runs(name, every, pre_filters)
    )
    off = frozenset(name for name in FILTERS if not _runs(name, every, filters))
    affinity, where = plugin_args(configs, "NodeAffinity", NodeAffinityArgs, path)
    required = affinity.added_affinity.required if affinity.added_affinity is not None else None
    _check_added(required, where)
    fit, where = plugin_args(configs, "NodeResourcesFit", FitArgs, path)
    _check_ignored(fit, where)
    return Profile(
        off=off - (half_off - {"NodeAffinity"}),
        added_affinity=required if "NodeAffinity" not in off else None,
        ignored_resources=frozenset(managed) or frozenset(fit.ignored_resources or ()),
        ignored_groups=frozenset(fit.ignored_resource_groups or ()),
        spreads_by_default="PodTopologySpread" not in off and _spreads(configs, path),
        half_off=half_off,
        named=tuple(
            sorted({*_foreign(filters), *_foreign(pre_filters), *_lonely(every, pre_filters, filters)})
        ),
    )


def plugin_args(
    configs: Sequence[PluginConfig] | None, plugin: str, kind: type[S], path: str
) -> tuple[S, str]:
    """The arguments of a plugin, and the path of them in the file. Raises FieldError, which names the field."""
    for index, each in enumerate(configs or ()):
        if each.name == plugin and each.args is not None:
            place = f"{path}.pluginConfig[{index}].args"
            try:
                args: S = convert(each.args, kind)
            except FieldError as error:
                raise FieldError(f"{place}.{error.path}" if error.path else place, error.problem) from None
            return args, place
    return kind(), f"{path}.pluginConfig"


def _runs(name: str, every: PluginSet, point: PluginSet) -> bool:
    """Whether the plugin runs at an extension point."""
    if point.has(name):
        return True
    return (every.has(name) or not every.is_off(name)) and not point.is_off(name)


def _foreign(point: PluginSet) -> Iterable[str]:
    """Plugins that somebody enables at an extension point, and that are not kube-scheduler's own."""
    names = (each.name for each in point.enabled or () if each.name not in FILTERS)
    return (f"plugin {name} of the scheduler's profile" for name in names)


def _lonely(every: PluginSet, pre_filters: PluginSet, filters: PluginSet) -> Iterable[str]:
    """Filters that fail on each pod, because they read what their preFilter has not written."""
    return (
        f"filter {name} without its preFilter"
        for name in READING_FILTERS
        if _runs(name, every, filters) and not _runs(name, every, pre_filters)
    )


def _check_added(required: NodeSelector | None, path: str) -> None:
    if required is None:
        return
    place = f"{path}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    try:
        check_node_selector(required, place)
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        raise FieldError(field, problem) from None
    if not required.node_selector_terms:
        raise FieldError(f"{place}.nodeSelectorTerms", "must have a term")


def _check_ignored(args: FitArgs, path: str) -> None:
    fields: Mapping[str, list[str] | None] = {
        "ignoredResources": args.ignored_resources,
        "ignoredResourceGroups": args.ignored_resource_groups,
    }
    for name, values in fields.items():
        for index, value in enumerate(values or ()):
            if not is_qualified_name(value) or (name == "ignoredResourceGroups" and "/" in value):
                raise FieldError(f"{path}.{name}[{index}]", f"is not the name of a resource: {value!r}")


def _spreads(configs: Sequence[PluginConfig] | None, path: str) -> bool:
    """Whether a default constraint refuses nodes."""
    args, where = plugin_args(configs, "PodTopologySpread", SpreadArgs, path)
    constraints = args.default_constraints or []
    if constraints and args.defaulting_type != "List":
        raise FieldError(f"{where}.defaultingType", "must be List where there are defaultConstraints")
    for index, each in enumerate(constraints):
        place = f"{where}.defaultConstraints[{index}]"
        if each.when_unsatisfiable not in ("DoNotSchedule", "ScheduleAnyway"):
            raise FieldError(f"{place}.whenUnsatisfiable", f"is no action: {each.when_unsatisfiable!r}")
        if each.label_selector is not None:
            raise FieldError(f"{place}.labelSelector", "must be absent: the scheduler makes one for each pod")
    return any(each.when_unsatisfiable == "DoNotSchedule" for each in constraints)
