"""Plain streams that are not stopped: no plan may run."""
