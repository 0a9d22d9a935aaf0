"""The rights that doctor asks for are those that reprieve needs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from answers.doctor.rights import ACTING_RIGHTS, OBSERVING_RIGHTS, RIGHTS, Right


@pytest.mark.parametrize(("folder", "rights"), [("base", OBSERVING_RIGHTS), ("rights", ACTING_RIGHTS)])
def test_the_rights_are_those_of_the_manifest(folder: str, rights: tuple[Right, ...]) -> None:
    (role,) = [
        each
        for each in yaml.safe_load_all(Path(f"manifests/{folder}/rbac.yaml").read_text())
        if each["kind"] == "ClusterRole"
    ]
    granted = {
        Right(group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert set(rights) == granted
    assert len(rights) == len(granted)


def test_each_mode_has_its_table() -> None:
    assert RIGHTS["Off"] == ()
    assert RIGHTS["Observe"] == OBSERVING_RIGHTS
    assert set(RIGHTS["Enforce"]) == {*OBSERVING_RIGHTS, *ACTING_RIGHTS}
    writes = {each for each in OBSERVING_RIGHTS if each.verb not in ("get", "list", "watch")}
    assert {each.group for each in writes} == {"reprieve.dev"}
