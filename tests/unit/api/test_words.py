"""Values in messages."""

from __future__ import annotations

from api.words import listed, shown


def test_a_value_is_written_so_that_it_can_be_recognised() -> None:
    assert shown("a\n") == "'a\\n'"
    assert shown(5) == "5"
    assert [shown(True), shown(False), shown(None)] == ["true", "false", "null"]
    assert shown({"a": [None]}) == "{'a': [None]}"


def test_of_a_long_one_only_the_beginning() -> None:
    assert shown("x" * 100) == repr("x" * 100)
    assert shown("x" * 1_000_000) == f"{'x' * 100!r}... (1000000 characters)"
    assert len(shown(["x"] * 1_000_000)) < 200


def test_an_integer_may_have_more_digits_than_python_writes() -> None:
    assert shown(16**10_000) == "int with too many digits"
    assert shown([16**10_000]) == "list with too many digits"


def test_of_many_names_the_first() -> None:
    assert listed([]) == "none"
    assert listed({"a": 1, "b": 2}) == "a, b"
    assert listed([str(n) for n in range(12)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"
    assert len(listed(["x" * 1_000_000])) == 100
