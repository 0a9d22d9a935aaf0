"""What is fuzzed below the endpoints: functions of any bytes, that raise where something is wrong with the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from api.durations import DurationError, parse_duration
from api.quantity import FAR as LARGEST
from api.quantity import MILLI, Quantity, QuantityError, parse, value
from tests.fuzz.oracle import FAR, ask
from tests.fuzz.reviewing import ENDPOINTS, PATHS, answer_of, reviewer, seeds
from webhooks.review import BadReviewError, Reviewer

__all__ = ["DURATIONS", "SUFFIXES", "TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """A function of bytes, and what is a good start."""

    name: str
    check: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    words: tuple[str, ...]
    """What inputs are likely made of."""
    longest: int
    """Bytes of an input."""
    is_json: bool = False
    """After a first byte."""


def check_quantity(text: bytes) -> None:
    """A text, as such and in JSON; or two with a zero byte between them, which are added and compared."""
    if b"\0" in text:
        _check_sum(text)
        return
    ours = text.decode("utf-8", "surrogateescape")
    _agree(ask("quantity", text), _or_refused(lambda: [parse(ours).scaled(MILLI), value(ours)]), text)
    if not any(letter < 32 or letter in b'"\\' for letter in text):
        _agree(ask("json", b'"%b"' % text), _or_refused(lambda: _amounts(parse(ours))), text)
    if (number := _number(text)) is not None:
        _agree(ask("number", text), _or_refused(lambda: _amounts(parse(number))), text)


def _check_sum(text: bytes) -> None:
    left, right = text.split(b"\0", 1)
    if b"\0" in right:
        return
    try:
        one, other = (parse_quantity(part.decode("utf-8", "surrogateescape")) for part in (left, right))
    except QuantityError:
        return
    total = one.add(other)
    assert all(-(2**63) <= amount < 2**63 for amount in _amounts(total)), text
    if all(abs(each.exponent) + each.unscaled.bit_length() < LARGEST // 2 for each in (one, other)):
        _agree(ask("sum", text), [one.exceeds(other) - other.exceeds(one), *_amounts(total)], text)
    else:
        assert not (one.exceeds(other) and other.exceeds(one))


def parse_quantity(text: str) -> Quantity:
    """ParseQuantity: `parse`, which also trims, of what is trimmed already."""
    value(text)
    return parse(text)


def check_duration(text: bytes) -> None:
    """A text, which we keep in microseconds."""
    ours = text.decode("utf-8", "surrogateescape")
    theirs = ask("duration", text)
    _agree(theirs and [theirs[0] // 1000], _or_refused(lambda: [parse_duration(ours)]), text)


def check_review(data: bytes) -> None:
    """The first byte chooses the path; the rest is a body, which is answered, or refused with what becomes a 400."""
    path = PATHS[data[0] % len(PATHS)] if data else PATHS[0]
    try:
        answer = _REVIEWER.answer(*ENDPOINTS[path], data[1:])
    except BadReviewError:
        return
    answer_of(answer)


_REVIEWER: Final[Reviewer] = reviewer()


def _or_refused(answer: Callable[[], list[int]]) -> list[int] | None:
    try:
        return answer()
    except (QuantityError, DurationError):
        return None


def _amounts(quantity: Quantity) -> list[int]:
    return [quantity.scaled(MILLI), quantity.scaled(0)]


def _agree(theirs: Any, ours: list[int] | None, text: bytes) -> None:
    if theirs == FAR:
        assert ours is None or all(-(2**63) <= amount < 2**63 for amount in ours), text
    else:
        assert ours == theirs, f"{text[:200]!r}: {ours}, and the API server {theirs}"


def _number(text: bytes) -> int | float | None:
    """What a JSON number decodes to; None for other text, and where Go forgets digits that it should have counted."""
    if NUMBER.fullmatch(text) is None or len(text) > 800:
        return None
    number: int | float = json.loads(text)
    return number


def _quantity_seeds() -> Iterable[bytes]:
    for sign in ("", "-", "+"):
        for number in NUMBERS:
            for suffix in SUFFIXES:
                yield f"{sign}{number}{suffix}".encode()
    for long in ("9" * (LARGEST + 1), f"0.{'0' * LARGEST}1Ki", f"1{'0' * LARGEST}5e-{LARGEST}"):
        yield long.encode()
    yield from (b"1\x001Ki", b"1e3\x00-1000", b"9223372036854775807\x001", b"0.5\x000.5000000001")


def _duration_seeds() -> Iterable[bytes]:
    return (text.encode() for text in DURATIONS)


def _review_seeds() -> Iterable[bytes]:
    for path, review in seeds():
        yield bytes([PATHS.index(path)]) + json.dumps(review).encode()


NUMBER: Final = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
NUMBERS: Final = (
    "0", ".", "1", "0.1", "1.", ".5", "00012", "1000", "1024", "0.0000000001", "1.2345678901",
    "999999999999999", "123456789012345678", "999999999999999999", "9223372036854775807",
    "9223372036854775808", "18446744073709551616", "100000000000000000000000", "0.9223372036854775807",
)  # fmt: skip
SUFFIXES: Final = (
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-3", "e+9",
    "e-10", "e18", "e4000", "e-4000", "e4294967296", "e9223372036854775808", "ki", "i", "e",
)  # fmt: skip
DURATIONS: Final = (
    "0", "-0", "4h", "1h30m", "1.5h", ".5s", "5.s", "1m1m", "3ms1h", "9.99us", "-1ns", "1\u00b5s",
    "1\u03bcs", "00", "2562047h47m16.854775807s", "-2562047h47m16.854775808s", "2562047h47m16.854775808s",
    "9223372036854775808ns", "9223372036854775808ns9223372036854775808ns1h", "0.9223372036854775807h",
    "0.33333333333333333333s", "0.000000000000000000001h", "9" * 30 + "h", "1e3s", "1d",
)  # fmt: skip
FIELDS: Final = (
    '"apiVersion":', '"admission.k8s.io/v1"', '"kind":', '"AdmissionReview"', '"request":', '"uid":',
    '"group":', '"version":', '"operation":"CREATE"', '"operation":"UPDATE"', '"object":', '"oldObject":',
    '"subResource":', '"userInfo":', '"username":', '"metadata":', '"spec":', '"status":', '"name":',
    '"annotations":', '"labels":', "null", "true", "false", "[]", "{}", '""', "[[", "{{", "-1", "1e400",
    '"\\ud800"', "9223372036854775808", '"1Ki"', '"4h"', '"2026-01-02T03:04:05Z"',
)  # fmt: skip

QUANTITY: Final = Target(
    "quantity", check_quantity, _quantity_seeds, (*NUMBERS, *SUFFIXES, "\0"), 2 * LARGEST
)
DURATION: Final = Target(
    "duration", check_duration, _duration_seeds, (*DURATIONS, "ns", "us", "ms", "s", "m", "h"), 1024
)
REVIEW: Final = Target("review", check_review, _review_seeds, FIELDS, 1 << 16, is_json=True)
TARGETS: Final = {each.name: each for each in (QUANTITY, DURATION, REVIEW)}
