"""Reads: what pages and API show, and who may see it. Nothing here writes."""
