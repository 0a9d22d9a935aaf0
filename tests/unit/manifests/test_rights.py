"""Whom the manifests give rights: reprieve's own service accounts, and nobody else. SECURITY.md says so."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Final, cast

import yaml

from controllers.gangs.permits import NEEDED
from hack.controlplane.client import Json
from hack.controlplane.manifests import MANIFESTS
from kube.client import ApiClient
from runtime.mirror.views import Views
from web.sources.live import Cluster

NAMESPACE: Final = "reprieve-system"
ACCOUNTS: Final = {"reprieve", "reprieve-webhooks", "reprieve-scheduler", "reprieve-page"}
AGGREGATION: Final = "rbac.authorization.k8s.io/aggregate-to-"
READS: Final = {"get", "list", "watch"}
ROLES: Final = ("Role", "ClusterRole")
BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")


def objects(*kinds: str, below: str = ".") -> Iterator[Json]:
    """All of these kinds that stand in the files of a folder."""
    for file in sorted((MANIFESTS / below).rglob("*.yaml")):
        for each in yaml.safe_load_all(file.read_text()):
            if isinstance(each, dict) and each.get("kind") in kinds:
                yield each


def rules_of(name: str, below: str = ".") -> list[Json]:
    """The rules of all roles of this name."""
    return [
        rule
        for each in objects(*ROLES, below=below)
        if each["metadata"]["name"] == name
        for rule in each["rules"]
    ]


def verbs_on(resource: str, rules: list[Json]) -> set[str]:
    return {verb for rule in rules if resource in rule["resources"] for verb in rule["verbs"]}


def test_rights_are_given_to_our_service_accounts_only() -> None:
    """And in a worker cluster to the account of its manager."""
    subjects = [subject for each in objects(*BINDINGS) for subject in each["subjects"]]
    assert {each["kind"] for each in subjects} == {"ServiceAccount"}
    expected = {(NAMESPACE, name) for name in ACCOUNTS} | {("reprieve-multikueue", "manager")}
    assert {(each.get("namespace"), each["name"]) for each in subjects} == expected


def test_no_role_of_users_or_nodes_grows_by_ours() -> None:
    roles = list(objects(*ROLES))
    assert roles
    labels = [label for each in roles for label in each["metadata"].get("labels", {})]
    assert [label for label in labels if label.startswith(AGGREGATION)] == []
    assert [each["metadata"]["name"] for each in roles if "aggregationRule" in each] == []


def test_no_role_has_all_of_anything() -> None:
    rules = [rule for each in objects(*ROLES) for rule in each["rules"]]
    assert [rule for rule in rules if "*" in (*rule["verbs"], *rule["resources"], *rule["apiGroups"])] == []


def test_the_manager_reads_secrets_of_its_own_namespace_alone() -> None:
    roles = [each for each in objects(*ROLES) if each["metadata"]["name"] == "reprieve-multikueue"]
    with_secrets = [each for each in roles if any("secrets" in rule["resources"] for rule in each["rules"])]
    assert [(each["kind"], each["metadata"]["namespace"]) for each in with_secrets] == [
        ("Role", "reprieve-multikueue")
    ]
    assert verbs_on("secrets", with_secrets[0]["rules"]) == {"list", "watch"}


ADMISSION: Final = frozenset(
    f"{kind}{plural}"
    for kind in ("mutating", "validating")
    for plural in ("admissionpolicies", "admissionpolicybindings", "webhookconfigurations")
)


def test_who_has_rights_to_secrets_and_webhook_configurations() -> None:
    holders: dict[str, set[str]] = {}
    for each in objects(*ROLES):
        for rule in each["rules"]:
            for resource in rule["resources"]:
                holders.setdefault(resource, set()).add(each["metadata"]["name"])
    for resource in ("secrets", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        others = {"reprieve-multikueue"} if resource == "secrets" else {"reprieve-enforce"}
        assert holders[resource] == {"reprieve-webhooks-certificates", *others}
    assert verbs_on("mutatingwebhookconfigurations", rules_of("reprieve-enforce", "rights")) == {
        "list",
        "watch",
    }
    named = [
        rule["resourceNames"]
        for rule in rules_of("reprieve-webhooks-certificates")
        if "mutatingwebhookconfigurations" in rule["resources"]
    ]
    assert named == [["reprieve", "reprieve-queues"]]


def test_observing_only_reads() -> None:
    rules = rules_of("reprieve-quota-observe", "components/quota-observe")
    assert rules
    assert {verb for rule in rules for verb in rule["verbs"]} <= READS


def test_the_base_writes_what_it_has_decided_and_its_lease_and_nothing_else() -> None:
    """The observer (issue of the modes): no write of pods, no event, and nothing of others."""
    roles = [*objects("ClusterRole", "Role", below="base")]
    assert {each["metadata"]["name"] for each in roles} == {"reprieve"}
    writes = {
        (group, resource)
        for rule in rules_of("reprieve", "base")
        if {*rule["verbs"]} - READS
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert writes == {
        ("reprieve.dev", "preemptionplans"),
        ("reprieve.dev", "preemptionplans/status"),
        ("reprieve.dev", "clusterpreemptionplans"),
        ("reprieve.dev", "preemptionreports"),
        ("reprieve.dev", "podgroups/status"),
        ("coordination.k8s.io", "leases"),
    }


def test_to_act_adds_the_writes_of_pods_their_events_and_some_reads() -> None:
    rules = rules_of("reprieve-enforce", "rights")
    assert verbs_on("pods", rules) == {"delete", "patch"}
    assert {resource for rule in rules for resource in rule["resources"]} == {
        "pods",
        "pods/eviction",
        "pods/status",
        "jobs",
        "events",
        *ADMISSION,
    }
    assert {verb for resource in ADMISSION for verb in verbs_on(resource, rules)} == {"list", "watch"}
    assert {(each.verb, each.resource) for each in NEEDED} <= {
        (verb, resource) for rule in rules for verb in rule["verbs"] for resource in rule["resources"]
    }


def test_the_base_reads_nothing_of_kueue_and_writes_nothing_to_it() -> None:
    """Without the component for quota, `reprieve` cannot touch what queues and Workloads say."""
    rules = rules_of("reprieve", "base")
    assert [rule for rule in rules if "kueue.x-k8s.io" in rule["apiGroups"]] == []
    assert verbs_on("jobs", rules) <= READS
    assert verbs_on("jobs/status", rules) == set()


def test_the_lease_that_says_who_acts_is_changed_by_name_only() -> None:
    for account, lease, below in (
        ("reprieve", "reprieve", "base"),
        ("reprieve-webhooks-lease", "reprieve-webhooks", "webhooks"),
    ):
        rules = [rule for rule in rules_of(account, below) if "leases" in rule["resources"]]
        changing = [rule for rule in rules if rule["verbs"] != ["create"]]
        assert [rule["resourceNames"] for rule in changing] == [[lease]]


def test_a_manager_writes_in_a_worker_cluster_only_where_a_role_binding_says_so() -> None:
    """14755: otherwise a tenant of the manager runs pods in any namespace there that has the name of his own."""
    below = "multikueue-worker"
    everywhere = {each["roleRef"]["name"] for each in objects("ClusterRoleBinding", below=below)}
    assert everywhere == {"reprieve-multikueue-worker"}
    own = [rule for each in objects("Role", below=below) for rule in each["rules"]]
    read = [rule for rule in rules_of("reprieve-multikueue-worker", below) if rule not in own]
    assert {verb for rule in read for verb in rule["verbs"]} <= READS
    assert not {"secrets", "pods"} & {resource for rule in read for resource in rule["resources"]}
    bound = [each["metadata"].get("namespace") for each in objects("RoleBinding", below=below)]
    assert bound == ["reprieve-multikueue"]
    assert {resource for rule in own for resource in rule["resources"]} == {"leases", "workloads"}


def test_the_page_only_lists_and_watches_and_gets_one_lease() -> None:
    """No Secrets, no impersonation, no reviews: whoever takes the process over learns no credentials."""
    roles = [*objects("ClusterRole", "Role", below="components/page")]
    assert {(each["kind"], each["metadata"]["name"]) for each in roles} == {
        ("ClusterRole", "reprieve-page"),
        ("Role", "reprieve-page"),
    }
    (everywhere,) = [each for each in roles if each["kind"] == "ClusterRole"]
    (own,) = [each for each in roles if each["kind"] == "Role"]
    assert {tuple(rule["verbs"]) for rule in everywhere["rules"]} == {("list", "watch")}
    resources = {resource for rule in everywhere["rules"] for resource in rule["resources"]}
    assert not {each for each in resources if "/" in each}
    assert not resources & {"secrets", "configmaps", "serviceaccounts", "users", "groups", "events", "leases"}
    groups = {group for rule in everywhere["rules"] for group in rule["apiGroups"]}
    assert not groups & {"authentication.k8s.io", "authorization.k8s.io", "rbac.authorization.k8s.io"}
    assert own["rules"] == [
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["reprieve"],
            "verbs": ["get"],
        }
    ]


def test_the_role_of_the_page_is_what_it_mirrors() -> None:
    """No missing right, and no idle one."""
    client = cast(ApiClient, SimpleNamespace(cluster=""))
    views = Views(client, optional=True)
    Cluster(client, views=views)
    mirrored = {
        ("" if path.startswith("/api/") else path.split("/")[2], path.rpartition("/")[2])
        for view in views
        for path in (view.resource.path, *view.resource.older)
    }
    granted = {
        (group, resource)
        for each in objects("ClusterRole", below="components/page")
        for rule in each["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert granted == mirrored
