"""Pages: a view loads through an access function, calls a service or selector, and answers."""
