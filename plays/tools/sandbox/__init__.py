"""The sandbox: a provider without a company behind it, so that everything runs offline.

What it answers follows from a digest of the input (:mod:`plays.tools.sandbox.rules`), and inputs that end in
certain names make it misbehave (:mod:`plays.tools.sandbox.quirks`). It is spoken to over HTTP like any
provider: :mod:`plays.tools.sandbox.server` is its side, :mod:`plays.tools.sandbox.tool` the gateway's.
"""
