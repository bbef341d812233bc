"""Settings of a session that are other ones for a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def with_settings(session: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Set what a session can be told at run time, and put it back."""
    before = {name: session.conf.get(name, None) for name in values}
    try:
        for name, value in values.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)
