"""The generated files of charts/ are current, and Helm finds nothing to complain about."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest
import yaml

from hack.charts.__main__ import GENERATED, main, written
from hack.charts.text import action, escaped, item_action, template
from hack.charts.values import CrdValues, Values
from tests.kit.charts import CHARTS, MAIN, NAMESPACE, helm, rendered

CRDS: Final = CHARTS / "reprieve-crds"
CRD: Final = "CustomResourceDefinition"


def found() -> Iterator[tuple[str, str]]:
    for folder in GENERATED:
        for file in sorted((CHARTS / folder).rglob("*")):
            if file.is_file():
                yield str(file.relative_to(CHARTS)), file.read_text()
    for chart in (MAIN, CRDS):
        schema = chart / "values.schema.json"
        yield str(schema.relative_to(CHARTS)), schema.read_text()


def test_the_generated_files_are_current() -> None:
    """`make crds` writes them."""
    assert dict(found()) == written()


def test_a_second_run_removes_what_is_generated_no_longer(tmp_path: Path) -> None:
    old = tmp_path / GENERATED[0] / "old.yaml"
    old.parent.mkdir(parents=True)
    old.write_text("")
    assert main([str(tmp_path)]) == 0
    assert not old.exists()
    assert (tmp_path / "reprieve" / "values.schema.json").is_file()
    assert main([]) == 2


@pytest.mark.parametrize("chart", ["reprieve", "reprieve-crds"])
def test_helm_has_nothing_to_complain_about(chart: str) -> None:
    said = helm("lint", "--strict", str(CHARTS / chart), "--namespace", NAMESPACE)
    assert "0 chart(s) failed" in said


@pytest.mark.parametrize("chart", [MAIN, CRDS], ids=lambda chart: str(chart.name))
def test_the_chart_has_the_version_of_the_project(chart: Path) -> None:
    content = yaml.safe_load((chart / "Chart.yaml").read_text())
    project = tomllib.loads((CHARTS.parent / "pyproject.toml").read_text())["project"]
    assert (content["name"], content["version"]) == (chart.name, project["version"])
    assert content["appVersion"] == project["version"]


@pytest.mark.parametrize(("chart", "struct"), [(MAIN, Values), (CRDS, CrdValues)])
def test_the_values_are_those_of_the_structs(chart: Path, struct: type[msgspec.Struct]) -> None:
    """Each value is in the file with its comment, but for the one that is Helm's own."""
    values = yaml.safe_load((chart / "values.yaml").read_text())
    msgspec.convert(values, struct)
    assert {*values, "global"} == {*struct.__struct_encode_fields__}


def test_the_image_of_the_second_scheduler_is_that_of_kustomize() -> None:
    values = yaml.safe_load((MAIN / "values.yaml").read_text())
    install = yaml.safe_load((CHARTS.parent / "manifests" / "install" / "kustomization.yaml").read_text())
    images = {each["name"]: each["newTag"] for each in install["images"]}
    assert values["scheduler"]["image"]["tag"] == images["kube-scheduler"]


@pytest.mark.parametrize("kueue", [False, True])
def test_the_crds_are_those_of_the_manifests_and_are_kept(kueue: bool) -> None:
    folders = ("crds", *(["kueue-crds"] if kueue else []))
    kustomizations = {folder: CHARTS.parent / "manifests" / folder for folder in folders}
    files = {file for each in kustomizations.values() for file in each.glob("*_*.yaml")}
    objects = rendered({"kueue": kueue}, chart=CRDS)
    assert {each["kind"] for each in objects} == {CRD}
    assert {each["metadata"]["annotations"].pop("helm.sh/resource-policy") for each in objects} == {"keep"}
    shipped = {
        body["metadata"]["name"]: body for file in files for body in [yaml.safe_load(file.read_text())]
    }
    assert {each["metadata"]["name"]: each["spec"] for each in objects} == {
        name: body["spec"] for name, body in shipped.items()
    }


def test_the_crds_have_the_labels_that_kustomize_gives_them() -> None:
    for each in rendered({"kueue": True}, chart=CRDS):
        labels = {"app.kubernetes.io/part-of": "reprieve"}
        if each["spec"]["group"] == "kueue.x-k8s.io":
            labels["reprieve.dev/crds"] = "kueue"
        assert each["metadata"]["labels"] == labels


def test_a_template_has_actions_where_they_are_put_and_no_others() -> None:
    body = {
        "kind": "Test",
        "expr": "{{ plane }}",
        **action('if eq .Values.mode "Enforce"'),
        "more": 1,
        **action("end"),
        "list": [item_action("if .Values.page"), {"name": "a"}, item_action("end")],
    }
    assert template([body], ".Values.some").splitlines()[1:] == [
        "{{- if .Values.some }}",
        "---",
        "kind: Test",
        "expr: '{{ \"{{\" }} plane }}'",
        '{{- if eq .Values.mode "Enforce" }}',
        "more: 1",
        "{{- end }}",
        "list:",
        "{{- if .Values.page }}",
        "- name: a",
        "{{- end }}",
        "{{- end }}",
    ]
    assert escaped("a {{b}}") == 'a {{ "{{" }}b}}'
