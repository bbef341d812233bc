"""`holdfast.rehearse_plan`, `apply_plan` and `undo_plan`: from a plan to what is done about it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from holdfast.apply.apply import apply_plan as carry_out
from holdfast.apply.apply import continue_plan as carry_on
from holdfast.apply.applying import Telling
from holdfast.apply.journal import read_journalled_plan, split_journal
from holdfast.apply.rehearse import Rehearsal, rehearse
from holdfast.apply.stores import RehearsalStores, Stores, no_session
from holdfast.apply.undo import plan_undo as find_undo
from holdfast.diagnosis.case import Looks
from holdfast.errors import ConfigError
from holdfast.plan.plan_file import LARGEST_BYTES, NoPlan, Plan, PlanFileError, decode_plan
from holdfast.plan.remake import remake_plan

Recheck = Callable[[], Collection[str]]
"""Makes a plan again, and returns the permissions that it needs."""


class Access(TypedDict, total=False):
    """What a plan may use."""

    storage_options: Mapping[str, str]
    """Of the bucket; they win over the environment and AWS profiles."""
    kafka_config: str | None
    """A file with properties of a Kafka client."""
    roots: Sequence[str]
    """Places that the plan may change although no record names them."""


def read_plan(file: str | Path) -> Plan:
    """Read the file of a plan, as `holdfast plan … -o FILE` writes it.

    Args:
        file: Where it is.

    Raises:
        ConfigError: It cannot be read.
        PlanFileError: It is not a plan that can be applied.
    """
    try:
        with Path(file).open("rb") as opened:
            raw = opened.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error
    if len(raw) > LARGEST_BYTES:
        raise PlanFileError(str(file), f"It is larger than {LARGEST_BYTES:,} bytes.")
    plan = decode_plan(raw, str(file))
    if plan.undoes is not None:
        raise PlanFileError(str(file), "It takes another plan back: run `holdfast undo JOURNAL`.")
    return plan


def rehearse_plan(plan: Plan | NoPlan, **access: Unpack[Access]) -> Rehearsal:
    """Carry a plan out on an overlay in memory; nothing is changed.

    Args:
        plan: As `hf.plan_…`, `hf.plan_undo` or `hf.read_plan` returned it.
        access: `storage_options`, `kafka_config` and `roots`.

    Raises:
        ConfigError: There is no plan.
        StalePlanError: The world has moved since the plan was made.
        PlanBlockedError: A sink would refuse a step.
    """
    found = _planned(plan)
    stores = RehearsalStores(
        options=access.get("storage_options"),
        kafka_config=access.get("kafka_config"),
        roots=access.get("roots", ()),
    )
    rehearsed = rehearse(found, stores)
    recheck_of(found, "the plan", access)()
    return rehearsed


def apply_plan(
    plan: Plan | NoPlan,
    *,
    allow: Collection[str] = (),
    spark: Any = None,
    on_step: Callable[[int, str], None] | None = None,
    **access: Unpack[Access],
) -> str:
    """Carry a plan out; return its journal, which `hf.plan_undo` takes.

    The plan is made again first, and compared: what it needs follows from the world as it is now.

    Args:
        plan: As `hf.plan_…`, `hf.plan_undo` or `hf.read_plan` returned it.
        allow: What the plan needs to be allowed, as `plan.words` lists it.
        spark: A session, for a plan that changes a Delta table.
        on_step: Called with the number of each step and what it did.
        access: `storage_options`, `kafka_config` and `roots`.

    Raises:
        ConfigError: There is no plan, or it needs a Spark session.
        NotAllowedError: It needs a permission that is not in `allow`. Nothing was changed.
        StalePlanError: The world has moved since the plan was made. Nothing was changed.
        StreamRunsError: The stream is running. Nothing was changed.
        InterruptedPlanError: It stopped part-way. `hf.continue_plan` goes on.
    """
    found = _planned(plan)
    return carry_out(
        found,
        _stores(access, spark),
        allowed=set(allow),
        telling=_telling(on_step),
        recheck=recheck_of(found, "the plan", access),
    )


def continue_plan(
    journal: str,
    *,
    spark: Any = None,
    on_step: Callable[[int, str], None] | None = None,
    **access: Unpack[Access],
) -> str:
    """Go on with a plan that was interrupted; return its journal.

    Args:
        journal: Its directory, which `InterruptedPlanError` names.
        spark: A session, for a plan that changes a Delta table.
        on_step: Called with the number of each step and what it did.
        access: `storage_options`, `kafka_config` and `roots`.

    Raises:
        JournalError: No plan was begun there, or it is closed.
        InterruptedPlanError: It stopped part-way again.
    """
    stores = _stores(access, spark)
    return carry_on(journalled_plan(journal, stores), stores, telling=_telling(on_step))


def plan_undo(journal: str, **access: Unpack[Access]) -> Plan | NoPlan:
    """Plan to take back what a plan has done; `hf.apply_plan` carries it out.

    Args:
        journal: As `hf.apply_plan` returned it.
        access: `storage_options`, `kafka_config` and `roots`.

    Raises:
        JournalError: It is no journal.
    """
    return find_undo(journal, _stores(access, None))


def journalled_plan(journal: str, stores: Stores) -> Plan:
    """Return the plan of a journal."""
    record, plan_id = split_journal(journal)
    return read_journalled_plan(stores.at(str(record)), plan_id)


def recheck_of(plan: Plan, shown: str, access: Access) -> Recheck:
    """Return what makes a plan again; one that takes another back follows from its journal."""
    looks = Looks(
        location="",
        options=access.get("storage_options", {}),
        kafka_config=access.get("kafka_config"),
    )
    return (lambda: ()) if plan.undoes else (lambda: remake_plan(plan, shown, looks))


def _planned(plan: Plan | NoPlan) -> Plan:
    if isinstance(plan, NoPlan):
        raise ConfigError(f"There is no plan: {plan.reason}")
    return plan


def _stores(access: Access, spark: Any) -> Stores:
    return Stores(
        options=access.get("storage_options"),
        kafka_config=access.get("kafka_config"),
        session=no_session if spark is None else lambda: spark,
        roots=access.get("roots", ()),
    )


def _telling(on_step: Callable[[int, str], None] | None) -> Telling:
    return Telling() if on_step is None else Telling(step=on_step)
