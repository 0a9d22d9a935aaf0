"""The CRDs in one file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from hack.release import manifests
from hack.release.errors import ReleaseError

ROOT = Path(__file__).parents[4]


def test_one_file_has_the_crds_of_the_folder_in_its_order() -> None:
    folder = ROOT / manifests.CRDS
    names = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    documents = list(yaml.safe_load_all(manifests.crds(folder)))
    assert documents == [yaml.safe_load((folder / name).read_text()) for name in names]
    assert len(documents) > 3


def test_other_objects_are_refused(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    (tmp_path / "a.yaml").write_text("kind: Secret\n")
    with pytest.raises(ReleaseError, match="other objects than CRDs: Secret"):
        manifests.crds(tmp_path)
