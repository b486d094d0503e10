"""Measures of the product against itself and against others doing the same work: ``make bench``."""
