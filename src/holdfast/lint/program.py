"""The facts of one program, from which the rules judge."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from holdfast.lint.batch_functions import BatchFunction, find_batch_functions
from holdfast.lint.chains import Chain, read_chain
from holdfast.lint.queries import SHOWN_ONLY, Query, find_queries
from holdfast.lint.syntax import Syntax, read_syntax
from holdfast.lint.values import Values

CONFIGURED_CHECKPOINT = "spark.sql.streaming.checkpointLocation"


@dataclass(frozen=True, slots=True)
class Program:
    """What is known of one file."""

    syntax: Syntax
    queries: tuple[Query, ...]
    batch_functions: tuple[BatchFunction, ...]
    readers: tuple[Chain, ...]
    """Every chain with `readStream`, up to `load` or what ends it."""
    is_notebook: bool
    names: frozenset[str]
    """Every name, attribute and text in the file."""

    def is_configured(self) -> bool:
        """Return whether the file sets a checkpoint location for the session."""
        return CONFIGURED_CHECKPOINT in self.names

    def is_shown_only(self, query: Query) -> bool:
        """Return whether the output of a query is only looked at."""
        own = (each for each in self.batch_functions if each.query is query)
        return query.format in SHOWN_ONLY or any(each.only_shows for each in own)


def read_program(tree: ast.Module, *, is_notebook: bool) -> Program:
    """Read the facts from a syntax tree."""
    syntax = read_syntax(tree)
    queries = find_queries(syntax)
    names: set[str] = set()
    for node in syntax.parents:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str() as name):
                names.add(name)
            case _:
                pass
    return Program(
        syntax=syntax,
        queries=queries,
        batch_functions=find_batch_functions(queries),
        readers=_readers(syntax),
        is_notebook=is_notebook or bool({"dbutils", "displayHTML"} & names),
        names=frozenset(names),
    )


def _readers(syntax: Syntax) -> tuple[Chain, ...]:
    found: dict[ast.AST, Chain] = {}
    for call in syntax.calls:
        is_inner = isinstance(syntax.parents.get(call), ast.Attribute)
        if is_inner or not isinstance(call.func, ast.Attribute):
            continue
        chain = read_chain(call, Values(syntax))
        number = next((n for n, s in enumerate(chain.steps) if s.name == "readStream"), None)
        if number is not None:  # calls come in the order of their ends: the longest chain is last
            found[chain.steps[number].node] = Chain(chain.root, chain.steps[number:])
    return tuple(found.values())
