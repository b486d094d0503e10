"""Writes: one module per entity, each function one change that is whole or not made at all.

Views, API, consumers, admin and jobs call these; nothing here knows of HTTP requests or templates.
"""
