"""The gateway: the one door through which runs reach providers, and the only judge of what they spend.

It serves ``POST /api/v2/integrations/<tool id>/execute`` on a port of its own. A request's way:

    app        the ASGI application: routes, lifespan
    requests   body and headers to an order, outcomes to an answer
    execute    an order to outcomes: claim, call, settle, share with whoever asks for the same
    ledger     the claim and settle transactions, which also judge the run and its budgets
    calls      claimed calls to the provider and back; batches compiles, matches and bisects
    windows    the provider's limits, shared by all gateways through Valkey
    transport  HTTP with time-outs, a size limit and the address guard

No module makes a pool, a client or a loop when it is imported, and nothing on the way uses the ORM.
"""
