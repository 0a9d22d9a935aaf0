"""The rights that doctor asks for are those that reprieve needs."""

from __future__ import annotations

from pathlib import Path

import yaml

from answers.doctor.rights import RIGHTS, Right


def test_the_rights_are_those_of_the_manifest() -> None:
    (role,) = [
        each
        for each in yaml.safe_load_all(Path("manifests/base/rbac.yaml").read_text())
        if each["kind"] == "ClusterRole"
    ]
    granted = {
        Right(group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert set(RIGHTS) == granted
    assert len(RIGHTS) == len(granted)
