"""A kind of source in one package: a queue in a file, a message per line."""
