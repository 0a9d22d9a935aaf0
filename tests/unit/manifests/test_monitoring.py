"""Alerts and dashboard: their expressions name metrics and labels that the code has."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from hack.metrics import Described, metrics
from tests.kit.monitoring import FOLDER, alerts, expressions, panels, proven
from tests.kit.promql import Named, added, grouped, named

DESCRIBED = {sample: each for each in metrics() for sample in each.samples}
LABEL = re.compile(r"\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}")


def labels(selector: Named) -> set[str]:
    described: Described = DESCRIBED[selector.name]
    return set(described.labels) | ({"le"} if selector.name.endswith("_bucket") else set())


@pytest.mark.parametrize("expression", expressions())
def test_every_metric_and_label_is_there(expression: str) -> None:
    selectors = named(expression)
    assert selectors
    for each in selectors:
        assert each.name in DESCRIBED
        assert {label for label, _, _ in each.matchers} <= labels(each)
    for kept, inside in grouped(expression):
        for each in inside:
            assert kept <= labels(each)


def test_an_expression_with_a_wrong_name_or_label_is_found() -> None:
    assert named("rate(reprieve_gone[5m]) > 1")[0].name not in DESCRIBED
    ((kept, inside),) = grouped('sum by (verb) (reprieve_gangs{phase="Bound"})')
    assert inside == [Named("reprieve_gangs", (("phase", "Bound", True),))]
    assert not kept <= labels(inside[0])
    with pytest.raises(ValueError, match="unclosed"):
        named("sum(reprieve_gangs")


@pytest.mark.parametrize("expression", expressions())
def test_nothing_is_added_that_a_process_may_lack(expression: str) -> None:
    """Who runs the extender without the webhooks has no metrics of theirs, and the sum of both would be empty."""
    assert len(added(expression)) < 2


def test_parts_that_are_added_are_found() -> None:
    expression = "sum(reprieve_gangs) + sum(reprieve_leading) > 0"
    assert len(added(expression)) == 2
    assert added("min(reprieve_leading) - time() or reprieve_gangs > 1 - 2") == ["min(reprieve_leading)"]


def test_each_alert_is_proven_to_fire_and_to_be_quiet() -> None:
    assert set(proven()) == {(each["alert"], fires) for each in alerts() for fires in (True, False)}


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_names_labels_that_its_result_has(alert: dict[str, Any]) -> None:
    kept = set().union(*(kept for kept, _ in grouped(alert["expr"])))
    assert set(LABEL.findall(alert["annotations"]["summary"])) <= kept
    assert alert["labels"]["severity"] in ("critical", "warning", "info")


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel["title"])
def test_a_legend_names_labels_that_its_lines_have(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        kept = set().union(*(kept for kept, _ in grouped(target["expr"])))
        assert set(LABEL.findall(target["legendFormat"])) == kept - {"le"}


def test_the_rule_of_the_operator_has_the_same_alerts() -> None:
    rule = yaml.safe_load((FOLDER / "prometheusrule.yaml").read_text())
    assert rule["spec"] == yaml.safe_load((FOLDER / "rules.yaml").read_text())


def test_the_page_lists_every_alert() -> None:
    page = (FOLDER.parents[2] / "docs" / "monitoring.md").read_text()
    assert re.findall(r"^\| `(Reprieve\w+)`", page, re.MULTILINE) == [each["alert"] for each in alerts()]


def test_every_symptom_is_a_section_of_the_page() -> None:
    page = (FOLDER.parents[2] / "docs" / "troubleshooting.md").read_text()
    symptoms = {each["annotations"]["symptom"] for each in alerts()}
    assert symptoms <= set(re.findall(r"^### (.*)$", page, re.MULTILINE))
