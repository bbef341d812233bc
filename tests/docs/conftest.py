"""What the tests of the documentation share."""

from __future__ import annotations

import pytest

from docsite.rule_pages import main


@pytest.fixture(scope="session", autouse=True)
def _pages_of_rules() -> None:
    """Put the pages of the rules where links to them lead; they are not committed there."""
    main()
