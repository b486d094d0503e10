"""The tools that plays can ask: one folder per provider, registered here by dotted path.

A folder holds all that is particular to its provider: how a call is written and read, how calls travel
together, what its errors mean, what it costs. Nothing outside the folder knows any of it. This package
reads no database and makes no connection, so that pages, workers and the gateway share it; what
administrators change about tools is merged in by :mod:`plays.tools.policies`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from plays.tools.catalogue import Catalogue

PROVIDERS = ("plays.tools.http.tool", "plays.tools.sandbox.tool")
"""Modules with a tuple ``TOOLS``; a new provider is a folder and a line here."""


@cache
def catalogue() -> Catalogue:
    """Give the catalogue of all registered providers, built once per process."""
    return Catalogue(tool for path in PROVIDERS for tool in import_module(path).TOOLS)


__all__ = ["PROVIDERS", "Catalogue", "catalogue"]
