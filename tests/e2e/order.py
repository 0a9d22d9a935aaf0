"""Which files of scenarios run in one process, and in what order the files run."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

__all__ = [
    "HERE",
    "LAST",
    "LONGEST",
    "MATRIX",
    "SEVERAL",
    "SHARING",
    "TRIO",
    "group_of",
    "is_live",
    "place_of",
]

HERE: Final = Path(__file__).parent
SEVERAL: Final = HERE.parent / "multicluster"
"""The scenarios with several clusters. All of them share a trio of planes."""
TRIO: Final = "trio"
"""The fixture of these planes."""

SHARING: Final = {
    "reprieve_plane": (
        "gangs",
        "contention",
        "cycles",
        "devices",
        "apart",
        "jobs",
        "pauses",
        "waits",
        "tenant",
        "pod_filters",
        "respecting",
        "singles",
        "spread",
        "volumes",
        "dry_runs",
        "page_live",
    ),
    "native_plane": ("native_gangs", "native_steer", "native_attempts"),
    "webhook_plane": ("webhook_vectors", "validate", "webhook_rules", "job_webhooks", "webhook_metrics"),
    "control_plane": (
        "controlplane",
        "plans",
        "views",
        "followers",
        "manifests",
        "reading",
        "doctor",
        "questions",
        "page",
        "page_sources",
        "page_commands",
        "page_browser",
        "page_attacks",
    ),
    "api_plane": (
        "schema",
        "crds",
        "conditions",
        "queues",
        "quota_plans",
        "quota_dispatched",
        "stored_objects",
        "mirrored_jobs",
        "page_rights",
        "page_exports",
    ),
    "quota_plane": (
        "quota_admission",
        "quota_preemption",
        "quota_checks",
        "quota_orders",
        "check_author",
        "queue_tutorial",
        "queued_jobs",
        "copied_jobs",
        "dispatched_jobs",
        "partial_jobs",
        "job_tutorial",
        "queued_groups",
        "proposals",
        "stopped_jobs",
        "agreement",
        "load",
    ),
}
"""By the fixture of a shared plane: the files that use it. One process runs them in a row. So it starts once, and
stops after the last of them, because even an idle plane needs the processor."""

LONGEST: Final = (
    "reprieve_plane",
    "stress",
    TRIO,
    "quota_plane",
    "failures",
    "rolling",
    "standbys",
    "webhook_plane",
    "disagreement",
    "control_plane",
    "quota_stress",
    "quota_crashes",
    "quota_leaders",
    "confirmation",
    "gates",
    "probes",
    "native_facts",
    "webhook_certificates",
    "api_plane",
    "webhooks",
    "install",
    "helm",
)
"""The groups and files that take longest. They come first, so that all processes end at about the same time."""

MATRIX: Final = frozenset(
    HERE / f"test_{name}.py"
    for name in (
        "gangs",
        "confirmation",
        "failures",
        "pulses",
        "scheduler_facts",
        "native_facts",
        "native_domains",
        "singles",
        "gates",
        "pieces",
        "admission",
        "groups_of_others",
        "webhooks",
        "queued_jobs",
        "queued_groups",
        "install",
    )
)
"""The files whose tests are marked `matrix`: `make matrix` runs them on each version of Kubernetes."""

LAST: Final = HERE / "test_audit.py"
"""It waits for the tests of all other files here."""

_GROUPS: Final = {HERE / f"test_{name}.py": group for group, names in SHARING.items() for name in names}


@cache
def is_live(file: Path) -> bool:
    """Whether its tests are scenarios on control planes."""
    return HERE in file.parents or SEVERAL in file.parents


def group_of(file: Path) -> str:
    """The fixture of the plane that a file shares; otherwise its own path."""
    return TRIO if SEVERAL in file.parents else _GROUPS.get(file, str(file))


def place_of(file: Path) -> tuple[int, str]:
    """A key to sort the files by."""
    group = group_of(file)
    name = group if group != str(file) else file.stem.removeprefix("test_")
    return LONGEST.index(name) if name in LONGEST else len(LONGEST), name
