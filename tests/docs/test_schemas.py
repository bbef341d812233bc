"""The committed schemas are those of the forms that the commands answer."""

from __future__ import annotations

import pytest

from tests.docs.schemas import FORMS, schema_of
from tests.house.repository import ROOT


@pytest.mark.parametrize("name", sorted(FORMS))
def test_the_committed_schema_is_the_form(name: str) -> None:
    written = (ROOT / f"docs/reference/{name}.schema.json").read_bytes()
    assert written == schema_of(name), "write it with: python -m tests.docs.schemas"


@pytest.mark.parametrize("name", sorted(FORMS))
def test_a_schema_is_the_same_on_every_python(name: str) -> None:
    """Python 3.13 takes the indentation out of docstrings; the versions before it leave it."""
    assert b"\\n " not in schema_of(name)
