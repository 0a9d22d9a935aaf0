"""SECURITY.md: each row of its tables names what makes it true, and its numbers are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from cryptography import x509

import hack.controlplane.certificates as extender_certificates
from api.multikueue import DISPATCHED_BY, FENCED_BY, MULTIKUEUE_GATE, ORIGIN_LABEL
from cli.common.configuration import Configuration
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.evicting import evictor
from controllers.gangs.lifecycle import settings, vain
from controllers.gangs.planning import sparing
from controllers.gangs.promised import grants
from controllers.gangs.writing import housekeeping
from controllers.jobs.configuration import NOT_MANAGED, JobsConfiguration
from controllers.multikueue.clusters.client import MOST_LISTED
from controllers.multikueue.clusters.kubeconfigs import MOST_BYTES
from controllers.multikueue.clusters.seeing import MOST_OBJECTS
from controllers.quota import kueue_lease
from controllers.quota.configuration import QuotaConfiguration
from controllers.quota.plans import mutual, stored_plans
from extender.configuration import ExtenderConfiguration
from kube.lines import MAX_LINE
from serving import listeners
from serving.certificates.live_context import LiveContext
from serving.sections import GuardedListener, OpsConfiguration
from webhooks.configuration import ManagedConfiguration, WebhooksConfiguration
from webhooks.registrations import EXCLUDED_NAMESPACES
from webhooks.rules.podgroups import MAX_PRIORITY

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = ROOT / "SECURITY.md"
COLUMN: Final = "where"
RULE: Final = re.compile(r"\|(?:-+\|)+")
CODE: Final = re.compile(r"`([^`]*)`")
MIB: Final = 2**20


# ---- what each row names


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def faults_of(page: str) -> list[str]:
    """What is wrong with the tables of a page. Paths are looked for in the checkout."""
    found, lines, columns = [], page.splitlines(), list[str]()
    for number, line in enumerate(lines, 1):
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = cells_of(line)
            if columns[-1] != COLUMN or not RULE.fullmatch("".join(lines[number : number + 1])):
                found.append(f"line {number}: no table whose last column is {COLUMN}")
        elif not RULE.fullmatch(line):
            found += [f"line {number}: {fault}" for fault in faults_of_row(cells_of(line), len(columns))]
    return found


def faults_of_row(cells: list[str], columns: int) -> list[str]:
    if len(cells) != columns:
        return [f"{len(cells)} cells, and {columns} columns"]
    paths, rest = CODE.findall(cells[-1]), CODE.sub("", cells[-1])
    faults = [f"{path} is no file" for path in paths if not (ROOT / path).is_file()]
    if rest.strip(", "):
        faults.append(f"{rest.strip(', ')!r} is no path")
    return faults if paths else [*faults, "no path"]


def test_each_row_names_files_that_there_are() -> None:
    page = PAGE.read_text()
    assert page.count(f"| {COLUMN} |") > 10
    assert faults_of(page) == []


PLANTED = """
| who | can do | where |
|---|---|---|
| a tenant | reads | `SECURITY.md`, `tests/unit/docs/test_security.py` |
{row}

text
"""


@pytest.mark.parametrize(
    ("row", "faults"),
    [
        ("| an administrator | all | `README.md` |", []),
        (
            "| an administrator | all | `controllers/nowhere.py` |",
            ["line 5: controllers/nowhere.py is no file"],
        ),
        ("| an administrator | all | `SECURITY.md`, `x.py` |", ["line 5: x.py is no file"]),
        ("| an administrator | all | `controllers` |", ["line 5: controllers is no file"]),
        ("| an administrator | all | |", ["line 5: no path"]),
        ("| an administrator | all | the code |", ["line 5: 'the code' is no path", "line 5: no path"]),
        ("| an administrator | `README.md` |", ["line 5: 2 cells, and 3 columns"]),
        ("| an administrator | all | and | `README.md` |", ["line 5: 4 cells, and 3 columns"]),
    ],
)
def test_a_planted_fault_is_found(row: str, faults: list[str]) -> None:
    assert faults_of(PLANTED.format(row=row)) == faults


@pytest.mark.parametrize(
    "table",
    [
        "| who | can do |\n|---|---|\n| a tenant | `README.md` |",
        "| who | where |\n| a tenant | `README.md` |",
        "| where |",
    ],
    ids=["without the column", "without a rule", "that ends at once"],
)
def test_a_table_of_another_form_is_found(table: str) -> None:
    assert faults_of(table)[0] == "line 1: no table whose last column is where"


def test_every_file_that_the_text_names_is_there() -> None:
    named = re.findall(r"`((?:tests|manifests|docs|controllers)/[\w./-]+\.\w+)`", PAGE.read_text())
    assert named
    assert [each for each in named if not (ROOT / each).is_file()] == []


# ---- numbers


def seconds(value: float) -> str:
    return f"{value:g} s"


PLANNING: Final = PlanningConfiguration()
QUOTA: Final = QuotaConfiguration()
EXTENDER: Final = ExtenderConfiguration()
WEBHOOKS: Final = WebhooksConfiguration()
FORGED: Final = "reprieve.dev/Valid: False"
WORDS: Final = {2: "two", 5: "five", 10: "ten"}


def bounds(listener: GuardedListener) -> tuple[str, str]:
    """What is said of the limits of a listener, before and after those that it alone has."""
    size = f"{listener.max_body_bytes // MIB} MiB"
    first = f"{size}, {seconds(listener.read_timeout_seconds)}, {listener.max_concurrent_requests} at once"
    return first, f"{listener.max_connections} connections"


def memory(deployment: str) -> str:
    (container,) = yaml.safe_load((ROOT / deployment).read_text())["spec"]["template"]["spec"]["containers"]
    limit: str = container["resources"]["limits"]["memory"]
    return limit.removesuffix("Gi") + " GiB"


def days(folder: Path) -> int:
    """The life of what hack/certificates makes."""
    extender_certificates.main(["--out", str(folder)], standalone_mode=False)
    made = x509.load_pem_x509_certificate((folder / "server" / "tls.crt").read_bytes())
    return (made.not_valid_after_utc - made.not_valid_before_utc).days


def test_lives_of_certificates(tmp_path: Path) -> None:
    page, life = PAGE.read_text(), days(tmp_path)
    assert f"certificates live for {life} days" in page
    file = ROOT / "manifests" / "components" / "cert-manager" / "certificates.yaml"
    issued = {each["metadata"]["name"]: each["spec"] for each in yaml.safe_load_all(file.read_text())}
    assert (
        issued["reprieve-extender"]["duration"] == issued["reprieve-scheduler"]["duration"] == f"{life * 24}h"
    )
    assert ManagedConfiguration().certificate_seconds == 7 * 86400
    assert "in memory only, for a week" in page


EXTENDER_FIRST, EXTENDER_LAST = bounds(EXTENDER)
WEBHOOKS_FIRST, WEBHOOKS_LAST = bounds(WEBHOOKS)
BACKOFF: Final = f"{PLANNING.backoff_initial_seconds:g} to {seconds(PLANNING.backoff_max_seconds)}"
TAKEN: Final = sparing.TAKEN_SECONDS
SAID: Final = [
    f"its plan expires ({seconds(PLANNING.plan_deadline_seconds)} and the longest grace period",
    f"this lasts {seconds(PLANNING.plan_deadline_seconds)}, and the longest grace period",
    f"still there {seconds(PLANNING.overdue_seconds)} after its deletion time",
    f"no plan evicts for {seconds(TAKEN)}; each further time doubles this, "
    f"up to {TAKEN * 2**vain.MOST_DOUBLINGS // 3600:g} hours",
    f"evicted each other within {seconds(sparing.CYCLE_SECONDS)}",
    f"until {seconds(sparing.CYCLE_SECONDS)} after the last eviction",
    f"evicts nobody for {BACKOFF}",
    f"without these nodes, for {BACKOFF}",
    f"after {WORDS[int(PLANNING.partial_gang_seconds // 60)]} minutes "
    f"and once in {settings.RELEASE_SECONDS / 60:g} minutes",
    f"deleted, {WORDS[evictor.CONFLICTS]} times at once",
    f"reserved room for {seconds(grants.GRANT_SECONDS)}",
    f"checked every {WORDS[int(WEBHOOKS.recheck_seconds // 60)]} minutes, and a wrong one gets `{FORGED}`",
    f"any priority up to {MAX_PRIORITY}",
    f"never called for {' and '.join(f'`{each}`' for each in EXCLUDED_NAMESPACES)}",
    f"By default Jobs in {' and '.join(f'`{each}`' for each in NOT_MANAGED)} are not managed",
    f"after {seconds(QUOTA.overdue_seconds)} the Workload gets the condition `reprieve.dev/EvictionOverdue`",
    f"plan ends after {seconds(QUOTA.plan_deadline_seconds)}",
    f"At most {QUOTA.writes_in_flight} Workloads are written at a time",
    f"does not evict for {WORDS[mutual.PAUSE_US // 60_000_000]} minutes the Workload",
    f"waiting for {seconds(kueue_lease.SURE_SECONDS)}, or for the duration that it names",
    f"counts as Kueue's for {seconds(kueue_lease.FRESH_SECONDS)}",
    f"the field manager `{next(iter(kueue_lease.FIELD_MANAGERS))}`",
    f"requests are bounded: {EXTENDER_FIRST}, {EXTENDER_LAST}.",
    f"Requests are bounded: {WEBHOOKS_FIRST}, {WEBHOOKS.max_depth} levels of JSON, {WEBHOOKS_LAST}",
    f"It may take {seconds(listeners.HANDSHAKE_SECONDS)}",
    f"fill its {GuardedListener(port=0).max_connections} connections",
    f"comes slowly is broken off after {seconds(GuardedListener(port=0).read_timeout_seconds)}",
    f"After the Lease's duration ({seconds(Configuration().leader_election.lease_duration_seconds)})",
    f"After `maxWatchAgeSeconds` ({seconds(PLANNING.max_watch_age_seconds)})",
    f"the extender listener ({EXTENDER.port})",
    f"the webhook listener ({WEBHOOKS.port})",
    f"the ops listener ({OpsConfiguration().port})",
    f"reprieve's memory (limit {memory('manifests/base/deployment.yaml')})",
]


@pytest.mark.parametrize("said", SAID)
def test_numbers_are_those_of_the_code(said: str) -> None:
    assert said in PAGE.read_text()


def test_a_plan_that_nobody_carries_out_ends_within_a_minute() -> None:
    assert "an active plan that it does not carry out within a minute" in " ".join(PAGE.read_text().split())
    assert max(housekeeping.SWEEP_SECONDS, stored_plans.SWEEP_SECONDS) <= 60.0


def test_the_oldest_tls_is_the_one_that_the_page_names() -> None:
    """Connections to other replicas have a context that is made in the same way."""
    oldest: Any = LiveContext().as_client.minimum_version
    assert f"{oldest.name.replace('TLSv', 'TLS ').replace('_', '.')} or newer" in PAGE.read_text()


def test_defaults_are_those_of_the_code() -> None:
    page = PAGE.read_text()
    for said, holds in (
        ("`Off` (default)", QUOTA.mode == "Off"),
        ("`quota.freeOverdue` (off by default)", not QUOTA.free_overdue),
        ("The default is `Keep`", PLANNING.daemon_set_pods == "Keep"),
        ("if `webhooks.clientCAFile` is not set (the default)", WEBHOOKS.client_ca_file is None),
        ("forbid no eviction unless `planning.disruptionBudgets`", PLANNING.disruption_budgets == "Prefer"),
        ("with `jobs.manageJobsWithoutQueueName`", not JobsConfiguration().manage_jobs_without_queue_name),
        ("(`quota.requirePlacement`)", QUOTA.require_placement),
    ):
        assert said in page
        assert holds, said


def test_the_supported_version_is_the_one_that_is_built() -> None:
    version = re.search(r'^version = "(\d+\.\d+)', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert f"the newest minor version ({version[1]})" in PAGE.read_text()


# ---- several clusters


def test_several_clusters_have_their_sections_and_say_what_the_manifests_name() -> None:
    page = PAGE.read_text()
    for title in (
        "A tenant of the manager",
        "A tenant of a worker",
        "A worker that was taken over",
        "Who may write Secrets and MultiKueueClusters",
    ):
        assert f"#### {title}\n" in page
    assert f"at most {MOST_BYTES // MIB} MiB" in page
    assert f"a line of a watch has at most {MAX_LINE // MIB} MiB" in page
    assert f"a page of a list has at most {MOST_LISTED // MIB} MiB" in page
    assert f"At most {MOST_OBJECTS:,} objects of a kind" in page
    policies = (ROOT / "manifests" / "multikueue-worker" / "admission.yaml").read_text()
    for name in (ORIGIN_LABEL, DISPATCHED_BY, FENCED_BY, MULTIKUEUE_GATE):
        assert f"`{name}`" in page
        assert name in policies
