"""Random webhooks, admission policies and requests about pods, for a control plane."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

from hack.controlplane.client import Json

__all__ = ["GROUP", "NAMESPACES", "Random", "labels"]

GROUP: Final = "admissionregistration.k8s.io"
KEYS: Final = ("app", "tier", "reprieve.dev/x")
VALUES: Final = ("a", "b", "c")
NAMESPACES: Final = {
    "plain": {},
    "app-a": {"app": "a"},
    "app-b": {"app": "b", "tier": "a"},
    "tier-c": {"tier": "c"},
}
"""Labels by name."""
OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
GROUPS: Final = ([""], ["*"], ["", "apps"], ["apps"], ["policy"])
VERSIONS: Final = (["v1"], ["*"], ["v1", "v1beta1"], ["v1beta1"])
RESOURCES: Final = (
    ["pods"],
    ["pods/status"],
    ["pods/eviction"],
    ["pods/*"],
    ["pods", "pods/status"],
    ["pods/status", "pods/eviction"],
    ["*/status"],
    ["*/eviction"],
    ["*"],
    ["*/*"],
    ["deployments"],
    ["pods/binding", "deployments"],
)
ONLY_PODS: Final = "request.resource.resource != 'pods'"


def labels(rng: random.Random) -> dict[str, str]:
    """Of a pod."""
    return {key: rng.choice(VALUES) for key in KEYS if rng.random() < 0.5}


class Random:
    """Makes configurations."""

    def __init__(self, seed: int, names: Sequence[str]) -> None:
        """`names`: of pods."""
        self.rng = random.Random(seed)
        self._names = names

    def some(self, chance: float) -> bool:
        """Whether a part is there."""
        return self.rng.random() < chance

    def webhook(self, name: str, client_config: Json) -> Json:
        """One webhook."""
        rules = [self.rule() for _ in range(self.rng.randint(1, 2))]
        made: Json = {
            "name": f"{name}.example.com",
            "clientConfig": client_config,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 10,
            "rules": rules,
            **self.selecting(),
        }
        if self.some(0.2):
            made["matchConditions"] = [{"name": "some", "expression": self.condition()}]
        return made

    def condition(self) -> str:
        """A match condition."""
        return self.rng.choice(("true", "false", "request.operation != 'DELETE'", ONLY_PODS))

    def rule(self, *, deletes: bool = True) -> Json:
        """One rule. `deletes`: DELETE may be in it."""
        operations = [each for each in OPERATIONS if deletes or each != "DELETE"]
        some = self.rng.sample(operations, self.rng.randint(1, 3))
        made: Json = {
            "operations": ["*"] if deletes and self.some(0.15) else some,
            "apiGroups": self.rng.choice(GROUPS[: 5 if self.some(0.4) else 3]),
            "apiVersions": self.rng.choice(VERSIONS),
            "resources": self.rng.choice(RESOURCES),
        }
        if self.some(0.4):
            made["scope"] = self.rng.choice(("*", "Namespaced", "Cluster"))
        return made

    def named_rule(self, *, deletes: bool) -> Json:
        """One rule of a policy."""
        made = self.rule(deletes=deletes)
        if self.some(0.25):
            made["resourceNames"] = self.rng.sample(self._names, min(3, len(self._names)))
        return made

    def selecting(self) -> Json:
        """Selectors and matchPolicy."""
        made: Json = {}
        if self.some(0.6):
            made["namespaceSelector"] = self.selector([*KEYS[:2], "kubernetes.io/metadata.name"])
        if self.some(0.6):
            made["objectSelector"] = self.selector(KEYS)
        if self.some(0.5):
            made["matchPolicy"] = self.rng.choice(("Exact", "Equivalent"))
        return made

    def selector(self, keys: Sequence[str]) -> Json:
        """A label selector. Some select everything."""
        made: dict[str, Any] = {}
        if self.some(0.5):
            key = self.rng.choice(keys)
            made["matchLabels"] = {key: self.value(key)}
        if self.some(0.5):
            key, operator = self.rng.choice(keys), self.rng.choice(("In", "NotIn", "Exists", "DoesNotExist"))
            values = {"values": [self.value(key) for _ in range(2)]} if operator.endswith("In") else {}
            made["matchExpressions"] = [{"key": key, "operator": operator, **values}]
        return made

    def value(self, key: str) -> str:
        """Of a label."""
        return self.rng.choice(tuple(NAMESPACES) if key.startswith("kubernetes.io/") else VALUES)

    def matching(self, *, deletes: bool, needs_rules: bool) -> Json:
        """What a policy or a binding is about."""
        made = self.selecting()
        if needs_rules or self.some(0.6):
            rules = [self.named_rule(deletes=deletes) for _ in range(self.rng.randint(1, 2))]
            made["resourceRules"] = rules
        if self.some(0.3):
            made["excludeResourceRules"] = [self.named_rule(deletes=True)]
        return made

    def validating(self, name: str, *, denies: bool) -> tuple[Json, list[Json]]:
        """The spec of a policy that says its name of every request about pods, and those of its bindings."""
        spec: Json = {
            "failurePolicy": "Fail",
            "matchConstraints": self.matching(deletes=True, needs_rules=True),
            "validations": [{"expression": ONLY_PODS, "message": f"noted by {name}"}],
        }
        if self.some(0.2):
            spec["matchConditions"] = [{"name": "some", "expression": self.condition()}]
        bindings = self.bindings(name, spec, denies=denies)
        for each in bindings:
            each["validationActions"] = ["Deny"] if denies else ["Warn"]
        return spec, bindings

    def mutating(self, name: str) -> tuple[Json, list[Json]]:
        """The spec of a policy that fails for every request about pods, and those of its bindings."""
        failing = f"string(1 / (size(request.name) * 0)) + '{name}'"
        patch = f'[JSONPatch{{op: "add", path: "/metadata/annotations", value: {{"x": {failing}}}}}]'
        spec: Json = {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": self.matching(deletes=False, needs_rules=True),
            "matchConditions": [{"name": "pods", "expression": "request.resource.resource == 'pods'"}],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
        }
        return spec, self.bindings(name, spec, denies=True)

    def bindings(self, name: str, spec: Json, *, denies: bool) -> list[Json]:
        """None, one or two. `denies`: also with parameters that are not there, or of an unknown kind."""
        made: list[Json] = [{"policyName": name} for _ in range(self.rng.choice((0, 1, 1, 1, 2)))]
        for each in made:
            if self.some(0.5):
                each["matchResources"] = self.matching(
                    deletes="mutations" not in spec or self.some(0.5), needs_rules=False
                )
        if denies and self.some(0.3):
            kind = self.rng.choice((("v1", "ConfigMap"), ("example.com/v1", "Unknown")))
            spec["paramKind"] = {"apiVersion": kind[0], "kind": kind[1]}
            action = self.rng.choice(("Allow", "Deny"))
            for each in made:
                each["paramRef"] = {"name": "absent", "parameterNotFoundAction": action}
        return made
