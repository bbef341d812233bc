"""Killing drivers and breaking connections: exactly where the test says, and cheaply."""

from __future__ import annotations

from lab.kill.chain import Link, cpu_seconds_per_kill, run_chain
from lab.kill.driver import Driver, Ended
from lab.kill.points import Named, Point, Rename, S3Request
from lab.kill.s3_proxy import S3Proxy
from lab.kill.tcp_proxy import TcpProxy

__all__ = [
    "Driver",
    "Ended",
    "Link",
    "Named",
    "Point",
    "Rename",
    "S3Proxy",
    "S3Request",
    "TcpProxy",
    "cpu_seconds_per_kill",
    "run_chain",
]
