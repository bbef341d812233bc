"""What the server is told when the rows of a COPY break off."""

from __future__ import annotations

import pytest
from psycopg.copy import LibpqWriter

from holdfast.sinks.postgres.send import Sender


@pytest.mark.parametrize(
    ("error", "told"), [(None, None), (ValueError("a" * 20_000), "ValueError")]
)
def test_a_copy_that_breaks_off_is_given_up_with_the_kind_of_the_error_alone(
    monkeypatch: pytest.MonkeyPatch, error: Exception | None, told: str | None
) -> None:
    ended: list[BaseException | None] = []
    monkeypatch.setattr(LibpqWriter, "finish", lambda _, exc: ended.append(exc))
    Sender.finish(object.__new__(Sender), error)
    (exc,) = ended
    assert (None if exc is None else str(exc)) == told
