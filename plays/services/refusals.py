"""What services raise when they will not do what a person asked: one sentence for that person.

    Refused            the thing asked for cannot be done now; nothing was changed
    └── InputInvalid   a run's input does not fit its play; carries a sentence per input

A page shows the sentence beside what was asked; the API gives it as the error's message.
"""

from __future__ import annotations

from collections.abc import Mapping


class Refused(Exception):
    """Something was asked for that cannot be done; nothing was changed."""


class InputInvalid(Refused):
    """A run's input does not fit its play. ``problems`` holds a sentence by the name of the input.

    The name "" stands for the input as a whole. ``problems`` is never empty.
    """

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__(
            " ".join(f"{name}: {told}" if name else told for name, told in self.problems.items())
        )
