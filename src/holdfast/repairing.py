"""`holdfast.rehearse_plan`, `apply_plan` and `undo_plan`: from a plan to what is done about it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypedDict, Unpack

import msgspec

from holdfast import clock
from holdfast.apply.apply import apply_plan as carry_out
from holdfast.apply.apply import continue_plan as carry_on
from holdfast.apply.applying import ProgressCallbacks
from holdfast.apply.errors import InterruptedPlanError
from holdfast.apply.journal import read_journalled_plan, split_journal
from holdfast.apply.rehearse import Rehearsal, rehearse
from holdfast.apply.stores import RehearsalStores, Stores
from holdfast.apply.undo import plan_undo as find_undo
from holdfast.errors import ConfigError, HoldfastError, refuse_unknown
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.goal import Code, CodeCase
from holdfast.plan.goals.backfill import Range, plan_of, prepare_for, range_request
from holdfast.plan.plan_file import LARGEST_BYTES, NoPlan, Plan, PlanFileError, decode_plan
from holdfast.plan.remake import remake_plan
from holdfast.plan.requests import Asked
from holdfast.record.repairs import unfinished_repair

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.streams.backfill.prepare import BackfillProgress, Prepared
    from holdfast.streams.pipeline import Pipeline

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
    spark: SparkSession
    """A session, for a plan that changes a Delta table, or runs the code of a stream."""
    pipeline: Pipeline
    """That declares the stream, for a plan that runs its code: a backfill."""


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
        access: `storage_options`, `kafka_config`, `roots`, `spark` and `pipeline`.

    Raises:
        ConfigError: There is no plan.
        StalePlanError: The world has moved since the plan was made.
        PlanBlockedError: A sink would refuse a step.
    """
    found = _planned(plan)
    refuse_unknown(access, Access.__annotations__)
    stores = RehearsalStores(
        options=access.get("storage_options"),
        kafka_config=access.get("kafka_config"),
        roots=access.get("roots", ()),
        code=_code(access),
    )
    rehearsed = rehearse(found, stores)
    recheck_of(found, "the plan", access)()
    return rehearsed


def apply_plan(
    plan: Plan | NoPlan,
    *,
    allow: Collection[str] = (),
    on_step: Callable[[int, str], None] | None = None,
    **access: Unpack[Access],
) -> str:
    """Carry a plan out; return its journal, which `hf.plan_undo` takes.

    The plan is made again first, and compared: what it needs follows from the world as it is now.

    Args:
        plan: As `hf.plan_…`, `hf.plan_undo` or `hf.read_plan` returned it.
        allow: What the plan needs to be allowed, as `plan.words` lists it.
        on_step: Called with the number of each step and what it did.
        access: `storage_options`, `kafka_config`, `roots`, `spark` and `pipeline`.

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
        _stores(access),
        allowed=set(allow),
        telling=_telling(on_step),
        recheck=recheck_of(found, "the plan", access),
    )


def continue_plan(
    journal: str,
    *,
    allow: Collection[str] = (),
    on_step: Callable[[int, str], None] | None = None,
    **access: Unpack[Access],
) -> str:
    """Go on with a plan that was interrupted; return its journal.

    Args:
        journal: Its directory, which `InterruptedPlanError` names.
        allow: What it needs beside what it was allowed: records of a backfill expire meanwhile.
        on_step: Called with the number of each step and what it did.
        access: `storage_options`, `kafka_config`, `roots`, `spark` and `pipeline`.

    Raises:
        JournalError: No plan was begun there, or it is closed.
        InterruptedPlanError: It stopped part-way again.
    """
    stores = _stores(access)
    plan = journalled_plan(journal, stores)
    return carry_on(plan, stores, allowed=set(allow), telling=_telling(on_step))


def plan_undo(journal: str, **access: Unpack[Access]) -> Plan | NoPlan:
    """Plan to take back what a plan has done; `hf.apply_plan` carries it out.

    Args:
        journal: As `hf.apply_plan` returned it.
        access: `storage_options`, `kafka_config`, `roots`, `spark` and `pipeline`.

    Raises:
        JournalError: It is no journal.
    """
    return find_undo(journal, _stores(access))


def journalled_plan(journal: str, stores: Stores) -> Plan:
    """Return the plan of a journal."""
    record, plan_id = split_journal(journal)
    return read_journalled_plan(stores.at(str(record)), plan_id)


def recheck_of(plan: Plan, shown: str, access: Access) -> Recheck:
    """Return what makes a plan again; one that takes another back follows from its journal."""
    looks = DiagnoseRequest(
        location="",
        options=access.get("storage_options", {}),
        kafka_config=access.get("kafka_config"),
    )
    return (
        (lambda: ())
        if plan.undoes
        else (lambda: remake_plan(plan, shown, looks, code=_code(access)))
    )


def _planned(plan: Plan | NoPlan) -> Plan:
    if isinstance(plan, NoPlan):
        raise ConfigError(f"There is no plan: {plan.reason}")
    return plan


def backfill(
    pipeline: Pipeline,
    spark: SparkSession,
    stream: str,
    *,
    allow: Collection[str] = (),
    tell: Callable[[BackfillProgress], None] = lambda _: None,
    **wanted: Unpack[Range],
) -> BackfillProgress:
    """Write a range of a stream's sources into its sinks; go on where an earlier run ended.

    Args:
        pipeline: That declares the stream.
        spark: The session.
        stream: Its name.
        allow: What is allowed: `repeats-data:STREAM`, `skips-data:STREAM`.
        tell: Called with the progress before the first chunk and after each.
        wanted: `start`, `end` and `chunk`, as for `hf.plan_backfill`.

    Raises:
        BackfillRefusedError: It was refused; nothing was written.
        NotAllowedError: It needs a permission that is not in `allow`. Nothing was written.
        StreamRunsError: Another run of the same backfill goes on. Nothing was written.
        BackfillStoppedError: It ended before its last chunk; run it again to go on.
    """
    code = Code(spark=spark, pipeline=pipeline)
    asked = CodeCase(request=range_request(wanted), stream=stream, code=code)
    with ExitStack() as undone:
        prepared = prepare_for(asked, undone)
        begun, plan = unfinished_repair(prepared.record), plan_of(prepared)
        progress = _Progress(prepared, tell, done=min(prepared.held()))
    stores, telling = Stores(code=code), ProgressCallbacks(progress=progress.say)
    with _going_on_by_the_same_call():
        if begun is not None:
            begun_plan = journalled_plan(begun.journal, stores)
            carry_on(begun_plan, stores, allowed=set(allow), telling=telling)
        elif isinstance(plan, Plan):
            carry_out(_as_asked(plan, asked), stores, allowed=set(allow), telling=telling)
    return progress.at_end()


def _as_asked(plan: Plan, asked: CodeCase) -> Plan:
    kept = Asked(request=asked.request, location=asked.stream, root=asked.code.pipeline.root)
    return msgspec.structs.replace(plan, asked=kept)


@contextmanager
def _going_on_by_the_same_call() -> Iterator[None]:
    """Raise why a step was not carried out: no journal need be named to go on."""
    try:
        yield
    except InterruptedPlanError as error:
        if isinstance(error.__cause__, HoldfastError):
            raise error.__cause__ from None
        raise


class _Progress:
    """Tells how far a backfill has got, and how long a chunk takes."""

    def __init__(
        self, prepared: Prepared, tell: Callable[[BackfillProgress], None], *, done: int
    ) -> None:
        self._prepared, self._tell, self._first = prepared, tell, done
        self._began = clock.monotonic()

    def say(self, done: int, _: int) -> None:
        more = done - self._first
        seconds = (clock.monotonic() - self._began) / more if more else 0.0
        self._tell(self._prepared.progress(done, seconds=seconds))

    def at_end(self) -> BackfillProgress:
        return self._prepared.progress(self._prepared.chunks.count, seconds=0.0)


def _stores(access: Access) -> Stores:
    refuse_unknown(access, Access.__annotations__)
    spark = access.get("spark")
    return Stores(
        options=access.get("storage_options"),
        kafka_config=access.get("kafka_config"),
        session=_no_session if spark is None else lambda: spark,
        roots=access.get("roots", ()),
        code=_code(access),
    )


def _code(access: Access) -> Code | None:
    pipeline, spark = access.get("pipeline"), access.get("spark")
    return None if pipeline is None or spark is None else Code(spark=spark, pipeline=pipeline)


def _no_session() -> NoReturn:
    raise ConfigError("The plan changes a Delta table: pass a Spark session as spark=.")


def _telling(on_step: Callable[[int, str], None] | None) -> ProgressCallbacks:
    return ProgressCallbacks() if on_step is None else ProgressCallbacks(step=on_step)
