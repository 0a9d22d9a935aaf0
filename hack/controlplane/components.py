"""The command line of every component, and the files that it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from hack.controlplane.pki import Authority, Pair, write_kubeconfig, write_signing_key
from hack.controlplane.ports import Ports
from hack.controlplane.processes import Starter
from hack.controlplane.states import States
from hack.controlplane.versions import known

__all__ = [
    "FOLDERS",
    "MANAGER_USER",
    "OBSERVER_FOLDERS",
    "OUTSIDE",
    "PAGE_USER",
    "QUOTA_FOLDERS",
    "REPRIEVE_USER",
    "WEBHOOKS_USER",
    "Layout",
    "Options",
]

HOST: Final = "127.0.0.1"
REPRIEVE_USER: Final = "system:serviceaccount:reprieve-system:reprieve"
WEBHOOKS_USER: Final = "system:serviceaccount:reprieve-system:reprieve-webhooks"
PAGE_USER: Final = "system:serviceaccount:reprieve-system:reprieve-page"
MANAGER_USER: Final = "system:serviceaccount:reprieve-multikueue:manager"
"""In a worker cluster: the manager of several clusters."""
SERVICE_ACCOUNTS: Final = ("system:serviceaccounts", "system:serviceaccounts:reprieve-system")
KWOK_USER: Final = "kwok"
HERE: Final = Path(__file__).resolve().parent

IDENTITIES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "admin": ("admin", ("system:masters",)),
    "kube-scheduler": ("system:kube-scheduler", ()),
    "kube-controller-manager": ("system:kube-controller-manager", ()),
    "kwok": (KWOK_USER, ()),
    "reprieve": (REPRIEVE_USER, SERVICE_ACCOUNTS),
    "reprieve-webhooks": (WEBHOOKS_USER, SERVICE_ACCOUNTS),
}
"""By kubeconfig: the user and the groups. Our services have their service accounts, so the shipped bindings apply."""

CONTROLLERS: Final = (
    "deployment-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "pod-garbage-collector-controller",
    "podgroup-protection-controller",
    "replicaset-controller",
    "resourceclaim-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "taint-eviction-controller",
)
"""The controllers that a test can notice. Without the others the control plane is up sooner."""

WEBHOOKS: Final = ("reprieve-webhooks", "reprieve-webhooks-ops")
"""The listeners of the webhooks."""
OBSERVER_FOLDERS: Final = ("crds", "kueue-crds", "base")
FOLDERS: Final = (*OBSERVER_FOLDERS, "rights", "webhooks")
QUOTA_FOLDERS: Final = (*FOLDERS, "quota")
"""Folders of manifests/. With the second ones `planning.mode` may be Enforce, and with the third ones `quota.mode`."""
OUTSIDE: Final = "outside"
"""A port that is kept for a proxy between other clusters and the API server."""
SERVICE: Final = "reprieve-service"
"""The listener of the proxy that plays the Service."""

CONFIGURATION: Final = "apiserver.config.k8s.io/v1"
FOREVER: Final = "24h"
"""Longer than any test."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a plane. What its version of Kubernetes does not know is left out (`versions`)."""

    version: str = ""
    """The minor version of API server, scheduler and controller manager, such as 1.36. If empty: the default."""
    reprieve: bool = False
    """Run `reprieve serve`, and add it to the scheduler's configuration."""
    replicas: int = 1
    """How many processes of reprieve there are. If more than one, they elect a leader, the scheduler reaches them by
    a proxy that plays the Service, and each reaches the API server by a proxy of its own (`ControlPlane.service` and
    `ControlPlane.networks`)."""
    start_reprieve: bool = True
    """If `reprieve` is True: start it during `up`."""
    reprieve_settings: Mapping[str, object] | None = None
    """Merged into reprieve's Configuration, section by section. Without a `planning.mode` in it, reprieve enforces."""
    reprieve_environment: Mapping[str, str] | None = None
    """Environment variables for the process of reprieve, such as failpoints."""
    reprieve_command: Sequence[str] = ()
    """What runs in place of the command `reprieve`, with the same arguments."""
    reprieve_starter: Starter | None = None
    """What starts the command `reprieve`, for services and webhooks, in place of `Process`."""
    webhooks: bool = False
    """Run the webhooks in a process of their own, and have the API server call them."""
    webhooks_settings: Mapping[str, object] | None = None
    """Merged into the webhooks' Configuration, section by section."""
    webhooks_caller: Path | None = None
    """A kubeconfig with the certificate that the API server shows to webhooks."""
    static_policies: Path | None = None
    """A folder with ValidatingAdmissionPolicies and their bindings. The API server reads them there, and no API shows
    them. From 1.37 on."""
    manifests: Sequence[str] = FOLDERS
    """The folders of manifests/ to apply, in this order."""
    scheduler_settings: Mapping[str, object] | None = None
    """Merged into the KubeSchedulerConfiguration at its top level."""
    schedulers: Sequence[str] = ()
    """Further kube-schedulers, by the `schedulerName` that they serve. They do not know reprieve."""
    controllers: Sequence[str] = CONTROLLERS
    """Of the controller manager. Without those of ReplicaSets and Deployments, these stay as they are."""
    flush: str = FOREVER
    """How often the scheduler tries every parked pod again. Its default is 5m, but no test may wait for that."""
    feature_gates: Mapping[str, bool] | None = None
    """For the API server, the scheduler and the controller manager."""
    runtime_config: Mapping[str, bool] | None = None
    """API versions that are served or not, such as scheduling.k8s.io/v1beta1."""
    api_only: bool = False
    """Start only etcd and the API server. Objects are checked and stored, and nothing else happens to them."""
    nodes: bool = True
    """Start the schedulers and KWOK. Without them no pod runs: enough for a manager of other clusters."""
    detached: bool = False
    """Whether the processes outlive this one."""
    states: States | None = None
    """What was applied to planes with the same `state`, so that it need not be applied again. Their namespaces have the
    same UIDs."""

    @property
    def state(self) -> str:
        """On what it depends which objects there are once the manifests are applied."""
        return repr((self.version, self.manifests, self.feature_gates, self.runtime_config))


class Layout:
    """The folder of a plane: certificates, kubeconfigs, logs and data; and the ports of its servers."""

    def __init__(self, directory: Path, options: Options, ports: Ports) -> None:
        self.directory = directory.resolve()
        self.options = options
        self.logs = self._folder("logs")
        self.pki = self._folder("pki")
        self.audit_log = self.logs / "audit.jsonl"
        self.kubeconfig = self.directory / "kubeconfig"
        names = ("etcd", "etcd-peer", "kube-apiserver", "kube-scheduler", "kube-controller-manager")
        ours = [port for name in self.replicas for port in (name, f"{name}-ops", f"{name}-network")]
        self.port = {
            name: ports.take() for name in (*names, *options.schedulers, *ours, SERVICE, OUTSIDE, *WEBHOOKS)
        }
        self.server = f"https://{HOST}:{self.port['kube-apiserver']}"

    def write(self) -> None:
        """Write certificates, kubeconfigs and the audit policy."""
        authority = Authority(self.pki, "reprieve local control plane")
        self.authority = authority
        names = ["localhost", HOST, "kubernetes.default.svc", "10.96.0.1"]
        self.serving = authority.server("kube-apiserver", names)
        write_signing_key(self.pki / "service-accounts.key")
        self.front_proxy = Authority(self.pki / "front-proxy", "reprieve local front proxy")
        for name, (user, groups) in IDENTITIES.items():
            pair = authority.client(name, user, groups)
            write_kubeconfig(self.kubeconfig_of(name), self.server, authority.pair.certificate, pair)
            if name == "reprieve" and self.options.replicas > 1:
                for replica in self.replicas:
                    server = f"https://{HOST}:{self.port[f'{replica}-network']}"
                    write_kubeconfig(self.kubeconfig_of(replica), server, authority.pair.certificate, pair)
        (self.directory / "audit-policy.yaml").write_text(yaml.safe_dump(_audit_policy()))
        if plugins := _plugins(self.options):
            self._admission.write_text(yaml.safe_dump(_admission(plugins)))

    @property
    def data(self) -> Path:
        """The data of etcd, which makes this folder."""
        return self.directory / "etcd"

    @property
    def replicas(self) -> list[str]:
        """The names of reprieve's processes: the first one is `reprieve`."""
        return ["reprieve", *(f"reprieve-{number}" for number in range(2, self.options.replicas + 1))]

    def kubeconfig_of(self, identity: str) -> Path:
        """The path of a component's kubeconfig. That of `admin` is printed."""
        return self.kubeconfig if identity == "admin" else self.directory / f"{identity}.kubeconfig"

    def extender_certificates(self) -> tuple[Path, Pair, Pair]:
        """The certificate of an authority for the extender, the server's pair, and the scheduler's pair, as in the
        manifests."""
        authority = Authority(self.directory / "extender-pki", "reprieve extender")
        server = authority.replica("reprieve", ["localhost", HOST])
        return authority.pair.certificate, server, authority.client("kube-scheduler", "kube-scheduler")

    def arguments(self) -> dict[str, list[str]]:
        """The command line of each component, without the program."""
        return {
            "etcd": self._etcd(),
            "kube-apiserver": self._kube_apiserver(),
            "kube-controller-manager": self._kube_controller_manager(),
            "kube-scheduler": self._kube_scheduler("kube-scheduler"),
            **{name: self._kube_scheduler(name) for name in self.options.schedulers},
            "kwok": self._kwok(),
        }

    def _etcd(self) -> list[str]:
        """etcd without fsync. That is durable enough for a test."""
        client = f"http://{HOST}:{self.port['etcd']}"
        peer = f"http://{HOST}:{self.port['etcd-peer']}"
        return [
            "--name=local",
            f"--data-dir={self.data}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=local={peer}",
            "--unsafe-no-fsync",
            "--quota-backend-bytes=4294967296",
            "--watch-progress-notify-interval=5s",
            "--log-level=warn",
            # A single member cannot lose an election, but it holds one when it starts. Each heartbeat costs CPU time.
            "--heartbeat-interval=50",
            "--election-timeout=250",
        ]

    def _kube_apiserver(self) -> list[str]:
        """RBAC, an audit log of our own identities, and client certificates for all users."""
        return [
            f"--bind-address={HOST}",
            f"--advertise-address={HOST}",
            f"--secure-port={self.port['kube-apiserver']}",
            f"--etcd-servers=http://{HOST}:{self.port['etcd']}",
            f"--tls-cert-file={self.serving.certificate}",
            f"--tls-private-key-file={self.serving.key}",
            f"--client-ca-file={self.authority.pair.certificate}",
            # No client comes through a front proxy. But without its authority, the other components log errors all the
            # time.
            f"--requestheader-client-ca-file={self.front_proxy.pair.certificate}",
            "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.pki / 'service-accounts.key'}",
            f"--service-account-signing-key-file={self.pki / 'service-accounts.key'}",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--endpoint-reconciler-type=none",
            f"--audit-policy-file={self.directory / 'audit-policy.yaml'}",
            f"--audit-log-path={self.audit_log}",
            "--audit-log-maxsize=0",
            "--delete-collection-workers=8",
            "--shutdown-watch-termination-grace-period=0s",
            f"--cert-dir={self.pki}",
            *([f"--admission-control-config-file={self._admission}"] if _plugins(self.options) else []),
            *self._gates(),
            *self._pairs("--runtime-config", self.options.runtime_config),
        ]

    def _kube_controller_manager(self) -> list[str]:
        """The controllers that a test can notice, each with its own service account."""
        kubeconfig = self.kubeconfig_of("kube-controller-manager")
        return [
            *self._secure_port("kube-controller-manager"),
            f"--kubeconfig={kubeconfig}",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self.pki / 'service-accounts.key'}",
            f"--root-ca-file={self.authority.pair.certificate}",
            f"--controllers={','.join(known(self.options.version, self.options.controllers))}",
            "--kube-api-qps=1000",
            "--kube-api-burst=1000",
            # Simulated nodes send no heartbeats.
            f"--node-monitor-grace-period={FOREVER}",
            f"--node-startup-grace-period={FOREVER}",
            *self._gates(),
        ]

    def _kube_scheduler(self, name: str) -> list[str]:
        """The file of this name from `manifests.write_configurations` configures it."""
        return [
            *self._secure_port(name),
            f"--config={self.directory / name}.yaml",
            f"--pod-max-in-unschedulable-pods-duration={self.options.flush}",
            *self._gates(),
        ]

    def _kwok(self) -> list[str]:
        """KWOK that simulates all nodes."""
        return [
            f"--kubeconfig={self.kubeconfig_of('kwok')}",
            f"--config={HERE / 'stages.yaml'}",
            "--manage-all-nodes",
        ]

    def _secure_port(self, name: str) -> list[str]:
        kubeconfig = self.kubeconfig_of("kube-scheduler" if name in self.options.schedulers else name)
        return [
            f"--bind-address={HOST}",
            f"--secure-port={self.port[name]}",
            f"--tls-cert-file={self.serving.certificate}",
            f"--tls-private-key-file={self.serving.key}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
        ]

    @property
    def _admission(self) -> Path:
        return self.directory / "admission.yaml"

    def _gates(self) -> list[str]:
        return self._pairs("--feature-gates", self.options.feature_gates)

    def _pairs(self, flag: str, values: Mapping[str, bool] | None) -> list[str]:
        given = values or {}
        pairs = [f"{name}={str(given[name]).lower()}" for name in known(self.options.version, given)]
        return [f"{flag}={','.join(pairs)}"] if pairs else []

    def _folder(self, name: str) -> Path:
        folder = self.directory / name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder


def _admission(plugins: Sequence[Mapping[str, object]]) -> dict[str, object]:
    return {"apiVersion": CONFIGURATION, "kind": "AdmissionConfiguration", "plugins": list(plugins)}


def _plugins(options: Options) -> list[dict[str, object]]:
    """The credentials of the API server for webhooks, and policies that it reads from files."""
    plugins = []
    if options.webhooks_caller is not None:
        caller = {"kind": "WebhookAdmissionConfiguration", "kubeConfigFile": str(options.webhooks_caller)}
        plugins += [_plugin(f"{kind}AdmissionWebhook", caller) for kind in ("Mutating", "Validating")]
    if options.static_policies is not None:
        read = {
            "kind": "ValidatingAdmissionPolicyConfiguration",
            "staticManifestsDir": str(options.static_policies),
        }
        plugins.append(_plugin("ValidatingAdmissionPolicy", read))
    return plugins


def _plugin(name: str, configuration: Mapping[str, object]) -> dict[str, object]:
    return {"name": name, "configuration": {"apiVersion": CONFIGURATION, **configuration}}


def _audit_policy() -> dict[str, object]:
    """Logs the requests of the identities whose rights the tests check, and which pods reprieve asked to delete."""
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {
                "level": "Request",
                "users": [REPRIEVE_USER],
                "verbs": ["delete"],
                "resources": [{"group": "", "resources": ["pods"]}],
            },
            {
                "level": "Metadata",
                "users": [REPRIEVE_USER, WEBHOOKS_USER, PAGE_USER, MANAGER_USER, KWOK_USER],
            },
            {"level": "None"},
        ],
    }
