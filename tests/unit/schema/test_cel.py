from __future__ import annotations

from typing import Any

import pytest

from schema.cel import CelError, compile_rule
from schema.cel.parser import CelSyntaxError, parse
from schema.cel.values import ABSENT, OptionalValue, Value, equal, typed, variable
from schema.nodes import Node, read_node

STRING = {"type": "string"}
ENTRY = {"type": "object", "properties": {"name": STRING, "n": {"type": "integer"}}}
SCHEMA = {
    "type": "object",
    "properties": {
        "name": STRING,
        "other": STRING,
        "n": {"type": "integer"},
        "on": {"type": "boolean"},
        "ratio": {"type": "number"},
        "time": {"type": "string", "format": "date-time"},
        "quantity": {"x-kubernetes-int-or-string": True},
        "none": {"type": "string", "nullable": True},
        "names": {"type": "array", "items": STRING},
        "unique": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        "entries": {
            "type": "array",
            "items": ENTRY,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "labels": {"type": "object", "additionalProperties": STRING},
    },
}
NODE: Node = read_node(SCHEMA)


def holds(rule: str, this: dict[str, Any], old: dict[str, Any] | None = None) -> bool:
    scope: dict[str, Value] = {"self": typed(this, NODE)}
    if old is not None:
        scope["oldSelf"] = typed(old, NODE)
    return compile_rule(rule).holds(scope)


@pytest.mark.parametrize(
    ("rule", "this"),
    [
        ("true", {}),
        ("!false", {}),
        ("self.on ? self.n == 1 : false", {"on": True, "n": 1}),
        ("self.on ? false : self.n == 1", {"on": False, "n": 1}),
        ("'a' in self.labels && !('b' in self.labels) && !(1 in self.labels)", {"labels": {"a": "b"}}),
        ("has(self.name)", {"name": ""}),
        ("!has(self.name)", {"n": 1}),
        ("!has(self.none)", {"none": None}),
        ("'a' in self.names", {"names": [None, "a"]}),
        ("!self.names.all(n, n == 'a')", {"names": [1, "b"]}),
        ("self.name == 'it\\'s'", {"name": "it's"}),
        ('self.name == "a"', {"name": "a"}),
        ("self.name != self.other", {"name": "a", "other": "b"}),
        ("self.name < self.other", {"name": "a", "other": "b"}),
        ("self.n >= 3 && self.n <= 3 && !(self.n > 3)", {"n": 3}),
        ("self.n > -2", {"n": -1}),
        ("self.n == 1 || self.n == 2", {"n": 2}),
        ("self.on ? self.n == 1 : self.n == 2", {"on": False, "n": 2}),
        ("self.ratio < self.n", {"ratio": 0.5, "n": 1}),
        ("self.time < self.time == false", {"time": "2026-01-01T00:00:00Z"}),
        ("self.quantity == 'a' || self.quantity == 1", {"quantity": 1}),
        ("self.name in ['a', 'b']", {"name": "b"}),
        ("'x' in self.labels && !('y' in self.labels)", {"labels": {"x": "1"}}),
        ("self.labels.x == '1'", {"labels": {"x": "1"}}),
        ("self.labels.all(k, k.startsWith('x'))", {"labels": {"x": "1", "xy": ""}}),
        ("size(self.names) == 2 && self.names.size() == 2", {"names": ["a", "b"]}),
        ("size(self.name) == 1", {"name": "\N{LATIN SMALL LETTER E WITH ACUTE}"}),
        ("size(self.labels) == 1", {"labels": {"x": ""}}),
        ("self.entries.all(e, e.n > 0)", {"entries": [{"name": "a", "n": 1}, {"name": "b", "n": 2}]}),
        ("self.entries.all(e, false)", {"entries": []}),
        ("!self.entries.exists(e, true)", {"entries": []}),
        ("self.entries.exists(e, e.n == 2)", {"entries": [{"name": "a", "n": 1}, {"name": "b", "n": 2}]}),
        (
            "self.entries.exists(e, self.names.all(n, n == e.name))",
            {"entries": [{"name": "a"}], "names": ["a"]},
        ),
        ("self.name.matches('^a+$')", {"name": "aa"}),
        ("!self.name.matches('^a+$')", {"name": "a\n"}),
        ("duration(self.name) >= duration('1m')", {"name": "60s"}),
        ("!(duration(self.name) >= duration('1m'))", {"name": "59.999999999s"}),
        # An error does not matter beside what decides.
        ("has(self.name) || self.other == ''", {"name": "a"}),
        ("self.other == '' || has(self.name)", {"name": "a"}),
        ("!(self.other == '' && has(self.name))", {"n": 1}),
        ("self.entries.exists(e, e.n == 1)", {"entries": [{"name": "a"}, {"name": "b", "n": 1}]}),
        ("!self.entries.all(e, e.n == 1)", {"entries": [{"name": "a"}, {"name": "b", "n": 2}]}),
        ("self.names.exists_one(n, n == 'a')", {"names": ["a", "b"]}),
        ("!self.names.exists_one(n, n == 'a')", {"names": ["a", "a"]}),
        ("!self.names.exists_one(n, true)", {"names": []}),
        ("self.names.all(n, self.names.exists_one(m, m == n))", {"names": ["b", "a"]}),
    ],
)
def test_rules_that_hold(rule: str, this: dict[str, Any]) -> None:
    assert holds(rule, this)


@pytest.mark.parametrize(
    ("rule", "this", "problem"),
    [
        ("self.name == ''", {}, "no such key: name"),
        ("self.n == 1", {"n": 1.0}, "wrong type"),
        ("self.on", {"on": 1}, "wrong type"),
        ("self.time == self.time", {"time": "yesterday"}, "no time"),
        ("self.name == ''", {"name": None}, "no such key"),
        ("self.none == null", {"none": None}, "no such key"),
        ("self.labels.x == null", {"labels": {"x": None}}, "null"),
        ("'b' in self.names", {"names": [None, "a"]}, "null"),
        ("self.names.all(n, n == 'a')", {"names": [1, "a"]}, "wrong type"),
        ("self.entries == self.entries", {"entries": [{"name": {}}]}, "no scalar"),
        ("self.n == 1", {"n": True}, "wrong type"),
        ("self.name == ''", {"name": {}}, "wrong type"),
        ("self.name == ''", {"name": []}, "wrong type"),
        ("self.n < self.name", {"name": "a", "n": 1}, "no such overload"),
        ("self < self", {}, "no such overload"),
        ("self.name < self.n", {"name": "a", "n": 1}, "no such overload"),
        ("self.on < self.on", {"on": True}, "no such overload"),
        ("size(self.n) == 1", {"n": 1}, "no such overload"),
        ("self.name.all(c, true)", {"name": "a"}, "no such overload"),
        ("self.entries.exists_one(e, e.n == 1)", {"entries": [{"n": 1}, {"name": "b"}]}, "no such key"),
        ("self.name in self.n", {"name": "a", "n": 1}, "no such overload"),
        ("self.n.startsWith('a')", {"n": 1}, "no such overload"),
        ("self.n || false", {"n": 1}, "no such overload"),
        ("has(self.name.x)", {"name": "a"}, "no such overload"),
        ("has(self.name)", {"name": 1}, "wrong type"),
        ("self.name.x == 1", {"name": "a"}, "no such overload"),
        ("duration(self.name) == duration('1s')", {"name": "soon"}, "is not a duration"),
        ("self.other == '' || has(self.n)", {"name": "a"}, "no such key"),
        ("self.entries.all(e, e.n == 1)", {"entries": [{"name": "a"}, {"name": "b", "n": 1}]}, "no such key"),
    ],
)
def test_what_has_no_value_is_an_error(rule: str, this: dict[str, Any], problem: str) -> None:
    with pytest.raises(CelError, match=problem):
        holds(rule, this)


@pytest.mark.parametrize(
    ("this", "old", "same"),
    [
        ({"n": 1, "name": "a"}, {"name": "a", "n": 1}, True),
        ({"n": 1}, {"n": 2}, False),
        ({"n": 1}, {"n": 1, "name": "a"}, False),
        ({"n": 1}, {"name": "a"}, False),
        ({"n": 1}, {}, False),
        ({"n": 1}, {"n": None}, False),
        ({"n": None, "name": "a"}, {"on": None, "name": "a"}, True),
        ({"names": ["a", "b"]}, {"names": ["b", "a"]}, False),
        ({"names": ["a"]}, {"names": ["a", "b"]}, False),
        ({"unique": ["a", "b"]}, {"unique": ["b", "a"]}, True),
        ({"unique": ["a", "b"]}, {"unique": ["b", "c"]}, False),
        ({"entries": [{"name": "a"}, {"name": "b"}]}, {"entries": [{"name": "b"}, {"name": "a"}]}, True),
        ({"entries": [{"name": "a", "n": 1}]}, {"entries": [{"name": "a", "n": 2}]}, False),
        ({"entries": [{"name": "a"}]}, {"entries": [{"name": "b"}]}, False),
        ({"quantity": 1}, {"quantity": "1"}, False),
        ({"ratio": 1}, {"ratio": 1.0}, True),
        ({"time": "2026-01-01T00:00:00Z"}, {"time": "2026-01-01T01:00:00+01:00"}, True),
        ({"time": "2026-01-01T00:00:00Z"}, {"time": "2026-01-01T00:00:00"}, True),
        ({"time": "1970-01-01T00:00:00Z"}, {"time": ""}, True),
    ],
)
def test_equality(this: dict[str, Any], old: dict[str, Any], same: bool) -> None:
    assert holds("self == oldSelf", this, old) is same


def test_true_is_no_number() -> None:
    assert not equal(True, 1)
    assert not equal(1, True)


def test_an_old_value_may_be_absent() -> None:
    rule = compile_rule("!oldSelf.hasValue() || oldSelf.value().n <= self.n")
    this = typed({"n": 2}, NODE)
    assert rule.about_change
    assert rule.holds({"self": this, "oldSelf": ABSENT})
    assert rule.holds({"self": this, "oldSelf": OptionalValue(typed({"n": 1}, NODE))})
    assert not rule.holds({"self": this, "oldSelf": OptionalValue(typed({"n": 3}, NODE))})
    for one, other, same in ((ABSENT, OptionalValue(1), False), (OptionalValue(1), OptionalValue(1), True)):
        assert equal(one, other) is equal(other, one) is same
    assert not equal(OptionalValue(1), OptionalValue(2))
    assert not equal(ABSENT, OptionalValue(None))
    with pytest.raises(CelError, match="no old value"):
        compile_rule("oldSelf.value() == self").holds({"self": this, "oldSelf": ABSENT})


def test_a_variable_of_the_wrong_type_matters_only_to_those_who_read_it() -> None:
    scope = {"self": typed({"n": 2}, NODE), "oldSelf": variable("x", NODE)}
    assert compile_rule("self.n == 2 || oldSelf.n == 2").holds(scope)
    with pytest.raises(CelError, match="wrong type"):
        compile_rule("oldSelf.n == 2").holds(scope)
    optional = scope | {"oldSelf": OptionalValue(scope["oldSelf"])}
    assert compile_rule("oldSelf.hasValue()").holds(optional)
    with pytest.raises(CelError, match="wrong type"):
        compile_rule("oldSelf.value() == self").holds(optional)


def test_a_rule_knows_whether_it_is_about_a_change() -> None:
    assert not compile_rule("self.n == 1").about_change
    assert compile_rule("self.all(e, e == oldSelf)").about_change


@pytest.mark.parametrize(
    "text",
    [
        "",
        "self.",
        "self.n ==",
        "(self.n",
        "self n",
        "self.n '<' 1",
        "self.n = 1",
        "self.n == 1.5",
        "self.n + 1",
        "self.name == 'a",
        "self.name == '\\x41'",
        "self[0]",
        "other.n == 1",
        "self.entries.map(e, e.n)",
        "self.name.matches('a', 'b')",
        "now()",
        "has(self)",
        "self.all(e, f)",
        "- self.n == 1",
        "has(self.n)\n# a remark",
    ],
)
def test_what_is_not_known_is_no_rule(text: str) -> None:
    with pytest.raises(CelSyntaxError):
        compile_rule(text)


def test_what_binds_how() -> None:
    assert parse("a || b && !c == d") == parse("a || (b && ((!c) == d))")
    assert parse("a ? b : c ? d : e") == parse("a ? b : (c ? d : e)")
    assert parse("a.b(c).d") == parse("(a.b(c)).d")
