"""Envelopes as git notes in `refs/notes/ralph`, on request: on the result's tree and on its commit.

The note on the tree is what survives a squash or a rebase, the one on the commit is what `git log
--notes=ralph` shows. One envelope a line. A fetched note is foreign: it is bounded and read as such.
"""

from __future__ import annotations

from contextlib import suppress

from ralph.shell.attestation.envelope import BadEnvelope, Sealed, unseal
from ralph.shell.git.project import Project, user_call

REF = "refs/notes/ralph"
MAX_BYTES = 32 << 20
_MAX_LINES = 100
_IDENTITY = ("-c", "user.name=Ralph", "-c", "user.email=ralph@localhost")


def write_notes(project: Project, sealed: Sealed) -> tuple[str, ...]:
    """The objects that carry the envelope now. Notes of other loops on them stay."""
    line = sealed.data.strip()
    objects = tuple(dict.fromkeys((sealed.statement.tree, sealed.statement.commit)))
    for oid in objects:
        before = _note(project, oid)
        if line in before.splitlines():
            continue
        text = b"\n".join([*(row for row in before.splitlines() if row), line]) + b"\n"
        args = [*_IDENTITY, "notes", f"--ref={REF}", "add", "-f", "-F", "-", oid]
        user_call(project, args, stdin=text)
    return objects


def read_notes(project: Project, *objects: str) -> list[Sealed]:
    """Every envelope in the notes of these objects; lines that are none are passed over."""
    found: list[Sealed] = []
    for oid in objects:
        for line in _note(project, oid).splitlines()[:_MAX_LINES]:
            with suppress(BadEnvelope):
                found.append(unseal(line))
    return found


def _note(project: Project, oid: str) -> bytes:
    listed = user_call(project, ["notes", f"--ref={REF}", "list", oid], ok=None)
    blob = listed.out.decode("ascii", "replace").strip()
    if listed.code or not blob:
        return b""
    size = user_call(project, ["cat-file", "-s", blob], ok=None).out.strip()
    if not size.isdigit() or int(size) > MAX_BYTES:
        return b""
    return user_call(project, ["cat-file", "blob", blob], ok=None).out
