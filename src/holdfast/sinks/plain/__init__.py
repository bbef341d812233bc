"""Sinks that Holdfast does not write into: tables of plain streams, which plans bring back."""
