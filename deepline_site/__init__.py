"""The Django project: settings, entry points and the processes of one installation.

What is here knows where state lives and which processes make up the product. It knows
nothing of plays, runs or providers: that is `plays` and `runtime`.
"""
