"""The attempts of `ralph doctor --attack`: what somebody in a box would try, as a table (`attempts.toml`).

A row in NETWORK is expected to work in an agent's box that has the network of the machine. Files that were
changed outside are looked for afterwards, whatever the box itself said.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

ROOT = frozenset({"be-root", "root-files"})  # known to be open where root cannot become another user
NETWORK = frozenset({"tcp", "abstract-socket", "interfaces", "route"})
# Without a box these would succeed and change the machine: they are made inside one only.
DANGEROUS = frozenset(
    {"mount", "remount", "unmount", "chroot", "make-device", "join-namespace", "become-other", "trace"}
)


class BoxAttempt(NamedTuple):
    name: str
    group: str
    words: str
    code: str


@cache
def all_attempts() -> tuple[BoxAttempt, ...]:
    import tomllib  # `probe` reads this module too, and no rows

    groups = tomllib.loads(files(__package__).joinpath("attempts.toml").read_text("utf-8"))
    return tuple(
        BoxAttempt(name, group, *row) for group, rows in groups.items() for name, row in rows.items()
    )


@cache
def box_program(name: str) -> str:
    """What runs in a box (`NAME.py.in`), below what it asks of the kernel (`kernel.py.in`)."""
    return "".join(files(__package__).joinpath(f"{one}.py.in").read_text("utf-8") for one in ("kernel", name))
