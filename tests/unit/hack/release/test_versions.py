"""A version that differs anywhere is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.release import versions
from hack.release.errors import ReleaseError

ROOT = Path(__file__).parents[4]
FILES = {
    "pyproject.toml": '[project]\nname = "reprieve"\nversion = "1.2.3"\n',
    "CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-11-27\n\n## 1.2.2\n",
    "Dockerfile": "# docker build -t reprieve:1.2.3 .\n",
    "README.md": "no image here\n",
    "docs/install.md": "`registry.example/reprieve:1.2.3`\n",
    "manifests/base/deployment.yaml": "image: reprieve:1.2.3\n",
    "manifests/install/kustomization.yaml": "images: [{name: reprieve, newTag: 1.2.3}, {name: other, newTag: v9}]\n",
    "charts/reprieve/Chart.yaml": 'version: 1.2.3\nappVersion: "1.2.3"\n',
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree in which everything agrees."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_version_is_that_of_the_project(tree: Path) -> None:
    assert versions.agreed(tree, ["v1.2.3", "nightly"]) == "1.2.3"


@pytest.mark.parametrize(
    "name", [name for name, text in FILES.items() if "1.2.3" in text and name not in {"pyproject.toml"}]
)
def test_another_version_is_refused_with_its_place(tree: Path, name: str) -> None:
    (tree / name).write_text(FILES[name].replace("1.2.3", "1.2.4"))
    with pytest.raises(ReleaseError, match=name):
        versions.agreed(tree)


@pytest.mark.parametrize("field", ["version", "appVersion"])
def test_each_field_of_a_chart_is_compared(tree: Path, field: str) -> None:
    chart = tree / "charts/reprieve/Chart.yaml"
    chart.write_text(
        "\n".join(
            line.replace("1.2.3", "9.9.9") if line.startswith(f"{field}:") else line
            for line in FILES["charts/reprieve/Chart.yaml"].splitlines()
        )
    )
    (line,) = versions.faults("1.2.3", tree)
    assert line == f"charts/reprieve/Chart.yaml ({field}) has 9.9.9"


def test_a_tag_of_another_version_is_refused(tree: Path) -> None:
    with pytest.raises(ReleaseError, match=r"the commit has the tag v1\.2\.4"):
        versions.agreed(tree, ["v1.2.4"])


def test_unreleased_changes_are_no_heading(tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text("## Unreleased\n\n1.2.3 is mentioned.\n\n## 1.2.30\n")
    with pytest.raises(ReleaseError, match=r'no heading "## 1\.2\.3"'):
        versions.agreed(tree)


@pytest.mark.parametrize("heading", ["## 1.2.3", "## [1.2.3] - 2026-11-27", "## v1.2.3 (beta)"])
def test_headings_have_several_forms(tree: Path, heading: str) -> None:
    (tree / "CHANGELOG.md").write_text(f"{heading}\n")
    assert versions.faults("1.2.3", tree) == []


def test_one_version_stands_in_this_tree() -> None:
    stated = versions.stated(ROOT)
    assert len({each.version for each in stated}) == 1
    places = {each.place for each in stated}
    assert {
        "manifests/base/deployment.yaml",
        "manifests/install/kustomization.yaml",
        "docs/install.md",
    } <= places
