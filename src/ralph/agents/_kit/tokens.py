"""Whether a login that changed inside a box may replace the user's: the same person's, well-formed, newer.

Only the values that the CLI's table names are taken over, each into its place in the user's own file. Whose
tokens they are cannot be asked of the provider here: where a format tells, it
must be as before, else a foreign login cannot be told from a refreshed one.
"""

from __future__ import annotations

import base64
import binascii
import copy
import hashlib
import json
import re

from msgspec import Struct

from ralph.agents._kit.fields import Fields, epoch_seconds, parse_object
from ralph.agents._kit.folders import Login

LARGEST = 1 << 20  # bytes of a login file
SKEW = 300.0  # seconds by which clocks may differ
FARTHEST = 100 * 86400.0  # seconds from now until which a token may be valid
_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")
_CLAIMS = ("iss", "sub")


class Renewed(Struct, frozen=True):
    """The user's file as it should become, if it should; and what could not be taken over."""

    content: Fields | None = None
    why: str = ""


def digest(login: Login, content: Fields | None) -> str:
    """The tokens of a file in one word, to see whether they changed."""
    found = (
        [] if content is None else [_pick_values(login, entry) for entry in _entries(login, content).values()]
    )
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def merge_newer_tokens(login: Login, theirs: Fields, ours: Fields, now: float) -> Renewed:
    """The user's content with the newer tokens of ours in it."""
    made = copy.deepcopy(theirs)
    entries, why, changed = _entries(login, made), "", False
    for name, entry in _entries(login, ours).items():
        known = entries.get(name)
        if known is None or _pick_values(login, known) == _pick_values(login, entry):
            continue
        if value_at(known, login.tokens[0]) is None:
            continue  # no login that refreshes itself: a key, or none at all
        problem = _problem(login, known, entry, now)
        why = why or problem
        if not problem and _later(value_at(entry, login.when), value_at(known, login.when)):
            changed = True
            for path in (*login.tokens, login.when):
                value = value_at(entry, path)
                if value is not None:
                    _put(known, path, value)
    return Renewed(made if changed else None, why)


def only(content: Fields, keys: tuple[str, ...]) -> Fields:
    """The named entries; all when none is named."""
    return {key: value for key, value in content.items() if not keys or key in keys}


def _problem(login: Login, known: Fields, entry: Fields, now: float) -> str:
    """Why these tokens cannot be the refreshed ones of that login; "" when they can."""
    for path in login.same:
        if value_at(known, path) not in (None, value_at(entry, path)):
            return f"it belongs to another login ({path} differs)"
    for path in login.tokens:
        before, after = value_at(known, path), value_at(entry, path)
        if before is None and after is None:
            continue
        if not isinstance(after, str) or not _TOKEN.fullmatch(after):
            return f"{path} is no token"
        claims = _claims(before)
        if claims and _claims(after) != claims:
            return f"it belongs to another login ({path} names somebody else)"
    moment = epoch_seconds(value_at(entry, login.when))
    if moment is None:
        return f"{login.when} is no time"
    told = isinstance(value_at(entry, login.when), str)  # a time that has passed; as a number it is an expiry
    if moment > now + (SKEW if told else FARTHEST):
        return f"{login.when} is too far in the future"
    return ""


def _entries(login: Login, content: Fields) -> dict[str, Fields]:
    if not login.each:
        return {"": content}
    return {name: entry for name, entry in content.items() if isinstance(entry, dict)}


def _pick_values(login: Login, entry: Fields) -> list[object]:
    """Its tokens and their time; anything nested is as good as any other nonsense."""
    found = (value_at(entry, path) for path in (*login.tokens, login.when))
    return [value if isinstance(value, str | int | float | None) else type(value).__name__ for value in found]


def value_at(entry: Fields, path: str) -> object:
    found: object = entry
    for key in path.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _put(entry: Fields, path: str, value: object) -> None:
    *above, last = path.split(".")
    for key in above:
        entry = entry[key]
    entry[last] = value


def _later(after: object, before: object) -> bool:
    new, old = epoch_seconds(after), epoch_seconds(before)
    return new is not None and (old is None or new > old)


def _claims(token: object) -> tuple[object, ...]:
    """Who a JSON web token says it is of; nothing for any other token."""
    parts = token.split(".") if isinstance(token, str) else []
    if len(parts) != 3:
        return ()
    try:
        body = parse_object(
            base64.b64decode(parts[1] + "=" * (-len(parts[1]) % 4), altchars="-_", validate=True)
        )
    except (binascii.Error, ValueError):
        return ()
    return tuple(body.get(name) for name in _CLAIMS) if body and body.get("sub") else ()
