"""What a driver is told by its environment: where it is struck."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.drills.kill.points import Delete, Named, Point, Rename, Send
from holdfast.drills.kill.shim import KILL, SEND, build_shim


def arm(point: Point | None, *, strike: int, base: Path, preloaded: str = "") -> dict[str, str]:
    """Return what the environment tells a driver.

    Args:
        point: Where it is struck; an `OutsidePoint` is not told to the driver.
        strike: The signal.
        base: What the files of the run are called, without their endings.
        preloaded: Libraries that its environment preloads already; they stay.
    """
    told = {
        "HOLDFAST_DRILL_FIRED": str(base.with_suffix(".fired")),
        "HOLDFAST_DRILL_REACHED": str(base.with_suffix(".reached")),
        "HOLDFAST_DRILL_STRIKE": str(int(strike)),
    }
    shims = []
    if isinstance(point, Named):
        told["HOLDFAST_DRILL_NAMED"] = str(point)
    if isinstance(point, Rename | Delete):
        told["HOLDFAST_DRILL_FILE"] = str(point)
        shims.append(KILL)
    if isinstance(point, Send):
        told["HOLDFAST_DRILL_SEND"] = str(point)
        shims.append(SEND)
    if shims:
        libraries = [str(build_shim(shim, base.parent)) for shim in shims]
        told["LD_PRELOAD"] = os.pathsep.join([*libraries, *filter(None, [preloaded])])
    return told
