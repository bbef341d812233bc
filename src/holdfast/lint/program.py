"""The facts of one program, from which the rules judge."""

from __future__ import annotations

import ast

import msgspec

from holdfast.lint.batch_functions import BatchFunction, find_batch_functions
from holdfast.lint.chains import Chain, read_chain
from holdfast.lint.imports import FindConstants, imported_constants, no_modules
from holdfast.lint.purposes import Purpose, purpose_of
from holdfast.lint.queries import SHOWN_ONLY, Query, find_queries
from holdfast.lint.source import Source
from holdfast.lint.syntax import Syntax, read_syntax
from holdfast.lint.values import Values

CONFIGURED_CHECKPOINT = "spark.sql.streaming.checkpointLocation"


class Program(msgspec.Struct, frozen=True):
    """What is known of one file."""

    syntax: Syntax
    queries: tuple[Query, ...]
    batch_functions: tuple[BatchFunction, ...]
    readers: tuple[Chain, ...]
    """Every chain with `readStream`, up to `load` or what ends it."""
    is_notebook: bool
    names: frozenset[str]
    """Every name, attribute and text in the file."""
    lines: tuple[str, ...] = ()
    """The text, for what comments say."""

    def is_configured(self) -> bool:
        """Return whether the file sets a checkpoint location for the session."""
        return CONFIGURED_CHECKPOINT in self.names

    def batch_function_of(self, query: Query) -> BatchFunction | None:
        """Return the function of a query's `foreachBatch`, if it is in the file."""
        return next((each for each in self.batch_functions if each.query is query), None)

    def purpose_of(self, query: Query) -> Purpose:
        """Return what a query reads and where it writes."""
        return purpose_of(query, self.batch_function_of(query))

    def is_shown_only(self, query: Query) -> bool:
        """Return whether the output of a query is only looked at."""
        own = self.batch_function_of(query)
        return query.format in SHOWN_ONLY or (own is not None and own.only_shows)


def read_program(source: Source, find_constants: FindConstants = no_modules) -> Program:
    """Read the facts from the text of a program."""
    syntax = read_syntax(source.tree)
    syntax.imported = imported_constants(syntax, find_constants)
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
        is_notebook=source.is_notebook or bool({"dbutils", "displayHTML"} & names),
        names=frozenset(names),
        lines=source.lines,
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
