from __future__ import annotations

import pytest

from schema.formats import go_pattern, is_date_time, matches


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        ("b", "abc", True),
        ("[$]", "$", True),
        ("^[]a]$", "]", True),
        (r"^\$$", "$", True),
        (r"^\d$", "\N{ARABIC-INDIC DIGIT ONE}", False),
        ("^[0-9]$", "\N{ARABIC-INDIC DIGIT ONE}", False),
        ("(?i)^[a-z]$", "S", True),
        ("(?i)^[a-z]$", "\N{LATIN SMALL LETTER LONG S}", True),
        ("(?i)^[a-z]$", "\N{KELVIN SIGN}", True),
        ("(?i)^[a-z]$", "\N{LATIN SMALL LETTER DOTLESS I}", False),
        ("^[a-z]$", "\N{KELVIN SIGN}", False),
        ("^(?:a|b)$", "b", True),
    ],
)
def test_patterns_are_gos(pattern: str, text: str, found: bool) -> None:
    assert matches(go_pattern(pattern), text) is found


@pytest.mark.parametrize("pattern", ["(?s)a", "(?P<a>b)", r"\pN", "[[:alpha:]]", "a(?i)b"])
def test_patterns_that_python_may_read_differently(pattern: str) -> None:
    with pytest.raises(ValueError, match="Go and Python"):
        go_pattern(pattern)


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("2026-01-02T03:04:05Z", True),
        ("2026-01-02t03:04:05z", True),
        ("2026-01-02T03:04:05.123456789+25:99", True),
        ("2026-01-02T03:04:05,5Z", True),
        ("2026-01-02T03:04:05ZT", True),
        ("0000-02-29T00:00:00Z", True),
        ("2026-01-02T23:59:59Z", True),
        ("2026-01-02T03:60:05Z", False),
        ("2026-02-29T03:04:05Z", False),
        ("2026-01-02T24:00:00Z", False),
        ("2026-01-02T03:04:60Z", False),
        ("2026-01-02T03:04:05+0100", False),
        ("2026-01-02T03:04:05", False),
        ("2026-01-02 03:04:05Z", False),
        ("2026-1-2T03:04:05Z", False),
        ("2026-01-02T03:04:05Z\n", False),
        ("2026-01-02", False),
        ("", False),
    ],
)
def test_times_are_an_api_servers(text: str, good: bool) -> None:
    assert is_date_time(text) is good
