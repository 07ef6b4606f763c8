"""What a prompt must say whatever its template says: the rule of its mode, and how to answer.

A project may have its own templates; these parts are added where one leaves them out
(`facts.add_required_parts`). The words are in `standing_rules.toml`.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Literal

from ralph.core.claim.status_block import CLOSE, STATUS_INSTRUCTIONS
from ralph.core.model.plan.items import NAME

Kind = Literal["prompt", "plan", "build", "close", "read"]  # the template's name
KINDS: tuple[Kind, ...] = ("prompt", "plan", "build", "close", "read")
_TABLE = tomllib.loads(files(__package__).joinpath("standing_rules.toml").read_text("utf-8"))
_TEXTS: dict[str, str] = {name: text.replace("<plan file>", NAME) for name, text in _TABLE.items()}
EXAMPLE = _TEXTS["example"]
FORM = _TEXTS["form"].replace("<example>", EXAMPLE)
_BLOCK = STATUS_INSTRUCTIONS.partition(f"{CLOSE}\n")[0] + f"{CLOSE}\n"


def answer_of(kind: Kind) -> str:
    """How the status block is taught; a reader gives none."""
    if kind == "prompt":
        return STATUS_INSTRUCTIONS
    return "" if kind == "read" else f"{_BLOCK}\n{_TEXTS[kind]}{_TEXTS['blocked']}{_TEXTS['rest']}"


def rule_of(kind: Kind, item: str = "") -> str:
    return _TEXTS.get(f"{kind}_rule", "").replace("<item>", item)
