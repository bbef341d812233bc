"""The answer of `holdfast prove` for people: the verdict first, then every table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote

from msgspec.structs import replace

from holdfast.printable import printable
from holdfast.proof.values import PIPELINE, CounterExample, Fault, Proof, ProofVerdict, TableProof
from holdfast.redact import redact
from holdfast.wording import count

MOST_CHARACTERS = 60
"""Of one value in a counter-example."""


def proof_lines(proof: Proof) -> Iterator[str]:
    """Yield the answer, line by line."""
    yield _said(_answer(proof))
    width = max((len(_name(each)) for each in proof.tables), default=0)
    for each in proof.tables:
        yield _said(f"  {_name(each):<{width}}  {_how(each)}")
        yield from (_said(f"    {line}") for line in _figures(each))
    for table, sentence in not_compared(proof):
        yield _said(f"Not compared: {table}: {sentence}")
    for table, sentence in next_steps(proof):
        yield _said(f"Next, for {table}: {sentence}")


def named(proof: Proof, declared: str) -> Proof:
    """Return a proof whose commands name the pipeline as it was given."""
    tables = (
        replace(each, next_step=each.next_step.replace(PIPELINE, quote(declared)))
        for each in proof.tables
    )
    return replace(proof, tables=tuple(tables))


def next_steps(proof: Proof) -> Iterator[tuple[str, str]]:
    """Yield what to do: the table, and a sentence."""
    yield from ((each.table, each.next_step) for each in proof.tables if each.next_step)


def not_compared(proof: Proof) -> Iterator[tuple[str, str]]:
    """Yield what was not compared: the table, and a sentence."""
    for each in proof.tables:
        if each.reason:
            yield each.table, each.reason
        for sentence in each.left_out:
            yield each.table, sentence


def shown_row(row: Mapping[str, object]) -> str:
    """Return a row in one line; long values are cut."""
    return ", ".join(f"{name}={_shown(value)}" for name, value in row.items())


def _answer(proof: Proof) -> str:
    compared = [each.compared for each in proof.tables if each.compared and not each.reason]
    streams = len({each.stream for each in proof.tables})
    figures = [
        f"{sum(getattr(each, fault.value) for each in compared):,} {fault.value}"
        for fault in Fault
        if fault is not Fault.UNEXPECTED or any(each.unexpected for each in compared)
    ]
    records = {each.stream: each.records for each in proof.tables if each.records is not None}
    if records:
        figures.insert(0, f"{sum(records.values()):,} source offsets")
    counted = f"{count(streams, 'stream')}, {count(len(proof.tables), 'table')}"
    unseen = sum(each.verdict is ProofVerdict.NOT_COMPARED for each in proof.tables)
    if unseen:
        counted += f" ({unseen} not compared)"
    return f"{proof.verdict.capitalize()}: {', '.join([counted, *figures])}."


def _how(table: TableProof) -> str:
    if table.compared is None:
        return "not compared"
    rows = count(table.compared.expected, "key" if table.keys else "row")
    if table.keys:
        order = f"newest by {table.sequence_by}" if table.sequence_by else "one row"
        told = f"{order} per {_listed(table.keys)}"
    elif table.by:
        told = f"appended, compared by {_listed(table.by)}"
    else:
        told = "appended, compared as whole rows"
    return f"{table.verdict}  {rows}, {told}, up to batch {table.last_batch}"


def _figures(table: TableProof) -> Iterator[str]:
    compared = table.compared
    if compared is None or compared.exact:
        return
    counts = {fault: getattr(compared, fault.value) for fault in Fault}
    yield ", ".join(f"{number:,} {fault.value}" for fault, number in counts.items() if number)
    yield from map(_example, compared.examples)


def _example(example: CounterExample) -> str:
    row = example.found if example.expected is None else example.expected
    assert row is not None
    told = f"{example.fault}: {shown_row(row)}"
    changed = "" if example.found is None else shown_row(_changed(example.found, row))
    if example.fault is Fault.DUPLICATED:
        also = f", one has {changed}" if changed else ""
        copies = f"{example.found_copies} times, must be {example.expected_copies}"
        return f"{told}  ({copies}{also})"
    if example.fault is Fault.ALTERED and example.found is not None:
        return f"{told}  (found {changed})"
    return told


def _changed(found: Mapping[str, object], row: Mapping[str, object]) -> dict[str, object]:
    """Return what is different, by text: NaN is not equal to itself, and 0.0 is to -0.0."""
    return {name: value for name, value in found.items() if str(value) != str(row.get(name))}


def _shown(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        text = value.hex()
    elif isinstance(value, dt.datetime | dt.date):
        text = value.isoformat()
    else:
        text = "NULL" if value is None else str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _name(table: TableProof) -> str:
    return table.table.removeprefix("the ")


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _said(text: str) -> str:
    return printable(redact(text))
