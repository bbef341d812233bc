"""The private and version-dependent API of PySpark: no other package calls it for Arrow data."""

from __future__ import annotations
