"""`holdfast apply PLAN --approve`: a person reads a plan in a terminal, and approves it."""

from __future__ import annotations

import sys
from collections.abc import Collection

import click

from holdfast import clock
from holdfast.apply.approval import LIFETIME, make_approval, read_or_make_key
from holdfast.apply.errors import NotAllowedError
from holdfast.apply.permissions import find_needed
from holdfast.cli.allowed_words import check_words
from holdfast.cli.plan_text import render_effect
from holdfast.errors import ConfigError
from holdfast.plan.plan_file import Plan
from holdfast.printable import printable


def approve_plan(plan: Plan, allowed: Collection[str]) -> None:
    """Show a plan, ask the person at the terminal, and print the digest of the approval.

    Args:
        plan: What would be carried out; it was rehearsed.
        allowed: The permissions that the person gives to it.

    Raises:
        ConfigError: There is no terminal, or the person did not agree.
        NotAllowedError: The plan needs more permissions.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError(
            "--approve asks a person: run it in a terminal, and not in a script or a pipe."
        )
    check_words(plan, allowed)
    missing = tuple(dict.fromkeys(each for each in find_needed(plan) if each[0] not in allowed))
    if missing:
        raise NotAllowedError(plan.id, missing)
    click.echo("")
    for line in render_effect(plan):
        click.echo(printable(line))
    click.echo("")
    typed = click.prompt(f"To approve this plan, type the name of its stream ({plan.stream})")
    if str(typed).strip() != plan.stream:
        raise ConfigError("That is not the name of the stream. The plan is not approved.")
    until = clock.now() + LIFETIME
    digest = make_approval(plan, allowed, read_or_make_key())
    click.echo(f"Approved until {until:%H:%M} UTC. The digest: {digest}")
