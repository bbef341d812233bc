"""The private and version-dependent API of PySpark: no other package calls it."""

from __future__ import annotations
