"""`holdfast ledger`: what a DBA needs to set up the ledger's tables."""

from __future__ import annotations

import click

from holdfast.ledger import postgres_tables


@click.group()
def ledger() -> None:
    """Show how the ledger inside a sink is set up."""


@ledger.command()
def ddl() -> None:
    """Print the SQL that makes the ledger's tables in PostgreSQL; it can be run again."""
    click.echo(postgres_tables.ddl(), nl=False)
