"""The Django application: what people and other programs see of plays and runs, and all storage.

The engine is `runtime`, which knows nothing of this package; `plays.compose` joins the two.
"""
