"""Parses the text of an expression into a tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

__all__ = [
    "Binary",
    "Call",
    "CelSyntaxError",
    "Choice",
    "Expr",
    "ListOf",
    "Literal",
    "Name",
    "Not",
    "Select",
    "parse",
]


class CelSyntaxError(ValueError):
    """The text is not an expression, or it uses something that is not supported here."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A string, an integer, true, false or null."""

    value: str | int | bool | None


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """A field of an object."""

    operand: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function or macro. It may have a receiver."""

    receiver: Expr | None
    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of an operand."""

    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two operands."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Choice:
    """The conditional: condition ? then : otherwise."""

    condition: Expr
    then: Expr
    otherwise: Expr


Expr: TypeAlias = Literal | Name | Select | Call | ListOf | Not | Binary | Choice

RELATIONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})
CONSTANTS: Final = {"true": True, "false": False, "null": None}
ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<string>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")
      | (?P<int>[0-9]+(?![.\w]))
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign>&&|\|\||[=!<>]=|[<>!?:.,()\[\]-])
    )""",
    re.VERBOSE | re.ASCII,
)


class Token(NamedTuple):
    """`kind` is the name of a group of TOKEN; "" at the end of the text."""

    kind: str
    text: str


END: Final = Token("", "")


def parse(text: str) -> Expr:
    """The tree of the expression. Raises CelSyntaxError."""
    parser = _Parser(text)
    expression = parser.expression()
    if parser.next is not END:
        raise CelSyntaxError(f"{parser.next.text!r} after the end of {text!r}")
    return expression


def _tokens(text: str) -> list[Token]:
    tokens, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise CelSyntaxError(f"what is {text[position:].strip()[:20]!r} in {text!r}?")
        tokens.append(Token(match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return tokens


class _Parser:
    """A recursive descent parser. `next` is the token that comes next."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = iter(_tokens(text))
        self.next = next(self._tokens, END)

    def expression(self) -> Expr:
        condition = self._or()
        if not self._take("?"):
            return condition
        then = self._or()
        self._expect(":")
        return Choice(condition, then, self.expression())

    def _or(self) -> Expr:
        left = self._and()
        while self._take("||"):
            left = Binary("||", left, self._and())
        return left

    def _and(self) -> Expr:
        left = self._relation()
        while self._take("&&"):
            left = Binary("&&", left, self._relation())
        return left

    def _relation(self) -> Expr:
        left = self._unary()
        while self.next.kind != "string" and self.next.text in RELATIONS:
            operator = self._advance().text
            left = Binary(operator, left, self._unary())
        return left

    def _unary(self) -> Expr:
        if self._take("!"):
            return Not(self._unary())
        if self._take("-"):
            token = self._advance()
            if token.kind != "int":
                raise self._error(f"- before {token.text!r}")
            return Literal(-int(token.text))
        return self._member()

    def _member(self) -> Expr:
        operand = self._primary()
        while self._take("."):
            name = self._name()
            operand = Call(operand, name, self._list(")")) if self._take("(") else Select(operand, name)
        return operand

    def _primary(self) -> Expr:
        if self._take("("):
            inner = self.expression()
            self._expect(")")
            return inner
        if self._take("["):
            return ListOf(self._list("]"))
        token = self._advance()
        if token.kind == "int":
            return Literal(int(token.text))
        if token.kind == "string":
            return Literal(self._string(token.text[1:-1]))
        if token.kind != "name":
            raise self._error(f"no expression begins with {token.text!r}")
        if token.text in CONSTANTS:
            return Literal(CONSTANTS[token.text])
        return Call(None, token.text, self._list(")")) if self._take("(") else Name(token.text)

    def _list(self, end: str) -> tuple[Expr, ...]:
        items: list[Expr] = []
        while not self._take(end):
            if items:
                self._expect(",")
            items.append(self.expression())
        return tuple(items)

    def _string(self, body: str) -> str:
        def unescaped(match: re.Match[str]) -> str:
            if match[1] not in ESCAPES:
                raise self._error(f"the escape \\{match[1]}")
            return ESCAPES[match[1]]

        return re.sub(r"\\(.)", unescaped, body)

    def _name(self) -> str:
        token = self._advance()
        if token.kind != "name":
            raise self._error(f"{token.text!r} is no name")
        return token.text

    def _take(self, sign: str) -> bool:
        if self.next.kind == "sign" and self.next.text == sign:
            self._advance()
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._error(f"{self.next.text!r} is not {sign!r}")

    def _advance(self) -> Token:
        token, self.next = self.next, next(self._tokens, END)
        return token

    def _error(self, problem: str) -> CelSyntaxError:
        return CelSyntaxError(f"{problem} in {self._text!r}")
