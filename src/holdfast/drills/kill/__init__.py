"""Killing drivers and breaking connections: exactly where the test says, and cheaply."""

from __future__ import annotations

from holdfast.drills.kill.chain import Link, cpu_seconds_per_kill, run_chain
from holdfast.drills.kill.driver import Driver, Ended
from holdfast.drills.kill.points import Delete, Named, Point, Rename, S3Request, Send
from holdfast.drills.kill.s3_proxy import S3Proxy
from holdfast.drills.kill.tcp_proxy import TcpProxy

__all__ = [
    "Delete",
    "Driver",
    "Ended",
    "Link",
    "Named",
    "Point",
    "Rename",
    "S3Proxy",
    "S3Request",
    "Send",
    "TcpProxy",
    "cpu_seconds_per_kill",
    "run_chain",
]
