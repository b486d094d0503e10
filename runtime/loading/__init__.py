"""From an uploaded file to a play.

``check`` reads a module, a bundle or a definition without running it, for the web process: everything
that is wrong with it, with lines, and its static pipeline. ``load`` makes the play, in the play process
alone. ``code_digest`` says whether a step's code is still the same. Nothing here reads or writes files
of its own, and nothing knows of a run.
"""

from runtime.loading.checking import Checked, check
from runtime.loading.digests import code_digest
from runtime.loading.making import load
from runtime.loading.shapes import definition_schema

__all__ = ["Checked", "check", "code_digest", "definition_schema", "load"]
