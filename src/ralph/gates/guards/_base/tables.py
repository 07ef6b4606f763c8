"""Tables that guards go by: a TOML file beside the module that reads it."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import TypeVar

import msgspec

Table = TypeVar("Table")


def read_table(package: str, name: str, kind: type[Table]) -> Table:
    text = files(package).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), type=kind)
