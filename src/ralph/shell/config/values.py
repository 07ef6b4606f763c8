"""One reader for each kind of value: what a file, a variable or a flag held becomes a checked value.

A reader raises `ValueError` whose text is what was expected. Values are hostile: they may come from a
cloned repository, so sizes are bounded, control characters are refused where a word is meant, and
nothing that looks like an option can slip into another program's arguments. Quarantines end here too.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ralph.core.text import units
from ralph.shell.config import grades, judge
from ralph.shell.config.schema import escape_invisible
from ralph.shell.config.settings import Option, Value

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
NAME_WORDS = "a name of letters, digits, - and _, at most 40"
_WORD = r"[A-Za-z0-9][A-Za-z0-9_./:@+\[\]-]{0,199}"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_KEY = re.compile(r"(?:_|^)(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?:https://[^\s@]{1,2000}|http://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:/[^\s@]{0,2000})?)"
)
_GUARD = re.compile(r"[A-Za-z0-9][^=\x00-\x1f\x7f-\x9f]{0,299}")  # ids hold test names, brackets and all
_PREFIX = r"[A-Za-z0-9][A-Za-z0-9_-]*(?:/[A-Za-z0-9][A-Za-z0-9_-]*)*"
_MAX_CHARS = 8192  # characters of one text: a command nobody can read cannot be approved either
_MAX_ITEMS = 256  # entries of one list or table
_MAX_SHOWN = 60  # characters of a bad value that are shown


def parse(option: Option, raw: object) -> Value:
    """A value as TOML holds it."""
    return _READERS[option.kind](option, raw)


def parse_text(option: Option, text: str) -> Value:
    """A value as a variable or a flag holds it: lists are parted by ':', waivers are ID=REASON."""
    raw: object = text
    if option.kind == "switch":
        raw = {
            "true": True,
            "1": True,
            "yes": True,
            "on": True,
            "false": False,
            "0": False,
            "no": False,
            "off": False,
        }.get(text.strip().lower(), text)
    elif option.kind in ("inners", "dirs", "texts"):
        raw = [part for part in text.split(":") if part]
    elif option.kind in ("days", "percent", "score"):
        raw = _number(text)
    elif option.kind == "count" or (option.kind == "iterations" and text.strip() != "unlimited"):
        raw = units.parse_count(text)
    elif option.kind == "waivers":
        return parse_words(option, [text])
    return parse(option, raw)


def parse_words(option: Option, words: list[str]) -> Value:
    """A flag that was given several times."""
    if option.kind == "waivers":
        pairs = (word.partition("=") for word in words)
        return parse(option, {guard: reason for guard, _, reason in pairs})
    return parse(option, words)


def show_bad_value(raw: object) -> str:
    """A bad value for an error message: short, and nothing in it can move a cursor."""
    if isinstance(raw, int) and not isinstance(raw, bool) and raw.bit_length() > 128:
        return "a very large number"
    if isinstance(raw, Mapping):
        return "a table"
    if isinstance(raw, list | tuple):
        return show_bad_value(raw[0]) if len(raw) == 1 else f"a list of {len(raw)}"
    words = (
        f'"{escape_invisible(raw[: _MAX_SHOWN + 1])}"' if isinstance(raw, str) else escape_invisible(str(raw))
    )
    if isinstance(raw, bool):
        words = words.lower()
    return words if len(words) <= _MAX_SHOWN + 2 else words[:_MAX_SHOWN] + "…"


def _number(text: str) -> object:
    try:
        return int(text[:20]) if text.strip().isdigit() else float(text[:40])
    except ValueError:
        return text


def _text(_option: Option, raw: object) -> str:
    if not isinstance(raw, str) or len(raw) > _MAX_CHARS:
        raise ValueError(f"text of at most {_MAX_CHARS} characters")
    if "\0" in raw or not encodable(raw):
        raise ValueError("text without NUL and in valid UTF-8")
    return raw


def encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _names(_option: Option, raw: object) -> str:
    if raw == "":
        return ""
    if not isinstance(raw, str) or len(raw) > _MAX_CHARS:
        raise ValueError(NAME_WORDS)
    parts = [part.strip() for part in raw.split(",")]
    if not all(NAME.fullmatch(part) for part in parts):
        raise ValueError(NAME_WORDS)
    return ",".join(parts)


def _kinds(_option: Option, raw: object) -> str:
    from ralph.gates.guards import KINDS  # takes a while to load, and is seldom asked

    parts = [part.strip() for part in raw.split(",") if part.strip()] if isinstance(raw, str) else [""]
    for part in parts:
        if part not in KINDS:
            raise ValueError(
                f"kinds of findings such as inventory.deleted (docs/guards.md); not {show_bad_value(part)}"
            )
        if not KINDS[part].grantable:
            raise ValueError(
                f"kinds that may be granted unseen; {part} accuses: look at it first, then use --allow"
            )
    return ",".join(parts)


def _choice(option: Option, raw: object) -> str:
    if isinstance(raw, bool) and option.choices == ("on", "off"):  # YAML habits
        raw = "on" if raw else "off"
    elif isinstance(raw, int) and not isinstance(raw, bool):
        raw = str(raw)
    if not isinstance(raw, str) or raw not in option.choices:
        raise ValueError("one of " + ", ".join(option.choices))
    return raw


def _reader(_option: Option, raw: object) -> str:
    from ralph.gates.readers import read_choices  # looks into folders, and is seldom asked

    if not isinstance(raw, str) or raw not in read_choices():
        raise ValueError("one of " + ", ".join(read_choices()))
    return raw


def _count(_option: Option, raw: object) -> int:
    return units.parse_count(None if isinstance(raw, str) else raw)


def _iterations(option: Option, raw: object) -> int | None:
    if raw == "unlimited":
        return None
    try:
        return _count(option, raw)
    except ValueError:
        raise ValueError(f'{units.COUNT}, or "unlimited"') from None


def _inner(option: Option, raw: object) -> str:
    path = _text(option, raw)
    if path == "" and option.default == "":
        return ""
    parts = path.split("/")
    if (
        not path
        or path.startswith(("/", "~", "-"))
        or ".." in parts
        or ".git" in (part.lower() for part in parts)
    ):
        raise ValueError('a path inside the repository, without ".." and not in .git')
    return posixpath.normpath(path)


def _inners(option: Option, raw: object) -> tuple[str, ...]:
    return tuple(_inner(option, part) for part in _list(raw))


def _dirs(option: Option, raw: object) -> tuple[str, ...]:
    dirs = tuple(_text(option, part) for part in _list(raw))
    if any(not part or ":" in part or (".." in part.split("/")) for part in dirs):
        raise ValueError('folders without ":" and ".."')
    return dirs


def _texts(option: Option, raw: object) -> tuple[str, ...]:
    found = tuple(_text(option, part) for part in _list(raw))
    if option.choices and not set(found) <= set(option.choices):
        raise ValueError("a list of " + ", ".join(option.choices))
    return found


def _address(option: Option, raw: object) -> str:
    """Where something is sent: nobody on the way may read it."""
    text = _text(option, raw)
    if text and not _ADDRESS.fullmatch(text):
        raise ValueError("an https address, or an http one of this machine")
    return text


def _list(raw: object) -> list[object]:
    if not isinstance(raw, list | tuple) or len(raw) > _MAX_ITEMS:
        raise ValueError(f"a list of at most {_MAX_ITEMS} texts")
    return list(raw)


def _pairs(raw: object) -> dict[str, object]:
    if not isinstance(raw, Mapping) or len(raw) > _MAX_ITEMS:
        raise ValueError(f"a table of at most {_MAX_ITEMS} entries")
    return dict(raw)


def _env(option: Option, raw: object) -> dict[str, str]:
    pairs = _pairs(raw)
    for name, value in pairs.items():
        if not _VARIABLE.fullmatch(name) or name.upper().startswith("RALPH_"):
            raise ValueError(
                f"names of environment variables, none of them RALPH_…; not {show_bad_value(name)}"
            )
        if value and _KEY.search(name) and not option.key.startswith("gates."):
            raise ValueError(
                f"no key in a file, but {name} looks like one; a profile takes it from your environment "
                '(key_from = "VARIABLE") or from a command (key_command = "…")'
            )
    return {name: _scalar(option, value) for name, value in pairs.items()}


def _table(option: Option, raw: object) -> dict[str, str]:
    pairs = _pairs(raw)
    for name in pairs:
        if not NAME.fullmatch(name):
            raise ValueError(f"{NAME_WORDS}; not {show_bad_value(name)}")
    return {name: _scalar(option, value) for name, value in pairs.items()}


def _scalar(option: Option, raw: object) -> str:
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, int | float) and abs(raw) < 10**15:
        return str(raw)
    return _text(option, raw)


def _waivers(option: Option, raw: object) -> dict[str, str]:
    pairs = _pairs(raw)
    for guard, reason in pairs.items():
        if not _GUARD.fullmatch(guard) or not isinstance(reason, str) or not reason.strip():
            shown = show_bad_value(guard)
            raise ValueError(
                f'guard ids with a reason each, such as stubs="generated code"; not {shown} alone'
            )
    return {guard: _text(option, reason) for guard, reason in pairs.items()}


def _quarantine(option: Option, raw: object) -> dict[str, str]:
    pairs = _pairs(raw)
    found = {}
    for test, said in pairs.items():
        try:
            found[_text(option, test)] = check_quarantine_entry(_text(option, said))
        except ValueError:
            raise ValueError(
                f'test ids, each with "OWNER until YYYY-MM-DD: reason"; not {show_bad_value(said)}'
            ) from None
    return found


# Kinds that are a type with bounds, and what is expected in words.
_PLAIN: dict[str, tuple[Any, str]] = {
    "switch": (bool, "true or false"),
    "days": (Annotated[int, Meta(ge=0, le=36500)], "a whole number of days from 0 to 36500"),
    "percent": (Annotated[float, Meta(ge=0, le=100)], "a percentage from 0 to 100"),
    "score": (
        Annotated[float, Meta(ge=judge.LOWEST, le=judge.HIGHEST)],
        f"a score from {judge.LOWEST:g} to {judge.HIGHEST:g}",
    ),
    "word": (
        Annotated[str, Meta(pattern=rf"^(?:{_WORD})?\Z")],
        "one word that begins with a letter or digit",
    ),
    "prefix": (
        Annotated[str, Meta(pattern=rf"^{_PREFIX}\Z", max_length=100)],
        'the beginning of a branch name such as "ralph" or "bots/ralph"',
    ),
}


def _plain(option: Option, raw: object) -> Value:
    kind, words = _PLAIN[option.kind]
    try:
        value: Value = msgspec.convert(raw, kind)
    except msgspec.ValidationError:
        raise ValueError(words) from None
    return value


_READERS: dict[str, Callable[[Option, object], Value]] = {
    "text": _text,
    "names": _names,
    "kinds": _kinds,
    "choice": _choice,
    "reader": _reader,
    "count": _count,
    "iterations": _iterations,
    "duration": lambda _option, raw: units.parse_duration(raw),
    "money": lambda _option, raw: units.parse_money(raw),
    "size": lambda _option, raw: units.parse_size(raw),
    "inner": _inner,
    "inners": _inners,
    "dirs": _dirs,
    "texts": _texts,
    "address": _address,
    "env": _env,
    "table": _table,
    "waivers": _waivers,
    "quarantine": _quarantine,
    "grades": lambda _option, raw: grades.grades_text(raw),
    "dimensions": lambda _option, raw: judge.dimensions_text(raw),
    **dict.fromkeys(_PLAIN, _plain),
}


WORDS = re.compile(r"(?P<owner>[^\n]{1,80}?) until (?P<day>\d{4}-\d{2}-\d{2}): (?P<reason>[^\n]{1,400})")


def check_quarantine_entry(said: str) -> str:
    """The entry as it was written. Raises ValueError when owner, day or reason is missing."""
    match = WORDS.fullmatch(said.strip())
    if match is None or not match["owner"].strip():
        raise ValueError("no owner, day or reason")
    date.fromisoformat(match["day"])
    return said.strip()


def current_quarantine(entries: Mapping[str, str], now: float) -> tuple[dict[str, str], tuple[str, ...]]:
    """What holds today, and a warning for each that has expired."""
    today = datetime.fromtimestamp(now, UTC).date()
    held, warnings = {}, []
    for test, said in sorted(entries.items()):
        match = WORDS.fullmatch(said)
        if match is not None and date.fromisoformat(match["day"]) >= today:
            held[test] = said
        else:
            warnings.append(f'the quarantine of "{test}" has expired ({said}), so it counts again')
    return held, tuple(warnings)
