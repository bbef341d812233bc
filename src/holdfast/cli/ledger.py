"""`holdfast ledger`: what a DBA needs to set up the ledger's tables."""

from __future__ import annotations

import click

from holdfast.sinks.postgres import ledger_tables

_RIGHTS = (
    ("USAGE", "SCHEMA holdfast"),
    ("SELECT", "holdfast.version"),
    ("SELECT, INSERT, UPDATE", "holdfast.ledger"),
    ("SELECT, INSERT", "holdfast.history"),
)
"""What a stream needs of the ledger; of its table it needs more, by what it writes."""


@click.group()
def ledger() -> None:
    """Show how the ledger inside a sink is set up."""


@ledger.command()
@click.option("--role", help="Print what grants this role the rights that a stream needs, too.")
def ddl(role: str | None) -> None:
    """Print the SQL that makes the ledger's tables in PostgreSQL; it can be run again."""
    click.echo(ledger_tables.ddl(), nl=False)
    if role is not None:
        quoted = '"{}"'.format(role.replace('"', '""'))
        for rights, place in _RIGHTS:
            click.echo(f"GRANT {rights} ON {place} TO {quoted};")
