"""Every figure in the README comes from here: `python -m benchmarks.<name>` prints it."""
