"""What does Ralph write into the files and processes of a judged tree, in the tree's own language?

Each file here is such a program, as a template for `%`: `NAME.LANGUAGE.in` belongs to the module NAME, those
of `reads` to `reads.hooks`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def program_text(name: str) -> str:
    """The template of this name, without its last ending."""
    return files(__package__).joinpath(f"{name}.in").read_text(encoding="utf-8")
