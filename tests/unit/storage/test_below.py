"""A reader of a directory below another answers as one that was opened there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.storage.below import SubdirReader
from holdfast.storage.open import open_reader
from holdfast.storage.read import Reader

FILES = ("metadata", "offsets/0", "offsets/1", "state/0/0/1.delta")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in FILES:
        for checkpoint in ("eu/orders", "eu/orders.g2"):
            file = tmp_path / checkpoint / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{checkpoint} {name}")
    return tmp_path


QUESTIONS: dict[str, Callable[[Reader], object]] = {
    "location": lambda reader: reader.location,
    "list": lambda reader: reader.list(),
    "list-below": lambda reader: reader.list("offsets"),
    "list-after": lambda reader: reader.list_after("offsets", "0"),
    "list-after-root": lambda reader: reader.list_after("", ""),
    "walk": lambda reader: sorted(info.path for info in reader.walk()),
    "walk-below": lambda reader: sorted(info.path for info in reader.walk("state")),
    "walk-page": lambda reader: reader.walk_page("offsets"),
    "walk-page-after": lambda reader: reader.walk_page("offsets", after="offsets/0"),
    "stat": lambda reader: reader.stat("offsets/1"),
    "stat-nothing": lambda reader: reader.stat("offsets/2"),
    "read": lambda reader: reader.read("offsets/1"),
    "read-part": lambda reader: reader.read("offsets/1", start=2, length=3),
    "read-nothing": lambda reader: reader.read("offsets/2"),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_it_answers_as_a_reader_of_that_place(
    root: Path, question: Callable[[Reader], object]
) -> None:
    below = SubdirReader(open_reader(str(root)), "eu/orders")
    assert question(below) == question(open_reader(str(root / "eu/orders")))
