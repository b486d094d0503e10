"""One module per measure. Each has ``measure(here, sizes)``, which gives lines of the table."""
