"""Foreign text made safe to show: cleaned of control sequences, cut to size, secrets taken out.

Everything an agent, a test, git or a file name says goes through here before it reaches a screen, a
report or a prompt. Raw archives stay raw: `clean` and `redact` lose information on purpose. Nothing
here interprets text (see `status_block`). All patterns take linear time on hostile input: repeats are
possessive or bounded, and no repeat can run over the beginning of another match. Only single characters
repeat possessively: for groups that is broken in the first releases of Python 3.11.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

REDACTED = "[redacted]"
_SHORTEST_SECRET = 8  # shorter values occur in ordinary words

# Escape sequences with what belongs to them: CSI; then OSC, DCS, SOS, PM, APC up to their terminator;
# then all other escapes. An unterminated one ends with its line, so that it cannot hide the lines after it.
_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*+[ -/]*+[@-~]?"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x1b\x07\x9c\x90\x98\x9d-\x9f\r\n]*+(?:\x07|\x1b\\\\|\x9c)?"
    "|\x1b[ -/]*+[0-~]?"
)
_C1_STARTS = ("\x9b", "\x9d", "\x90", "\x98", "\x9e", "\x9f")
_LINE_ENDS = ("\r\n", "\r", "\x0b", "\x0c")
_WIDE_LINE_ENDS = ("\x85", "\u2028", "\u2029")
_ASCII_CONTROLS = bytes(set(range(32)) - {9, 10}) + b"\x7f"
# What no reader can see, but a terminal, a diff or a model can be misled by.
_UNSEEN = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x9f"  # C0 without tab and line ends, DEL, C1
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width and directions
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"  # fillers, variation selectors, byte order mark
    "\U000e0000-\U000e0fff"  # tags and more variation selectors
    "\ud800-\udfff"  # half characters, which cannot be written to a terminal or a file
    "]+"
)


def clean(text: str | bytes) -> str:
    """Text that any terminal, page or log shows as it is: printable characters, tabs and line feeds."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    narrow = text.isascii()
    if narrow and text.isprintable():  # most lines by far: nothing to do
        return text
    if "\x1b" in text or (not narrow and any(start in text for start in _C1_STARTS)):
        text = _SEQUENCE.sub("", text)
    for end in _LINE_ENDS if narrow else _LINE_ENDS + _WIDE_LINE_ENDS:
        if end in text:
            text = text.replace(end, "\n")
    if narrow:
        return text.encode("ascii").translate(None, _ASCII_CONTROLS).decode("ascii")
    return _UNSEEN.sub("", text)


def one_line(text: str | bytes, width: int) -> str:
    """Cleaned, white space folded, at most `width` characters."""
    line = " ".join(clean(text).split())
    if len(line) <= width:
        return line
    return line[: width - 1].rstrip() + "…" if width > 0 else ""


def trim(text: str, lines: int, chars: int) -> str:
    """The beginning and the end of a long text, with what was cut counted between them.

    One third of the room goes to the head: failures are usually told at the end. The result has at
    most `lines` lines, and at most `chars` characters where that leaves room for the marker.
    """
    rows = text.split("\n")
    if len(rows) <= lines and len(text) <= chars:
        return text
    room = max(0, lines - 1)
    few = room // 3 if len(rows) > lines else len(rows)
    many = room - few if len(rows) > lines else len(rows)
    budget = max(0, chars - 40)
    head = _fit_head("\n".join(rows[:few]), budget // 3)
    tail = _fit_tail("\n".join(rows[len(rows) - many :]), budget - budget // 3)
    kept = _count_rows(head) + _count_rows(tail)
    if kept < len(rows):
        cut = len(rows) - kept
        marker = f"… {cut} line{'s' if cut != 1 else ''} cut …"
    else:
        marker = f"… {len(text) - len(head) - len(tail)} characters cut …"
    return "\n".join(part for part in (head, marker, tail) if part)


def _count_rows(part: str) -> int:
    return part.count("\n") + 1 if part else 0


def _fit_head(part: str, room: int) -> str:
    if len(part) <= room:
        return part
    part = part[:room]
    end = part.rfind("\n")
    return part[:end] if end > room // 2 else part


def _fit_tail(part: str, room: int) -> str:
    if len(part) <= room:
        return part
    part = part[len(part) - room :]
    start = part.find("\n")
    return part[start + 1 :] if 0 <= start < room // 2 else part


_Name = TypeVar("_Name")


def share_room(
    texts: Mapping[_Name, str], room: int, cut: Callable[[_Name, int], str], size: Callable[[str], int] = len
) -> dict[_Name, str]:
    """Short texts stay whole, what they leave goes to the longer ones. Each is cut to its share by `cut`, and
    they keep their order; `size` tells how much room one takes.
    """
    kept: dict[_Name, str] = {}
    for done, name in enumerate(sorted(texts, key=lambda one: len(texts[one]))):
        kept[name] = cut(name, room // (len(texts) - done))
        room -= size(kept[name])
    return {name: kept[name] for name in texts}


# (literal that must occur, pattern, replacement). The literal is looked for first because that is some
# hundred times faster than a pattern. A look-behind follows its literal for the same reason.
_Row = tuple[str, re.Pattern[str], str]
_KEYS: tuple[_Row, ...] = (
    ("sk-", re.compile(r"sk-(?<![A-Za-z0-9]sk-)[A-Za-z0-9_-]{16,}"), REDACTED),
    ("k_live_", re.compile(r"[sr]k_live_[A-Za-z0-9]{10,}"), REDACTED),
    ("gh", re.compile(r"gh[pousr]_(?<![A-Za-z0-9]gh._)[A-Za-z0-9]{20,}"), REDACTED),
    ("github_pat_", re.compile(r"github_pat_[A-Za-z0-9_]{20,}"), REDACTED),
    ("glpat-", re.compile(r"glpat-[A-Za-z0-9_.-]{16,}"), REDACTED),
    ("AKIA", re.compile(r"AKIA(?<![A-Za-z0-9]AKIA)[0-9A-Z]{16}(?![A-Za-z0-9])"), REDACTED),
    ("ASIA", re.compile(r"ASIA(?<![A-Za-z0-9]ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])"), REDACTED),
    ("xox", re.compile(r"xox[abeoprs](?<![A-Za-z0-9]xox.)-[A-Za-z0-9-]{10,}"), REDACTED),
    ("AIza", re.compile(r"AIza(?<![A-Za-z0-9]AIza)[A-Za-z0-9_-]{30,}"), REDACTED),
    ("npm_", re.compile(r"npm_(?<![A-Za-z0-9]npm_)[A-Za-z0-9]{30,}"), REDACTED),
    ("pypi-", re.compile(r"pypi-(?<![A-Za-z0-9]pypi-)AgEI[A-Za-z0-9_-]{30,}"), REDACTED),
    ("SG.", re.compile(r"SG\.(?<![A-Za-z0-9]SG\.)[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"), REDACTED),
    (":AA", re.compile(r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"), REDACTED),
    ("AccountKey=", re.compile(r"AccountKey=[A-Za-z0-9+/]{80,}={0,2}"), REDACTED),
    ("hf_", re.compile(r"hf_(?<![A-Za-z0-9]hf_)[A-Za-z0-9]{30,}"), REDACTED),
    (
        "eyJ",
        re.compile(r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"),
        REDACTED,
    ),
)
_TOKENS: tuple[_Row, ...] = (
    *_KEYS,
    (
        "PRIVATE KEY",
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[A-Za-z0-9+/=\s\\:,.()]*+(?:-(?!----)[A-Za-z0-9+/=\s\\:,.()]*+)*"
            r"-----END [A-Z0-9 ]{0,60}-----"
            r"|(?:[\s\\n]{0,4}[A-Za-z0-9+/=]{16,}+)*)"
        ),
        REDACTED,
    ),
    ("@", re.compile(r"(://[^\s/:@]{1,128}:)[^\s/@]{1,256}@"), rf"\1{REDACTED}@"),
)
_HEADER = re.compile(
    r"(authorization[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"']?(?:(?:bearer|basic|token|digest)[ \t]{1,8})?)"
    r"(?!\[redacted)[^\s\"',;]{4,}",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(bearer[ \t]{1,8})(?!\[redacted)[A-Za-z0-9._~+/=-]{16,}", re.IGNORECASE)
_NAMES = r"(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)"
# name=value, name = "value", "name": "value"; bare `name: value` only when it holds a digit, so that
# "unexpected token: identifier" stays readable.
_ASSIGNED = re.compile(
    rf"({_NAMES}(?:[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"']|=))(?!\[redacted)[^\s\"'&,;()<>{{}}$]{{3,}}",
    re.IGNORECASE,
)
_LISTED = re.compile(
    rf"({_NAMES}[ \t]{{0,4}}:[ \t]{{1,4}})(?!\[redacted)(?=[^\s\d]{{0,64}}\d)[^\s\"'&,;()<>{{}}$]{{6,}}",
    re.IGNORECASE,
)
_NAMED: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("authorization",), _HEADER),
    (("bearer",), _BEARER),
    (("pass", "secret", "token", "key"), _ASSIGNED),
    (("pass", "secret", "token", "key"), _LISTED),
)


def find_keys(text: str) -> list[str]:
    """What looks like somebody's key or token in a text."""
    return [hit[0] for literal, pattern, _ in _KEYS if literal in text for hit in pattern.finditer(text)]


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Text without the given values, and without what looks like a key, a token or a password."""
    known = {value.strip() for value in secrets}
    for value in sorted(known, key=len, reverse=True):
        if len(value) >= _SHORTEST_SECRET and value != REDACTED:
            text = text.replace(value, REDACTED)
    for literal, pattern, instead in _TOKENS:
        if literal in text:
            text = pattern.sub(instead, text)
    lowered = text.lower()
    for words, pattern in _NAMED:
        if any(word in lowered for word in words):
            text = pattern.sub(rf"\1{REDACTED}", text)
    return text
