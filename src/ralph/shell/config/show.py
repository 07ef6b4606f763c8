"""Looking at settings: rows with origins, the sealed digest, and what differs from the base commit.

How rows are printed lives in `ui`; nothing here changes a value.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ralph.core.model.parts import flat_fields
from ralph.shell.config.files import hash_file_bytes
from ralph.shell.config.schema import format_value, option_of
from ralph.shell.config.settings import Origin, Settings

_NO_OPTIONS = ("network", "allow_write", "setup_cwd")  # of a box, settled only when an order is made


class SettingRow(msgspec.Struct, frozen=True):
    key: str
    value: str
    layer: str
    where: str


def rows(settings: Settings) -> tuple[SettingRow, ...]:
    """Every effective value with its origin, plain keys first, in the order of the schema."""
    return tuple(_row(key, origin, settings) for key, origin in settings.origins.items())


def _row(key: str, origin: Origin, settings: Settings) -> SettingRow:
    parts = key.split(".")
    value: Any = settings
    if parts[0] in ("gates", "agents", "profiles"):
        value = getattr(settings, parts[0])[parts[1]]
        for part in parts[2:]:
            value = value[part] if isinstance(value, dict) else getattr(value, part)
    elif parts[0] == "limits":
        value = getattr(settings.limits, parts[1])
    elif parts[0] == "team" and len(parts) > 2:
        value = getattr(settings.team.of(parts[1]), parts[2])
    else:
        value = flat_fields(settings)[key.replace(".", "_")]
    return SettingRow(key, format_value(option_of(key), value), origin.layer, origin.where)


def digest(settings: Settings) -> str:
    """One hash over everything the configuration contributes; origins and warnings do not change a loop."""
    from hashlib import sha256

    plain = _plain(flat_fields(settings))
    for field in ("origins", "warnings", "project", *_NO_OPTIONS):
        del plain[field]
    return sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()


def _plain(value: Any) -> Any:
    # Not to_builtins: it leaves out defaults by identity, so equal values could have two digests.
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    return {key: _plain(part) for key, part in value.items()} if isinstance(value, dict) else value


def project_note(settings: Settings, at_base: bytes | None) -> str:
    """A sentence when the project file that counts is not the one of the base commit; else nothing.

    `at_base` holds the bytes of `settings.project.file.path` in the base commit, None when it is not there.
    """
    file = settings.project.file
    if file is None:
        return ""
    if at_base is None:
        return f"{file.words} is not committed; its current content counts"
    if hash_file_bytes(at_base, file.table) != file.sha:
        return f"{file.words} differs from the base commit; its current content counts"
    return ""
