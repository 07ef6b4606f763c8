"""Whose signatures count here: `trusted.json` beside the signing key.

A key is trusted by the user's word, with a name and a time. A rotated or expired one still counts for
statements that were finished before its end, and for none after; a distrusted one for none at all.
That time is the signer's own word, so a key that may be stolen is distrusted, not rotated.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

import msgspec

from ralph.errors import NothingToDo, UserError
from ralph.shell.attestation import keys
from ralph.shell.attestation.keys import Public, Signer

_FILE = "trusted.json"


class Trusted(msgspec.Struct, frozen=True, omit_defaults=True):
    key: Public
    name: str
    since: float
    own: bool = False  # a key that this user signs with, or did
    until: float | None = None  # nothing finished later counts
    end: Literal["", "rotated", "expires"] = ""


class _TrustStore(msgspec.Struct, frozen=True):
    version: int
    keys: dict[str, Trusted]


def trusted_keys(env: Mapping[str, str]) -> dict[str, Trusted]:
    """Every trusted key by its id."""
    with keys.open_folder(env, create=False) as folder:
        return {} if folder is None else _load(env, folder)


def signing_key(env: Mapping[str, str], now: float) -> Signer:
    """The key to sign with. Who signs with a key trusts it: it is noted as such on first use."""
    signer = keys.signer(env)
    with keys.open_folder(env, create=True) as folder:
        assert folder is not None
        known = _load(env, folder)
        seen = known.get(signer.public.id)
        noted = seen or Trusted(signer.public, signer.name, now)
        if noted.end == "rotated":  # a rotation that was killed before it made the new key
            noted = msgspec.structs.replace(noted, until=None, end="")
        noted = msgspec.structs.replace(noted, own=True)
        if noted != seen:
            _save(folder, {**known, signer.public.id: noted})
    return signer


def trust(env: Mapping[str, str], key: Public, name: str, now: float, until: float | None = None) -> Trusted:
    """Trust a key from now on; said again, the newer word counts."""
    made = Trusted(key, name, now, until=until, end="expires" if until is not None else "")
    with keys.open_folder(env, create=True) as folder:
        assert folder is not None
        known = _load(env, folder)
        if key.id in known and known[key.id].own:
            made = msgspec.structs.replace(made, own=True)
        _save(folder, {**known, key.id: made})
    return made


def distrust(env: Mapping[str, str], text: str) -> Trusted:
    """Take the trust back, for all statements of that key."""
    with keys.open_folder(env, create=True) as folder:
        assert folder is not None
        known = _load(env, folder)
        found = pick(known, text)
        own = keys.own_key(env, folder)
        if own is not None and own.public.id == found.key.id:
            raise UserError(
                f"key '{found.key.short}' is the one that Ralph signs with here",
                code="E-KEY-SIGNING",
                why="it would be trusted again with the next signature; make a new one first",
                next="ralph keys rotate",
            )
        del known[found.key.id]
        _save(folder, known)
    return found


def rotate(env: Mapping[str, str], now: float) -> tuple[Public | None, Public]:
    """A new signing key of Ralph's own; the old one counts for what it signed until now."""
    if env.get(keys.VARIABLE):
        raise UserError(
            f"the signing key is the one that {keys.VARIABLE} names, and that is not Ralph's to rotate",
            code="E-KEY-FOREIGN",
            why="make a new one where you made it, and trust it",
            next=f"unset {keys.VARIABLE}",
        )
    with keys.open_folder(env, create=True) as folder:
        assert folder is not None
        old, known = keys.own_key(env, folder), _load(env, folder)
        if old is not None:
            # Its end is noted first: after a crash here the next signature just takes the old key up again.
            since = known[old.public.id].since if old.public.id in known else now
            known[old.public.id] = Trusted(
                old.public, "this machine", since, own=True, until=now, end="rotated"
            )
            _save(folder, known)
        new = keys.make_key(folder)
        known[new.public.id] = Trusted(new.public, new.name, now, own=True)
        _save(folder, known)
    return (old.public if old else None), new.public


def why_untrusted(found: Trusted | None, finished: float) -> str:
    """Why a signature by this key does not count for a statement of that time; "" when it does."""
    if found is None:
        return "the key is not trusted here"
    if found.until is not None and finished > found.until:
        word = "was rotated" if found.end == "rotated" else "expired"
        return f"the key '{found.name}' {word} before the statement was finished"
    return ""


def pick(known: Mapping[str, Trusted], text: str) -> Trusted:
    """The one key that an id, the beginning of one (8 digits) or a name stands for."""
    found = [
        one for one in known.values() if one.name == text or (len(text) >= 8 and one.key.id.startswith(text))
    ]
    if len(found) == 1:
        return found[0]
    if not known:
        raise NothingToDo("no key is known here yet", code="E-KEY-NONE", next="ralph keys list")
    why = "several keys are called so" if found else "no key has such an id or name"
    raise UserError(f"key '{text[:80]}' is not known", code="E-KEY-UNKNOWN", why=why, next="ralph keys list")


def _load(env: Mapping[str, str], folder: int) -> dict[str, Trusted]:
    path = os.path.join(keys.keys_dir(env), _FILE)
    data = keys.read_file(folder, _FILE, path, private=False)
    if data is None:
        return {}
    try:
        store = msgspec.json.decode(data, type=_TrustStore)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise keys.unusable_error(path, "it is not a list of trusted keys") from error
    if store.version != 1:
        raise keys.unusable_error(path, f"it has version {store.version}; this ralph knows version 1")
    return store.keys


def _save(folder: int, known: dict[str, Trusted]) -> None:
    keys.write_file(folder, _FILE, msgspec.json.format(msgspec.json.encode(_TrustStore(1, known)), indent=1))
