"""What one option is: its key, kind, default, flag, and what a repository's file may do with it."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from ralph.shell.config.settings import Value

Kind = Literal[
    "text", "word", "names", "choice", "switch", "count", "iterations", "days", "duration", "money", "size",
    "percent", "inner", "inners", "dirs", "texts", "env", "table", "waivers", "prefix",
    "quarantine", "score", "dimensions",
]  # fmt: skip

# What a repository's file may do with a key:
#   free     it decides like everybody else          tighten  only in the stricter direction
#   approve  only after the user's word, by hash     waive    like approve, but ignored without it
#   user     nothing: it is the user's own
Rule = Literal["free", "tighten", "approve", "waive", "user"]


class Option(Struct, frozen=True):
    key: str  # "*" stands for a name the user chooses
    kind: Kind
    doc: str
    default: Value = None
    flag: str = ""
    choices: tuple[str, ...] = ()  # where the rule is "tighten": from loosest to strictest
    project: Rule = "free"
    union: bool = False  # layers add up instead of replacing each other

    @property
    def env(self) -> str:
        """The variable has the flag's name where there is a flag, else the key's; tables have none."""
        if "*" in self.key or self.kind in ("quarantine", "dimensions"):
            return ""
        name = self.flag.removeprefix("--") if self.flag else self.key
        return "RALPH_" + re.sub(r"[.-]", "_", name).upper()
