"""The registry: the scheduler's order, and no filter module without a filter in it."""

from __future__ import annotations

import importlib
import pkgutil

import nodes.filters
from nodes.filters.counting import CountingFilter
from nodes.filters.filter import Filter, PodFilter, StaticFilter
from nodes.filters.registry import COUNTING_FILTERS, FILTERS, POD_FILTERS, RESOURCES_FIT, STATIC_FILTERS

DEFAULT_PROFILE = [
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeDeclaredFeatures",
    "GangScheduling",
]
"""kube-scheduler 1.37's filters in the order of its default profile."""


def test_filters_are_in_the_schedulers_order() -> None:
    named = [name for each in FILTERS for name in each.name.split(", ")]
    assert named == [name for name in DEFAULT_PROFILE if name != "NodeName"]


def test_places_are_those_in_the_registry() -> None:
    assert all(FILTERS[place] is each and isinstance(each, StaticFilter) for place, each in STATIC_FILTERS)
    assert all(FILTERS[place] is each and isinstance(each, PodFilter) for place, each in POD_FILTERS)
    assert all(FILTERS[place] is each for place, each in COUNTING_FILTERS)
    assert {each.name for _, each in COUNTING_FILTERS} == {"PodTopologySpread", "InterPodAffinity"}
    assert FILTERS[RESOURCES_FIT].name == "NodeResourcesFit"


def test_every_filter_is_registered() -> None:
    found = set()
    for module in pkgutil.iter_modules(nodes.filters.__path__, "nodes.filters."):
        for thing in vars(importlib.import_module(module.name)).values():
            if isinstance(thing, type) and issubclass(thing, Filter) and thing.__module__ == module.name:
                found.add(thing)
    assert found - {Filter, StaticFilter, PodFilter, CountingFilter} == {type(each) for each in FILTERS}
