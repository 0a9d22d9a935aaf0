"""The commands that README.md and docs/*.md tell a reader to run, and which test runs each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = [
    "LIVE",
    "OFFLINE",
    "PAGES",
    "READS",
    "READS_INLINE",
    "REASONS",
    "Command",
    "Offline",
    "RunBy",
    "commands",
    "inline",
    "run_by",
]

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "hack" / "kind" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
)
BLOCK: Final = re.compile(
    r"^ *```(?P<language>\w*)\n(?P<lines>(?:.*\n)*?) *```$|^(?P<heading>#+ .*)$", re.MULTILINE
)
PROGRAM: Final = re.compile(r"^(?:reprieve|kubectl|helm|make|hack/\w+|python|docker|kind|pipx?|sed|export) ")
ARROW: Final = "──>"
"""Of a diagram."""
COMMENT: Final = re.compile(r"\s+# .*$")
INLINE: Final = re.compile(r"`(?P<command>(?:(?:reprieve|make) [a-z]|kubectl [a-z-])[^`]*)`")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a page."""

    page: str
    """Relative to the checkout."""
    section: str
    """The heading above it."""
    is_session: bool
    """What it prints is shown below it."""
    text: str
    """Without the comment behind it."""


@dataclass(frozen=True, slots=True)
class RunBy:
    """A test that reads commands from their page and runs them."""

    test: str
    """Relative to tests/."""
    needle: str
    """What the test has in it that finds them."""


@dataclass(frozen=True, slots=True)
class Offline:
    """How a command is run without a cluster."""

    options: str = ""
    """What takes the place of the cluster."""
    files: tuple[tuple[str, str], ...] = ()
    """Files that the page speaks of, each with the example that stands for it."""


def commands() -> list[Command]:
    """All commands in blocks, in their order."""
    return [each for page in PAGES for each in _commands(page)]


def inline() -> list[tuple[str, str]]:
    """(page, command) of commands within sentences and tables."""
    found = []
    for page in PAGES:
        text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        found += [(page.name, match["command"].replace("\n", " ")) for match in INLINE.finditer(text)]
    return found


def _commands(page: Path) -> Iterator[Command]:
    name, section = str(page.relative_to(ROOT)), ""
    for match in BLOCK.finditer(page.read_text()):
        if match["heading"]:
            section = match["heading"].lstrip("# ")
            continue
        lines = [line.strip() for line in match["lines"].splitlines()]
        match match["language"]:
            case "sh":
                found = [line for line in lines if line and not line.startswith("#")]
            case "console":
                found = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
            case "" | "text":
                found = [line for line in lines if PROGRAM.match(line) and ARROW not in line]
            case _:
                found = []
        for line in found:
            yield Command(name, section, match["language"] == "console", COMMENT.sub("", line))


SESSIONS: Final = {
    "docs/clusters.md": RunBy("unit/cli/clusters/test_doc.py", '"clusters.md"'),
    "docs/diff.md": RunBy("unit/cli/diff/test_doc.py", '"diff.md"'),
    "docs/queue.md": RunBy("unit/cli/queue/test_doc.py", '"queue.md"'),
    "docs/questions.md": RunBy("unit/docs/test_questions.py", '"questions.md"'),
    "docs/quota.md": RunBy("unit/cli/quota/test_doc.py", '"quota.md"'),
    "docs/tutorial-administrator.md": RunBy(
        "e2e/test_job_tutorial.py", 'for page in ("jobs", "administrator")'
    ),
    "docs/tutorial-jobs.md": RunBy("e2e/test_job_tutorial.py", 'for page in ("jobs", "administrator")'),
    "docs/tutorial-multikueue.md": RunBy("multicluster/test_tutorial.py", '"tutorial-multikueue.md"'),
    "docs/tutorial-queues.md": RunBy("e2e/test_queue_tutorial.py", '"tutorial-queues.md"'),
    "docs/tutorial-webhooks.md": RunBy("e2e/test_webhook_tutorial.py", '"tutorial-webhooks.md"'),
    "docs/validate.md": RunBy("unit/cli/validate/test_doc.py", '"validate.md"'),
    "docs/what-if.md": RunBy("unit/cli/whatif/test_doc.py", '"what-if.md"'),
    "docs/why.md": RunBy("unit/cli/why/test_doc.py", '"why.md"'),
}
"""Pages whose sessions a test runs, all of them, and compares with what is printed."""

INSTALL: Final = "docs/install.md"
"""tests/e2e/test_install.py runs it section by section, but for this one."""
HELM: Final = "With Helm"

NOTED: Final = {
    ("docs/admission-checks.md", "kubectl apply -f"): RunBy("e2e/test_check_author.py", '"window.yaml"'),
    ("docs/admission-checks.md", "python "): RunBy("e2e/test_check_author.py", '"window.py"'),
    ("docs/admission-checks.md", "kubectl patch"): RunBy(
        "e2e/test_check_author.py", "kubectl patch configmap"
    ),
    **dict.fromkeys(
        [("README.md", begins) for begins in ("hack/certificates", "sed", "kubectl apply")],
        RunBy("e2e/test_install.py", '"README.md"'),
    ),
    **dict.fromkeys(
        [("README.md", begins) for begins in ("pipx install", "helm upgrade", "reprieve report")],
        RunBy("e2e/test_first_screen.py", '"README.md"'),
    ),
    ("docs/observe-to-enforce.md", ""): RunBy("e2e/test_first_screen.py", '"observe-to-enforce.md"'),
    ("docs/doctor.md", "kubectl get"): RunBy("e2e/test_doctor.py", 'startswith("kubectl get")'),
    ("docs/gates.md", ""): RunBy("e2e/test_gates.py", '"## How to leave"'),
    **dict.fromkeys(
        [
            ("hack/kind/README.md", begins)
            for begins in (
                "hack/certificates",
                "sed",
                "kubectl create",
                "kubectl -n reprieve-system create",
                "kubectl apply",
            )
        ],
        RunBy("e2e/test_install.py", '"kind" / "README.md"'),
    ),
    ("docs/modes.md", "reprieve release --held"): RunBy(
        "unit/cli/leaving/test_held.py", '"release", "--held"'
    ),
    ("docs/leaving.md", "reprieve release"): RunBy("e2e/test_jobs_alone.py", "(reprieve release)$"),
    ("docs/releasing.md", "sha256sum"): RunBy("unit/hack/release/test_statement.py", "^sha256sum .*$"),
    ("docs/why.md", "kubectl get "): RunBy("e2e/questions.py", '"^kubectl get .*$"'),
}
"""Commands that a test takes from their page: the page, and how they begin."""

LIVE: Final[dict[str, dict[str, str]]] = {
    "kubectl delete jobs -A -l kueue.x-k8s.io/multikueue-origin=multikueue --cascade=background": {},
    "kubectl delete workloads.kueue.x-k8s.io -A -l kueue.x-k8s.io/multikueue-origin=multikueue": {},
    "kubectl get preemptionplan NAME -o yaml": {"NAME": "{plan}"},
    "kubectl get preemptionplans -o wide": {},
    "kubectl label --overwrite namespace monitoring reprieve.dev/metrics=true": {"monitoring": "{namespace}"},
    'reprieve pause "the storage is moved"': {"pause": "pause -n {namespace}"},
    'reprieve pause --for 2h "upgrade of the nodes"': {"pause": "pause -n {namespace}"},
    'reprieve pause -n team-a --for 30m "a deadline"': {"team-a": "{namespace}"},
    "reprieve resume": {"resume": "resume -n {namespace}"},
    "reprieve resume -n team-a": {"team-a": "{namespace}"},
    "reprieve release --to Kueue": {},
    "reprieve unprotect": {},
}
"""Commands that tests/e2e/test_page_commands.py runs on a control plane, with what takes the place of names. All other
`kubectl get` and `kubectl logs` are run there, too, as they are: they only read."""
READS: Final = re.compile(r"^kubectl (?:-n reprieve-system )?(?:get|logs) ")
READS_INLINE: Final = re.compile(
    r"^kubectl (?:-n \S+ )?(?:get|events|explain) (?!-o json$)(?!.*\b[A-Z]{3,}\b).+$"
)
"""Whole commands within sentences that only read, which are run, too. One with a name in capitals is not whole."""

CLUSTER: Final = "-f examples/training-cluster.yaml"
TEAMS: Final = "-f examples/quota-teams.yaml"
MANAGER: Final = "-f examples/multikueue/manager.yaml"
WAITING: Final = "-f examples/why/members.yaml"
OFFLINE: Final = {
    "reprieve clusters": Offline(MANAGER),
    "reprieve clusters west": Offline(MANAGER),
    "reprieve diff policy.yaml": Offline(TEAMS, files=(("policy.yaml", "diff/threshold.yaml"),)),
    "reprieve doctor": Offline(CLUSTER),
    "reprieve doctor --for Enforce": Offline(CLUSTER),
    "reprieve doctor --for Enforce -n team-a --config settings.yaml": Offline(
        CLUSTER, files=(("settings.yaml", "../manifests/install/settings/settings.yaml"),)
    ),
    "reprieve doctor -f cluster.json": Offline(files=(("cluster.json", "training-cluster.yaml"),)),
    "reprieve plan --for research/llama-train": Offline(CLUSTER),
    "reprieve plan -f cluster.json --for research/llama-train": Offline(
        files=(("cluster.json", "training-cluster.yaml"),)
    ),
    "reprieve plan -f examples/groups/cluster.yaml -f examples/groups/jobset.yaml --for research/rollout": Offline(),
    "reprieve queue": Offline(TEAMS),
    "reprieve queue a-standard": Offline(TEAMS),
    "reprieve queue team-a/standard": Offline(TEAMS),
    "reprieve quota --for team-a/train": Offline(TEAMS),
    "reprieve quota -f quota.json --for team-a/train": Offline(files=(("quota.json", "quota-teams.yaml"),)),
    "reprieve report": Offline(WAITING),
    "reprieve report --since 24h -n research --by gang": Offline(WAITING),
    "reprieve report --since 30d -o html": Offline(WAITING),
    "reprieve report --price nvidia.com/gpu=2.5 --price cpu=0.04": Offline(WAITING),
    "reprieve validate --jsonl requests.jsonl": Offline(
        files=(("requests.jsonl", "settings-requests.jsonl"),)
    ),
    "reprieve validate -f change.yaml --old cluster.json --as jane@example.com": Offline(
        files=(("change.yaml", "settings.yaml"), ("cluster.json", "settings-stored.yaml"))
    ),
    "reprieve validate -f queues.yaml": Offline(files=(("queues.yaml", "quota-teams.yaml"),)),
    "reprieve what-if train.yaml": Offline(
        "-f examples/what-if/cluster.yaml", files=(("train.yaml", "what-if/train.yaml"),)
    ),
    "reprieve who-evicted research/notebook": Offline(WAITING),
    "reprieve who-evicted research/sweep-2": Offline("-f examples/questions/evicted.yaml"),
    "reprieve why pod research/notebook": Offline(WAITING),
    "reprieve why podgroup research/train": Offline(WAITING),
    "reprieve why podgroup research/train -f cluster.json -f quota.json -f lease.json": Offline(
        files=(
            ("cluster.json", "why/members.yaml"),
            ("quota.json", "quota-teams.yaml"),
            ("lease.json", "diff/lease.yaml"),
        )
    ),
}
"""Commands that tests/unit/docs/test_commands.py runs, by what the page says."""

KIND: Final = "there is no Docker where the tests run"
PLANE: Final = "the tests start the same control plane in their own process; the options are read by a test"
SERVES: Final = "it serves until it is asked to end; tests/unit/cli/page and tests/e2e/test_page.py run it"
REASONS: Final = {
    "docker build -t reprieve:0.1.0 . && kind load docker-image reprieve:0.1.0 --name reprieve": KIND,
    "kind create cluster --name reprieve --config hack/kind/cluster.yaml --image kindest/node:v1.37.2": KIND,
    "kind get kubeconfig --name reprieve > .cluster/kind/kubeconfig": KIND,
    "kubectl -n reprieve-system rollout status deployment/reprieve": "it waits for pods, and no kubelet runs them here",
    "make test-e2e KUBECONFIG=$PWD/.cluster/kind/kubeconfig": KIND,
    "export KUBECONFIG=/tmp/plane/kubeconfig": "it only names the kubeconfig of the control plane",
    "export KUBECONFIG=/tmp/fleet/manager/kubeconfig": "it only names the kubeconfig of the manager",
    "hack/cluster fleet --dir /tmp/fleet": "the tests start the same control planes; one of them starts them so",
    "hack/cluster up --dir /tmp/plane --quota": PLANE,
    "hack/cluster up --dir /tmp/plane --quota --nodes 4": PLANE,
    "hack/cluster up --dir /tmp/plane --webhooks --settings settings.yaml": PLANE,
    "make binaries": "the control plane of the tests was built by it",
    "make build": "whatever runs the tests was built by it",
    "make demo": "minutes of what the tests do on the same control plane; a test checks that the target is there",
    "make release RELEASE_URL=https://registry.example/reprieve": "it takes minutes, and uses all that it makes itself",
    "make test": "it runs the tests",
    "pip install kubernetes-asyncio": "requirements/runtime.txt has it",
    "reprieve page": SERVES,
    "reprieve page --context staging --port 8080": SERVES,
    "reprieve page -f examples/training-cluster.yaml": SERVES,
    "reprieve page -f examples/training-cluster.yaml -f examples/quota-teams.yaml --overlay examples/page/plans.yaml "
    "--now 2026-03-02T12:00:00Z": "it serves until it is asked to end; tests/web/test_page_pictures.py runs it",
    "kubectl -n reprieve-system port-forward deployment/reprieve-page 9445": "no kubelet runs the pod here",
    "kubectl -n team-a create token viewer": "tests/e2e/test_page.py asks for such a token by the API",
}
"""Commands that no test runs, and why."""


def run_by(command: Command) -> RunBy | None:
    """The test that takes the command from its page."""
    if command.is_session:
        return SESSIONS.get(command.page)
    if command.page == INSTALL and command.section == HELM:
        return RunBy("e2e/test_helm.py", f"## {HELM}")
    if command.page == INSTALL:
        return RunBy("e2e/test_install.py", f'"{command.section}"')
    for (page, begins), test in NOTED.items():
        if command.page == page and command.text.startswith(begins):
            return test
    return None
