"""Audit one file: its bytes in, its queries with what a restart does to each out. No I/O."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath

import msgspec
from msgspec.structs import replace

from holdfast.audit.guarded import find_guarded
from holdfast.audit.model import AppliedRule, AuditedQuery, NotUnderstood
from holdfast.audit.restart import changes_for, fault_of, judge_restart
from holdfast.audit.sinks_in_code import judge_sink
from holdfast.lint.callables import all_called
from holdfast.lint.check import TOO_DEEP, FileReport, PlacedFinding, check_program
from holdfast.lint.imports import FindConstants, no_modules
from holdfast.lint.program import Program, read_program
from holdfast.lint.queries import Query
from holdfast.lint.query_facts import QueryReader, WhichQuery
from holdfast.lint.row_writers import find_row_writer
from holdfast.lint.rule import CheckpointFault
from holdfast.lint.source import Source, Unreadable, is_python, read_source
from holdfast.lint.values import Values
from holdfast.lint.volatile import name_of

_STREAMS = (b"writeStream", b"readStream", b"holdfast")
_SQL_STREAM = re.compile(rb"^.*\bstreaming\s+(?:live\s+)?table\b", re.IGNORECASE | re.MULTILINE)
_IN_CELL = {
    ".py": re.compile(rb"#\s*MAGIC\b"),
    ".ipynb": re.compile(rb"\s*\""),
    ".sql": re.compile(rb""),
}
"""How a line of SQL begins: in Databricks' source format, in a notebook's JSON, in its own file."""
_RUNS = re.compile(rb"(?:^|MAGIC\s+|\")%run\s+([^\s\"\\]+)", re.MULTILINE)


class FileAudit(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one file."""

    report: FileReport
    queries: tuple[AuditedQuery, ...] = ()
    lines: tuple[frozenset[int], ...] = ()
    """Of each query, the lines of the text that was parsed that belong to it."""
    not_understood: tuple[NotUnderstood, ...] = ()


def audit_file(
    path: str, content: bytes, *, find_constants: FindConstants = no_modules
) -> FileAudit:
    """Audit one file of Python or notebook."""
    audited = _audit_python(path, content, find_constants)
    more = (*declared_in_sql(path, content), *_runs_others(audited, content))
    return replace(audited, not_understood=(*audited.not_understood, *more)) if more else audited


def declared_in_sql(path: str, content: bytes) -> Iterator[NotUnderstood]:
    """Yield the streaming tables that SQL declares, in a file of SQL or in a cell."""
    begins = _IN_CELL.get(PurePath(path).suffix, _IN_CELL[".py"])
    for found in _SQL_STREAM.finditer(content):
        if begins.match(found[0]):
            line = content.count(b"\n", 0, found.start()) + 1
            why = "A streaming table is declared in SQL."
            yield NotUnderstood(place=f"{path}:{line}", why=why)


def _runs_others(audited: FileAudit, content: bytes) -> Iterator[NotUnderstood]:
    """Yield the notebooks that a notebook runs, if something of its queries is not known."""
    if all(each.effects for each in audited.queries):
        return
    for found in _RUNS.finditer(content):
        line = content.count(b"\n", 0, found.start()) + 1
        run = found[1].decode("utf-8", "replace")
        why = f"%run {run} is not followed: names from there are not known here."
        yield NotUnderstood(place=f"{audited.report.path}:{line}", why=why)


def _audit_python(path: str, content: bytes, find_constants: FindConstants) -> FileAudit:
    is_ipynb = path.endswith(".ipynb")
    is_any = any(each in content for each in _STREAMS)
    if not is_any and not is_ipynb and is_python(content):
        return FileAudit(report=FileReport(path=path))
    source = read_source(content, is_ipynb=is_ipynb)
    if isinstance(source, Unreadable):
        report = FileReport(path=path, unreadable=source.reason)
        left = (NotUnderstood(place=path, why=source.reason),) if is_any else ()
        return FileAudit(report=report, not_understood=left)
    if not is_any:
        return FileAudit(report=FileReport(path=path))
    try:
        return _audit(path, source, read_program(source, find_constants))
    except RecursionError:
        left = (NotUnderstood(place=path, why=TOO_DEEP),)
        return FileAudit(report=FileReport(path=path, unreadable=TOO_DEEP), not_understood=left)


def _audit(path: str, source: Source, program: Program) -> FileAudit:
    report = check_program(path, source, program)
    reader = QueryReader(path, source, program)
    found: list[tuple[AuditedQuery, frozenset[int]]] = []
    starts = Counter(id(query.started) for query in program.queries)
    for query in program.queries:
        lines = _lines_of(program, query)
        own = [each for each in report.findings if _belongs(each, program, query, lines=lines)]
        audited = _audit_query(reader, query, own)
        if query.site is not None and starts[id(query.started)] > 1:
            cell, line = source.place(query.site.lineno)
            audited = replace(audited, cell=cell, line=line)
        found.append((audited, lines))
    found += [(each, frozenset()) for each in find_guarded(reader)]
    found.sort(key=lambda each: (each[0].cell or 0, each[0].line))
    return FileAudit(
        report=report,
        queries=tuple(each for each, _ in found),
        lines=tuple(lines for _, lines in found),
        not_understood=tuple(_not_understood(reader)),
    )


def _audit_query(reader: QueryReader, query: Query, own: list[PlacedFinding]) -> AuditedQuery:
    said = reader.read(query, WhichQuery())
    sink = judge_sink(reader.program, query)
    codes = sorted({each.finding.code for each in own})
    faults = frozenset(filter(None, map(fault_of, codes)))
    after = judge_restart(reader.program, query, sink, faults=faults)
    cell, line = reader.source.place(query.at[0])
    is_at_rest = after.effects and set(after.effects) <= {"none"}
    changes = changes_for(codes)
    if sink.change and not (is_at_rest and not changes):
        changes.append(sink.change)
    return AuditedQuery(
        file=reader.path,
        cell=cell,
        line=line,
        written_line=reader.source.place(query.steps[0].at[0])[1],
        name=next((each for each in said.names if each != "main"), None),
        is_guarded=False,
        source=said.source,
        sink=said.sink,
        output_mode=said.output_mode,
        trigger=said.trigger,
        checkpoint=said.checkpoint,
        recognises=sink.recognises,
        why=sink.why,
        why_place=reader.place(sink.at),
        effects=after.effects,
        confidence=after.confidence,
        after_kill=after.says,
        rules=tuple(applied_rule(reader.path, each) for each in own),
        changes=tuple(dict.fromkeys(changes)),
    )


def applied_rule(path: str, placed: PlacedFinding) -> AppliedRule:
    """Return a finding of lint as a rule that applies to a query."""
    cell = "" if placed.cell is None else f"cell {placed.cell}:"
    found = placed.finding
    return AppliedRule(
        code=found.code,
        name=found.name,
        severity=found.severity,
        message=found.message,
        place=f"{path}:{cell}{placed.line}",
    )


def _lines_of(program: Program, query: Query) -> frozenset[int]:
    """Return the lines of a query: of its chain, its source and its functions."""
    lines = {step.at[0] for step in (*query.source, *query.steps)}
    lines |= {option.at[0] for option in query.options.values()}
    batch = program.batch_function_of(query)
    callees = batch.callees if batch else all_called(find_row_writer(query)[1])
    for each in callees:
        lines |= {*range(each.function.lineno, (each.function.end_lineno or 0) + 1)}
    if query.site is not None:
        lines.add(query.site.lineno)
    return frozenset(lines)


def _belongs(
    placed: PlacedFinding, program: Program, query: Query, *, lines: frozenset[int]
) -> bool:
    line = placed.finding.position.line
    if fault_of(placed.finding.code) is not CheckpointFault.DELETED:
        return line in lines
    deleted = [each.args[0] for each in program.syntax.calls if each.lineno == line and each.args]
    values, own = Values(program.syntax), query.checkpoint
    return own is not None and any(own.value.is_same(values.read(each)) for each in deleted)


def _not_understood(reader: QueryReader) -> Iterator[NotUnderstood]:
    """Yield what may be a query and was not followed."""
    program, path = reader.program, reader.path
    for cell in reader.source.unparsed_cells:
        yield NotUnderstood(place=f"{path}:cell {cell}", why="The cell is not Python 3.")
    followed = {query.steps[0].node for query in program.queries}
    writers = (each for each in program.syntax.parents if isinstance(each, ast.Attribute))
    left = (each for each in writers if each.attr == "writeStream" and each not in followed)
    lines = {each.end_lineno or each.lineno for each in left if not _is_guarded(program, each)}
    for line in sorted(lines):
        why = "No start() of this writeStream can be followed."
        yield NotUnderstood(place=reader.place((line, 1)), why=why)
    if _is_declarative(program) and not program.queries and program.readers:
        why = "The file declares tables of a pipeline: the platform keeps their checkpoints."
        yield NotUnderstood(place=path, why=why)


def _is_guarded(program: Program, node: ast.AST) -> bool:
    """Return whether a chain is given to `hf.guard`."""
    around = program.syntax.chain_of_parents(node)
    return any(isinstance(each, ast.Call) and name_of(each.func) == "guard" for each in around)


def _is_declarative(program: Program) -> bool:
    for node in program.syntax.imports:
        names = {each.name for each in node.names}
        module = getattr(node, "module", None)
        if "dlt" in names or module == "dlt" or (module == "pyspark" and "pipelines" in names):
            return True
    return False
