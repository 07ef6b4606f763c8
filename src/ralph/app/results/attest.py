"""The proof of a verified loop: signed, exported as a bundle or as git notes; and whose proofs count here."""

from __future__ import annotations

import calendar
import os
import time
from collections.abc import Mapping

from ralph.clock import Clock, SystemClock
from ralph.errors import UserError
from ralph.shell.attestation import make, trust
from ralph.shell.attestation.bundle import Written, read_key, write_bundle
from ralph.shell.attestation.git_notes import REF, write_notes
from ralph.shell.attestation.keys import Public
from ralph.shell.attestation.trust import Trusted
from ralph.shell.git.project import find_project
from ralph.shell.journal.entries import Record
from ralph.shell.state.directory import open_state, state_dir

__all__ = ["REF", "Public", "Trusted", "Written"]


def attest(record: Record, env: Mapping[str, str], clock: Clock | None = None) -> str:
    """The path of this loop's signed statement, made now unless it is there and holds."""
    return make.attest(open_state(state_dir(env), create=True), record, env, (clock or SystemClock()).now())


def export_bundle(record: Record, env: Mapping[str, str], out: str) -> Written:
    """All that a third person needs to check the loop, as one file."""
    return write_bundle(open_state(state_dir(env), create=True), record, env, out, SystemClock().now())


def export_notes(record: Record, env: Mapping[str, str]) -> tuple[str, ...]:
    """The signed statement as git notes; the objects that carry it now."""
    sealed = make.read_envelope(attest(record, env))
    return write_notes(find_project(record.loop.sealed.repo), sealed)


def trusted_keys(env: Mapping[str, str]) -> list[Trusted]:
    """The keys whose proofs count here, the newest first."""
    return sorted(trust.trusted_keys(env).values(), key=lambda one: -one.since)


def public_key(env: Mapping[str, str], text: str | None = None) -> Public:
    """The key that signs here (made now if there is none), or another that is trusted."""
    if text is None:
        return trust.signing_key(env, SystemClock().now()).public
    return trust.pick(trust.trusted_keys(env), text).key


def trust_key(env: Mapping[str, str], path: str, *, name: str = "", until: str = "") -> Trusted:
    """Let the proofs of the public key in this file count here, until the end of a day if one is named."""
    key = read_key(path)
    return trust.trust(env, key, name or os.path.basename(path), SystemClock().now(), _end_of_day(until))


def distrust_key(env: Mapping[str, str], text: str) -> Trusted:
    """No proof of this key counts any longer, whenever it was made."""
    return trust.distrust(env, text)


def rotate_key(env: Mapping[str, str]) -> tuple[Public | None, Public]:
    """Sign with a new key from now on; the old one, if there was one, and the new one."""
    return trust.rotate(env, SystemClock().now())


def _end_of_day(text: str) -> float | None:
    if not text:
        return None
    try:
        return calendar.timegm(time.strptime(text, "%Y-%m-%d")) + 86399.0
    except ValueError:
        raise UserError(
            f"--until is '{text[:40]}', expected a day such as 2027-01-31",
            code="E-USAGE",
            next="ralph keys trust --help",
        ) from None
