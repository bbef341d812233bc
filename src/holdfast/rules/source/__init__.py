"""Rules about what the sources can still give."""
