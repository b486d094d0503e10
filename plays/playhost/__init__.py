"""The host: everything that a worker does for one run beside deciding who may run it.

``host`` runs a play process and serves it, ``process`` starts and ends it, ``serving`` answers its
questions, ``messages`` says which it may ask, ``calls`` makes its tool calls, ``library`` reads
for it, ``journal`` logs and hints. It knows the engine's ports, never the engine's parts.
"""
