"""HTTP to anywhere: the operation behind ``ctx.fetch``, under the rules that hold for every provider.

What was answered is a result whatever its status, because only the author knows what a status means. What
the ledger keeps of a request has the values of its private headers hidden (:mod:`plays.tools.http.inputs`),
and bodies are text (:mod:`plays.tools.http.texts`).
"""
