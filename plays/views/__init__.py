"""Pages: each view loads by way of an access function, calls one service or selector, and answers."""
