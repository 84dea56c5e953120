"""Turns lark's parse tree of one statement into our syntax tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lark import Token, Tree

from elsinore.errors import Diagnostic, Location
from elsinore.query import syntax

_COMPARISONS = {"<>": "!=", "==": "="}
_OF_PARTS: dict[str, Callable[..., syntax.Pattern]] = {
    "sequence": syntax.Sequence,
    "either": syntax.Disjunction,
    "both": syntax.Conjunction,
}
_OF_ONE: dict[str, Callable[..., syntax.Pattern]] = {
    "negation": syntax.Negation,
    "plus": syntax.KleenePlus,
    "star": syntax.KleeneStar,
    "maybe": syntax.Maybe,
}
#: Operations by the grammar's name, and whether NOT is written inside.
_OPERATIONS = {
    "minus": ("neg", False),
    "inversion": ("NOT", False),
    "conjunction": ("AND", False),
    "disjunction": ("OR", False),
    "is_null": ("IS NULL", False),
    "is_not_null": ("IS NULL", True),
    "is_in": ("IN", False),
    "is_not_in": ("IN", True),
    "between": ("BETWEEN", False),
    "not_between": ("BETWEEN", True),
    "is_like": ("LIKE", False),
    "is_not_like": ("LIKE", True),
}


class BuildFault(Exception):
    """What the grammar lets pass but is no query: a second clause, a number without a value."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


class SyntaxBuilder:
    """Builds syntax nodes; `locate` maps line and column of the statement to the file's."""

    def __init__(self, locate: Callable[[int, int], Location]) -> None:
        self._locate = locate

    def build(self, tree: Tree[Token]) -> syntax.Query:
        """The query of a `start` tree.

        Raises:
            BuildFault: a clause occurs twice, or a number is beyond all doubles.
        """
        name, returned, pattern, *rest = tree.children
        clauses: dict[str, Tree[Token]] = {}
        for clause in rest:
            kind = str(clause.data)
            if kind in clauses:
                title = kind.split("_", maxsplit=1)[0].upper()
                raise BuildFault(Diagnostic(f"a second {title} clause", self._at(clause)))
            clauses[kind] = clause
        where, group_by = clauses.get("where_clause"), clauses.get("group_clause")
        within, semantics = clauses.get("within_clause"), clauses.get("semantics_clause")
        durations = [self._duration(child) for child in within.children] if within else []
        keys = [child for child in group_by.children if isinstance(child, Tree)] if group_by else []
        return syntax.Query(
            name=str(name.children[0]),
            returns=tuple(self._returned(item) for item in returned.children),
            pattern=self._pattern(pattern.children[0]),
            where=self._expression(where.children[0]) if where else None,
            group_by=tuple(map(self._reference, keys)),
            within=durations[0] if durations else None,
            slide=durations[1] if len(durations) > 1 else None,
            semantics=syntax.Semantics(
                str(semantics.children[0]).lower() if semantics else "skip-till-any-match"
            ),
            at=self._at(name),
        )

    # ---- clauses

    def _returned(self, node: Tree[Token]) -> syntax.Aggregate | syntax.Reference:
        if node.data != "aggregate":
            return self._reference(node)
        function, target, *attribute = (str(token) for token in node.children)
        inside = ".".join([target, *attribute])
        return syntax.Aggregate(
            function.upper(),
            target,
            attribute[0] if attribute else None,
            f"{function}({inside})",
            self._at(node),
        )

    def _duration(self, node: Tree[Token]) -> syntax.Duration:
        return syntax.Duration(*self._amount(node), self._at(node))

    # ---- patterns

    def _pattern(self, node: Tree[Token]) -> syntax.Pattern:
        at = self._at(node)
        if node.data == "event_pattern":
            kind, *alias = (str(token) for token in node.children)
            return syntax.EventPattern(kind, alias[0] if alias else kind, at)
        parts = tuple(self._pattern(child) for child in node.children if isinstance(child, Tree))
        kind = str(node.data)
        return _OF_PARTS[kind](parts, at) if kind in _OF_PARTS else _OF_ONE[kind](parts[0], at)

    # ---- expressions

    def _expression(self, node: Tree[Token]) -> syntax.Expression:
        kind = str(node.data)
        if kind.endswith("reference"):
            return self._reference(node)
        if kind in ("number", "text", "null", "true", "false"):
            return self._literal(kind, node)
        at = self._at(node)
        if kind == "equivalence":
            return syntax.Equivalence(tuple(self._reference(c) for c in node.children), at)
        parts = tuple(self._expression(c) for c in node.children if isinstance(c, Tree))
        if kind == "call":
            function, *part = (str(c).lower() for c in node.children if isinstance(c, Token))
            return syntax.Call(function, parts, part[0] if part else None, at)
        return self._operation(kind, node, parts, at)

    def _operation(
        self, kind: str, node: Tree[Token], parts: tuple[Any, ...], at: Location
    ) -> syntax.Operation:
        match kind:
            case "arithmetic":
                return syntax.Operation(str(node.children[1]), parts, at)
            case "comparison":
                sign = str(node.children[1])
                return syntax.Operation(_COMPARISONS.get(sign, sign), parts, at)
        name, inverted = _OPERATIONS[kind]
        operation = syntax.Operation(name, parts, at)
        return syntax.Operation("NOT", (operation,), at) if inverted else operation

    def _literal(self, kind: str, node: Tree[Token]) -> syntax.Literal:
        at = self._at(node)
        if kind == "number":
            return syntax.Literal(*self._amount(node), at)
        if kind == "text":
            return syntax.Literal(str(node.children[0])[1:-1].replace("''", "'"), None, at)
        return syntax.Literal({"null": None, "true": True, "false": False}[kind], None, at)

    def _amount(self, node: Tree[Token]) -> tuple[int | float, str | None]:
        """A number and its unit, if it has one."""
        digits, *unit = map(str, node.children)
        text = "".join(digits.split())
        whole = not any(sign in text for sign in ".eE")
        value = int(text) if whole else float(text)
        if math.isinf(value):
            raise BuildFault(Diagnostic(f"{text[:25]} is beyond all doubles", self._at(node)))
        return value, unit[0].lower() if unit else None

    def _reference(self, node: Tree[Token]) -> syntax.Reference:
        *qualifier, attribute = (str(token) for token in node.children)
        return syntax.Reference(
            qualifier[0] if qualifier else None,
            attribute,
            node.data == "next_reference",
            self._at(node),
        )

    def _at(self, node: Tree[Token]) -> Location:
        if node.meta.empty:  # NULL, TRUE and FALSE leave no token behind
            return self._locate(1, 1)
        return self._locate(node.meta.line, node.meta.column)
