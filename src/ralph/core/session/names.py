"""The name of a session, from what its host calls it. Hooks ask often, so this imports next to nothing."""

from __future__ import annotations

import re
from hashlib import sha256

from ralph.core.session.hosts import HOST_FACTS
from ralph.errors import UserError

_NAME = re.compile(r"session-[0-9a-f]{32}")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")


def session_name(host: str, session: str) -> str:
    """The name of a session's folder and refs; no two sessions share one, and no loop has such a name."""
    check_session_id(host, session)
    digest = sha256(f"{host}\0{session}".encode()).hexdigest()
    return f"session-{digest[:32]}"


def check_session_name(name: str) -> str:
    """A name as `session_name` makes it: it becomes part of a path."""
    if not _NAME.fullmatch(name):
        raise UserError(
            f"'{name[:60]}' is no name of a session", code="E-SESSION-ID", next="ralph session list"
        )
    return name


def check_session_id(host: str, session: str) -> None:
    """Both come from outside, and become part of a key and of commands that people are shown."""
    if host not in HOST_FACTS:
        raise UserError(
            f"unknown host '{host[:40]}'",
            code="E-SESSION-HOST",
            why=f"expected one of {', '.join(HOST_FACTS)}",
            next="ralph session list",
        )
    if not _ID.fullmatch(session):
        raise UserError(
            f"session id {session[:60]!r} is not allowed",
            code="E-SESSION-ID",
            why="expected 1 to 128 characters of A-Z, a-z, 0-9, '.', '_', ':' and '-'",
            next="ralph session list",
        )
