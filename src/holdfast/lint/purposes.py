"""What a query reads and where it writes, to tell two queries from one that is started twice."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.lint.batch_functions import BatchFunction, Write
from holdfast.lint.chains import ChainLink
from holdfast.lint.queries import Query, read_options
from holdfast.lint.texts import Text

_READS = ("load", "table", "parquet", "json", "csv", "orc", "text", "delta")
_TOPICS = ("subscribe", "subscribepattern", "assign", "path")
_SAVES_TO = {"save": 0, "saveAsTable": 0, "insertInto": 0, "jdbc": 1, "writeTo": 0, "parquet": 0}


class Purpose(msgspec.Struct, frozen=True):
    """The names of sources and targets of a query, as far as they are known."""

    sources: frozenset[str]
    targets: frozenset[str]

    def differs(self, other: Purpose) -> bool:
        """Return whether two queries surely read something else, or write to somewhere else."""
        pairs = ((self.sources, other.sources), (self.targets, other.targets))
        return any(one and two and not one & two for one, two in pairs)


def purpose_of(query: Query, batch: BatchFunction | None) -> Purpose:
    """Return what a query is for."""
    return Purpose(_known(source_texts(query)), _known(target_texts(query, batch)))


def source_texts(query: Query) -> Iterator[Text | None]:
    """Yield what a query reads: topics, paths, tables."""
    options, _ = read_options(query.source)
    yield from (options[name].value for name in _TOPICS if name in options)
    yield from (step.text(0, "path", "tableName") for step in query.source if step.name in _READS)


def target_texts(query: Query, batch: BatchFunction | None) -> Iterator[Text | None]:
    """Yield where a query writes, itself or in its batch function."""
    yield query.target
    for write in batch.writes if batch else ():
        yield from (_saved_to(step) for step in write.steps)
        yield from _named_in(write)


def _saved_to(step: ChainLink) -> Text | None:
    number = _SAVES_TO.get(step.name)
    return None if number is None else step.text(number, "path", "table", "name", "tableName")


def _named_in(write: Write) -> Iterator[Text]:
    return (write.options[name].value for name in ("dbtable", "path") if name in write.options)


def _known(texts: Iterator[Text | None]) -> frozenset[str]:
    return frozenset(each.known for each in texts if each is not None and each.known)
