"""The commands of kubectl that the page gives away name resources that an API server has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import yaml

ROOT: Final = Path(__file__).parents[3]
CORE: Final = frozenset({"nodes", "pods"})


def test_each_resource_is_of_the_api_server_or_has_a_crd() -> None:
    text = (ROOT / "web/app/src/command.ts").read_text()
    lists = re.findall(r"^export const [A-Z_]+ = \[(.+)\] as const;$", text, re.MULTILINE)
    named = {name for each in lists for name in re.findall(r'"([^"]+)"', each)}
    crds = [
        yaml.safe_load(path.read_text()) for path in (ROOT / "manifests/crds").glob("reprieve.dev_*.yaml")
    ]
    defined = {each["metadata"]["name"] for each in crds}
    assert named <= defined | CORE
    assert "preemptionplans.reprieve.dev" in named
    pages = (ROOT / "docs/page.md").read_text()
    for each in lists:
        resources = ",".join(re.findall(r'"([^"]+)"', each))
        assert f"`kubectl get {resources} -A -o json`" in pages, (
            "tests/e2e/test_page_commands.py runs it there"
        )
    kinds = {each["spec"]["names"]["kind"]: each["metadata"]["name"] for each in crds}
    for kind in ("PreemptionPlan", "DispatchPlan"):
        assert kinds[kind] == f"{kind.lower()}s.reprieve.dev", "as planCommand makes it"
