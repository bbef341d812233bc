"""The tutorial's program and its blocks, as they stand on the page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from holdfast.drills.kill import Driver
from lab.spark import environment
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/tutorials/first-exactly-once-stream.md").read_text()
TABLE, *QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
FILES, PROGRAM = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@dataclass(frozen=True)
class Tutorial:
    """A directory in which the tutorial is followed, and its database."""

    here: Path
    dsn: str

    def prepare(self) -> None:
        """Make the table and the files."""
        self.run_sql(TABLE)
        exec(compile(self._at_home(FILES), "tutorial", "exec"), {})
        (self.here / "readings.py").write_text(self._at_home(PROGRAM))

    def driver(self) -> Driver:
        """Return a driver of `readings.py`."""
        settings = {**environment(self.here / "spark", {}), "READINGS_DSN": self.dsn}
        program = [str(self.here / "readings.py")]
        return Driver(program, environment=settings, directory=self.here / "runs")

    def run_sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement; return its rows."""
        with psycopg.connect(self.dsn) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _at_home(self, block: str) -> str:
        """Return a block with its directories here."""
        for name in ("in", "streams"):
            block = block.replace(f'"{name}"', repr(str(self.here / name)))
        return block
