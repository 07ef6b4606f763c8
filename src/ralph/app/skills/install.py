"""Installing Ralph into a host, looking after it, and taking it out: only what it wrote, to the byte.

A note in the configuration folder keeps what was written, and a copy of the settings from before. Settings
that nobody has changed since are put back from that copy; in others only Ralph's own entries are removed.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ralph.app.skills.layout import Skill, hook_entries, host_table, is_ours, own_files, without_ours
from ralph.core.backlog.json_text import JsonEdit, apply_edits, remove_member
from ralph.errors import SetupError, UserError
from ralph.shell.files.write_whole import write_whole
from ralph.shell.state.directory import config_dir

MAX_BYTES = 1 << 20
Word = Literal["not installed", "installed", "stale", "edited"]


class PlannedFile(Struct, frozen=True):
    path: str
    before: str | None  # None = it is not there
    after: str | None


class SkillNote(Struct, frozen=True, omit_defaults=True):
    """What was written, so that it can be found and removed again."""

    host: str
    scope: str
    top: str
    goal: bool = False
    files: dict[str, str] = {}  # path -> hash of what was written
    settings: str = ""
    settings_after: str = ""  # hash
    settings_before: str | None = None  # the text; None = there was no file
    folders: tuple[str, ...] = ()  # that were made


def plan_install(skill: Skill, env: Mapping[str, str]) -> list[PlannedFile]:
    """Every file as it would be; those that stay as they are left out."""
    note = read_note(skill, env)
    changes = []
    for path, text in own_files(skill).items():
        before = _read(path)
        known = note is not None and path in note.files
        if before is not None and before != text and not known and not _looks_ours(before):
            raise UserError(
                "there is a file that Ralph did not write",
                code="E-SKILLS-FOREIGN",
                at=path,
                why="it would be overwritten",
                next=f"mv '{path}' '{path}.mine'",
            )
        changes.append(PlannedFile(path, before, text))
    gone = [path for path in (note.files if note else {}) if path not in own_files(skill)]
    changes += [PlannedFile(path, _read(path), None) for path in gone]
    settings = _settings_path(skill)
    if settings:
        changes.append(
            PlannedFile(settings, _read(settings), _with_hooks(skill, _original(skill, note, settings)))
        )
    return [one for one in changes if one.before != one.after]


def apply_install(skill: Skill, env: Mapping[str, str], changes: list[PlannedFile]) -> None:
    """Write the note first: what a kill leaves behind is then known."""
    old, settings, texts = read_note(skill, env), _settings_path(skill), own_files(skill)
    before = _original(skill, old, settings) if settings else None
    after = _with_hooks(skill, before) if settings else None
    made = tuple(dict.fromkeys((*(old.folders if old else ()), *_missing_folders([*texts, settings]))))
    note = SkillNote(
        host=skill.host,
        scope=skill.scope,
        top=skill.top,
        goal=skill.goal,
        files={path: _hash(text) for path, text in texts.items()},
        settings=settings,
        settings_after=_hash(after) if after is not None else "",
        settings_before=before,
        folders=made,
    )
    _write(_note_path(skill, env), msgspec.json.encode(note).decode(), 0o600)
    _apply(changes)


def plan_uninstall(skill: Skill, env: Mapping[str, str]) -> tuple[list[PlannedFile], list[str]]:
    """What goes, and what stays because somebody else has changed it since."""
    note = read_note(skill, env)
    if note is None:
        return [], []
    changes, kept = [], []
    for path, written in note.files.items():
        text = _read(path)
        if text is not None and _hash(text) != written:
            kept.append(path)
        elif text is not None:
            changes.append(PlannedFile(path, text, None))
    now = _read(note.settings) if note.settings else None
    if now is not None:
        changes.append(PlannedFile(note.settings, now, _original(skill, note, note.settings)))
    return changes, kept


def apply_uninstall(skill: Skill, env: Mapping[str, str], changes: list[PlannedFile]) -> None:
    note = read_note(skill, env)
    _apply(changes)
    for folder in sorted(note.folders if note else (), key=len, reverse=True):
        with suppress(OSError):  # somebody else has put something there
            os.rmdir(folder)
    with suppress(FileNotFoundError):
        os.unlink(_note_path(skill, env))


def skill_state(skill: Skill, env: Mapping[str, str]) -> Word:
    note = read_note(skill, env)
    if note is None:
        return "not installed"
    written = {path: _read(path) for path in note.files}
    if any(text is None or _hash(text) != note.files[path] for path, text in written.items()):
        return "edited"
    same = msgspec.structs.replace(skill, goal=note.goal)
    return "stale" if plan_install(same, env) else "installed"


def diff_lines(changes: list[PlannedFile]) -> list[str]:
    """Exactly what would change, as a patch."""
    lines: list[str] = []
    for one in changes:
        old, new = one.before or "", one.after or ""
        names = (
            one.path if one.before is not None else "/dev/null",
            one.path if one.after is not None else "/dev/null",
        )
        lines += difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")
    return lines


def read_note(skill: Skill, env: Mapping[str, str]) -> SkillNote | None:
    text = _read(_note_path(skill, env))
    try:
        return msgspec.json.decode(text, type=SkillNote) if text else None
    except msgspec.DecodeError:
        return None


def _note_path(skill: Skill, env: Mapping[str, str]) -> str:
    place = f"{skill.top}\0{skill.home}" if skill.home else skill.top
    where = hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return os.path.join(config_dir(env), "skills", f"{skill.host}-{skill.scope}-{where}.json")


def _settings_path(skill: Skill) -> str:
    pair = host_table()[skill.host].get("settings")
    return skill.path(pair) if pair else ""


def _original(skill: Skill, note: SkillNote | None, path: str) -> str | None:
    """The settings without anything of Ralph's: the copy if nobody has changed them since, else taken out."""
    now = _read(path)
    if now is None:
        return None
    if note is not None and note.settings == path and _hash(now) == note.settings_after:
        return note.settings_before
    found = _parse(now, path)
    hooks = found.get("hooks")
    for event, entries in hooks.items() if isinstance(hooks, dict) else ():
        if not isinstance(entries, list) or not any(is_ours(one, skill.host) for one in entries):
            continue
        left = [one for one in (without_ours(one, skill.host) for one in entries) if one is not None]
        now = (
            apply_edits(now, [JsonEdit(("hooks", event), left)])
            if left
            else remove_member(now, ("hooks", event))
        )
    if note is None or json.loads(now).get("hooks") != {}:
        return now
    before = json.loads(note.settings_before) if note.settings_before else {}
    return now if "hooks" in before else remove_member(now, ("hooks",))


def _with_hooks(skill: Skill, text: str | None) -> str:
    entries = hook_entries(skill)
    if text is None:
        return json.dumps({"hooks": entries}, indent=2) + "\n"
    _parse(text, _settings_path(skill))
    edits = [JsonEdit(("hooks", event), one, append=True) for event, ones in entries.items() for one in ones]
    return apply_edits(text, edits)


def _parse(text: str, path: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        found = wrong
    if not isinstance(found, dict):
        raise UserError(
            "the host's settings are not a JSON object",
            code="E-SKILLS-SETTINGS",
            at=path,
            why=f"{found}; Ralph changes them only where it can keep every other byte"[:300],
            next=f"python3 -m json.tool '{path}'",
        )
    return found


def _looks_ours(text: str) -> bool:
    return "ralph skills install" in text


def _read(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            large = f"'{path}' has more than {MAX_BYTES >> 20} MB"
            raise UserError(large, code="E-SKILLS-SETTINGS", at=path, next=f"ls -l '{path}'")
        return data.decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as wrong:
        raise SetupError(
            f"'{path}' cannot be read", code="E-SKILLS-FILE", at=path, why=str(wrong), next=f"ls -l '{path}'"
        ) from None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _missing_folders(paths: list[str]) -> list[str]:
    found: list[str] = []
    for path in filter(None, paths):
        folder = os.path.dirname(path)
        while folder and not os.path.lexists(folder):
            found.append(folder)
            folder = os.path.dirname(folder)
    return found


def _apply(changes: list[PlannedFile]) -> None:
    for one in changes:
        if _read(one.path) != one.before:
            raise UserError(
                "a file was changed while you looked at the difference",
                code="E-SKILLS-MOVED",
                at=one.path,
                next="ralph skills status",
            )
        if one.after is None:
            os.unlink(one.path)
        else:
            _write(one.path, one.after)


def _write(path: str, text: str, mode: int | None = None) -> None:
    """Settings may hold keys, and so may their copy."""
    try:
        target = os.path.realpath(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        write_whole(target, text.encode(), mode)
    except OSError as wrong:
        raise SetupError(
            f"'{path}' cannot be written",
            code="E-SKILLS-FILE",
            at=path,
            why=str(wrong),
            next="ralph skills status",
        ) from None
