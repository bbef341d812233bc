"""The streams that read a Delta table to which an undo gives rows back: they begin again.

Rows come back by a commit that replaces all. A Delta source fails at such a commit, or takes the
rows for new ones. So a reader does not go back to its old checkpoint: it gets one more generation,
its output is emptied, and it reads the table as it is then.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from holdfast.apply.stores import Stores
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.draft import Part, is_as_seen
from holdfast.plan.goals.put_back import reset_below
from holdfast.plan.graph import find_downstream, read_edges
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.preconditions import Precondition
from holdfast.plan.steps import SettleSink
from holdfast.plan.world import look_at_stream
from holdfast.storage.location import parse_location


class Readers(msgspec.Struct, frozen=True, kw_only=True):
    """The readers, in the order of the data, and what an undo does to them."""

    streams: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    preconditions: tuple[Precondition, ...] = ()


def reset_readers(
    plan: Plan, rewritten: Iterable[SettleSink], stores: Stores, *, plan_id: str
) -> Readers | NoPlan:
    """Return what becomes of the streams that read what an undo gives back.

    Args:
        plan: What is taken back.
        rewritten: Its steps after whose undo a table with versions has other rows.
        stores: What it names.
        plan_id: Of the undo.

    Raises:
        HoldfastError: A reader cannot be looked at.
    """
    places = {str(parse_location(step.sink.place)) for step in rewritten}
    edges = read_edges(stores.at(plan.root)) if places else {}
    direct = [each.stream for each in edges.values() if each.reads & places]
    if not direct:
        return Readers()
    names = {*direct, *(name for each in direct for name in find_downstream(edges, each))}
    strangers = sorted(names - set(plan.streams))
    if strangers:
        return NoPlan(
            reason=f"Plan {plan.id} cannot be taken back: {', '.join(strangers)} read the table to "
            "which rows would come back, and began after the plan.",
            nearest=f"holdfast plan reset {plan.stream} --root {plan.root} --from earliest "
            "--output truncate --cascade",
        )
    order = [name for name in find_downstream(edges, plan.stream) if name in names]
    shared: dict[str, Any] = {"options": stores.options, "kafka_config": stores.kafka_config}
    asked = partial(DiagnoseRequest, root=plan.root)
    looks = (asked(location=name, probe=edges[name].has_topics) for name in order)
    found = tuple(look_at_stream(replace(each, **shared)) for each in looks)
    parts = reset_below(found, plan_id=plan_id)
    if isinstance(parts, NoPlan):
        return parts
    held = [each for now in found for each in is_as_seen(now)]
    held += [each for part in parts for each in part.preconditions]
    return Readers(streams=tuple(order), parts=parts, preconditions=tuple(dict.fromkeys(held)))
