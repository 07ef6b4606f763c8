"""Attesting: the signed statement of every verified loop, in `attestations/` of the state directory.

Written once: what a verified loop proved does not change afterwards, so an envelope that stands and holds
is left alone, also after the key was rotated. Found by loop, by tree or by commit by looking at the
statements themselves; there is no index that could say something else.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec

from ralph.agents._kit.environ import secret_values
from ralph.core.attestation.statement import Statement, StatementFacts, encode, inventory, statement
from ralph.core.model import events as e
from ralph.core.model.verdict import Reading, Verdict
from ralph.errors import JournalError, UserError
from ralph.shell.attestation import trust
from ralph.shell.attestation.envelope import BadEnvelope, Sealed, seal, signed_by, unseal
from ralph.shell.files.write_whole import write_whole
from ralph.shell.journal.entries import Record
from ralph.shell.state import blobs
from ralph.shell.state.directory import State, config_dir, safe_name, unusable_error

_SUFFIX = ".dsse.json"


class _Evidence(msgspec.Struct, frozen=True):
    """Of a verdict's evidence, what tells where its gate ran."""

    environment: tuple[str, ...] = ()


def path_of(state: State, name: str) -> str:
    return os.path.join(state.attestations, safe_name(name) + _SUFFIX)


def attest(state: State, record: Record, env: Mapping[str, str], now: float) -> str:
    """The path of this loop's envelope, written and signed now unless it is there and holds."""
    if record.loop.outcome not in ("verified", "unproven") or record.newer:
        raise UserError(
            f"loop '{record.name}' has no verified result",
            code="E-ATTEST-UNVERIFIED",
            why=f"it is {record.loop.outcome or record.loop.phase}; only results are attested",
            next=f"ralph status {record.name}",
        )
    path = path_of(state, record.name)
    known = {keyid: one.key for keyid, one in trust.trusted_keys(env).items()}
    with suppress(FileNotFoundError, BadEnvelope):
        there = read_envelope(path)
        if _subjects(there.statement) == _subjects_of(record) and signed_by(there, known):
            return path
    made = statement(record.loop, facts_of(state, record, env))
    sealed = seal(encode(made), trust.signing_key(env, now))
    try:
        write_whole(path, sealed, 0o600)
    except OSError as error:
        raise unusable_error(error, state.attestations) from error
    return path


def load(state: State, name: str) -> Sealed | None:
    """The envelope of a loop, if it was attested."""
    try:
        return read_envelope(path_of(state, name))
    except FileNotFoundError:
        return None


def envelopes_of_tree(state: State, tree: str) -> Iterator[Sealed]:
    """Every envelope here that speaks of this tree, newest first."""
    try:
        names = [name for name in os.listdir(state.attestations) if name.endswith(_SUFFIX)]
    except FileNotFoundError:
        return
    paths = [os.path.join(state.attestations, name) for name in names]
    for path in sorted(paths, key=lambda place: -os.lstat(place).st_mtime):
        with suppress(FileNotFoundError, BadEnvelope):
            found = read_envelope(path)
            if found.statement.tree == tree:
                yield found


def read_envelope(path: str) -> Sealed:
    """FileNotFoundError when it is not there, BadEnvelope when it cannot be read as one."""
    from ralph.shell.attestation.envelope import MAX_BYTES

    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BadEnvelope(f"it cannot be opened: {error.strerror}") from error
    with open(handle, "rb") as file:
        try:
            data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise BadEnvelope(f"it cannot be read: {error.strerror}") from error
    return unseal(data)


def facts_of(state: State, record: Record, env: Mapping[str, str]) -> StatementFacts:
    """What the statement needs beside the loop: from the journal and the evidence, not from this moment."""
    loop = record.loop
    ended = next(entry for entry in reversed(record.entries) if isinstance(entry.event, e.LoopEnded))
    stint = [
        entry.event
        for entry in record.entries
        if isinstance(entry.event, e.StintStarted) and entry.row.seq < ended.row.seq
    ][-1]
    verdicts = (*loop.proof.baseline.values(), *loop.proof.finals.values())
    return StatementFacts(
        started=stamp(record.started),
        finished=stamp(ended.row.at / 1000),
        version=stint.version,
        words=stint.words,
        inventories=_inventories(state, verdicts),
        variables=_variables(state, verdicts),
        platform=f"{sys.platform}-{os.uname().machine}",
        places=places(state, loop.sealed.repo, env),
        secrets=secret_values(env),
    )


def places(state: State, repo: str, env: Mapping[str, str]) -> dict[str, str]:
    """Where things stand on this machine: what a statement must not say."""
    home = os.path.normpath(env.get("HOME") or "/")
    return {"repository": repo, "state": state.root, "config": config_dir(env), "home": home}


def stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def seconds_of(text: str) -> float:
    """The time behind a stamp; ValueError for anything else."""
    import calendar

    return float(calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")))


def _inventories(state: State, verdicts: tuple[Verdict, ...]) -> dict[str, str]:
    found = {}
    for verdict in verdicts:
        if verdict.reading:
            with suppress(JournalError):  # cleaned away: then it is unknown
                reading = msgspec.json.decode(blobs.get(state.blobs, verdict.reading), type=Reading)
                found[verdict.reading] = inventory(reading.tests)
    return found


def _variables(state: State, verdicts: tuple[Verdict, ...]) -> tuple[str, ...]:
    names: set[str] = set()
    for verdict in verdicts:
        if verdict.evidence:
            with suppress(JournalError):
                data = blobs.get(state.blobs, verdict.evidence)
                names |= set(msgspec.json.decode(data, type=_Evidence).environment)
    return tuple(sorted(names))


def _subjects(made: Statement) -> tuple[str, str, str]:
    return made.predicate.loop, made.tree, made.commit


def _subjects_of(record: Record) -> tuple[str, str, str]:
    loop = record.loop
    return record.name, loop.work.tree, loop.landing.result or loop.sealed.base.commit
