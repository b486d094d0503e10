"""From an uploaded file to a play.

``check`` reads a module, a bundle or a definition without running it, for the web process: everything
that is wrong with it, with lines, and its static pipeline. ``load`` makes the play, in the play process
alone. ``code_digest`` says whether a step's code is still the same. Nothing here writes a file, and
nothing knows of a run.

Where to begin reading:

- what an upload is: ``sources``, ``bundles``, ``documents``
- how code is checked: ``checking``, ``syntax``, ``imports``, ``declarations``, then ``reading``
- what a reading knows of Python: ``statements``, ``expressions``, ``literals``; of the play API:
  ``surface`` (its signatures), ``ctxcalls``, ``maps``, ``programs``, ``waterfallspecs``; ``abstract`` holds
  what they speak of
- what comes out: ``notes`` (the pipeline), ``problems``
- definitions: ``shapes``, ``forms``, ``templates``, ``conditions``, checked by ``definitions``, made into
  plays by ``compiling``
- how a play is made: ``making``, ``importing``
- digests: ``digests``, ``codetexts``
"""

from runtime.loading.checking import Checked, check
from runtime.loading.digests import code_digest
from runtime.loading.making import load
from runtime.loading.shapes import definition_schema

__all__ = ["Checked", "check", "code_digest", "definition_schema", "load"]
