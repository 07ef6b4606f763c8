"""Which proof is meant: by loop, by commit, or by a bundle that somebody sent; and what it is held against.

Finding says nothing about believing: everything here is unchecked until `verify` has looked at it.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

import msgspec

from ralph.errors import JournalError, RalphError, UserError
from ralph.shell.attestation import bundle, make
from ralph.shell.attestation.bundle import BadBundle
from ralph.shell.attestation.envelope import BadEnvelope, Sealed, unseal
from ralph.shell.attestation.git_notes import read_notes
from ralph.shell.attestation.keys import Public, load_public
from ralph.shell.git.project import Project, find_object, find_project
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.record import Record, find_loop, load, project_top
from ralph.shell.state import blobs
from ralph.shell.state.directory import State

_HEX = re.compile(r"[0-9a-f]{7,64}")


class FoundProof(msgspec.Struct, frozen=True, kw_only=True):
    kind: str  # loop, commit, bundle
    words: str  # what it is, for people
    candidates: tuple[Sealed, ...] = ()
    trouble: str = ""  # why there is none
    project: Project | None = None  # None for a bundle: its source is unpacked once its signature holds
    tree: str = ""  # what it is held against; "" for a bundle
    commit: str = ""
    record: Record | None = None
    folder: str = ""  # where a bundle was taken apart
    offered: Public | None = None  # the key that came with it: it may explain, it may not convince


def find_proof(target: str, proof: str, *, state: State, cwd: str, scratch: str) -> FoundProof:
    """`proof` is an envelope or a bundle to hold the target against, instead of what is known here."""
    looks_like_path = os.sep in target or target.endswith(".tar")
    if not proof and (
        os.path.isfile(os.path.join(cwd, target)) and (looks_like_path or not _resolves(cwd, target))
    ):
        return _of_bundle(os.path.join(cwd, target), scratch)
    found = _of_loop(state, target, cwd) if not _is_commit(cwd, target) else None
    if found is None:
        found = _of_commit(state, target, cwd)
    return found if not proof else _with_proof(found, os.path.join(cwd, proof), scratch)


def evidence(found: FoundProof, state: State, digest: str) -> bytes | None:
    """The bytes behind a hash of the statement, from the bundle or from what is kept here."""
    from hashlib import sha256

    if not digest:
        return None
    if found.folder:
        for shelf in ("evidence", "readings"):
            with suppress(FileNotFoundError), open(os.path.join(found.folder, shelf, digest), "rb") as file:
                data = file.read()
                return data if sha256(data).hexdigest() == digest else None
    try:
        return blobs.get(state.blobs, digest)
    except JournalError:
        return None


def record_of(state: State, name: str) -> Record | None:
    """The record of a loop that was driven here, if it was."""
    with suppress(RalphError), read_journal(state.root) as reader:
        return load(reader, name)
    return None


def _of_bundle(path: str, scratch: str) -> FoundProof:
    words = f"bundle '{os.path.basename(path)}'"
    try:
        folder, sealed, offered = _unpack_bundle(path, scratch)
    except BadBundle as bad:
        return FoundProof(kind="bundle", words=words, trouble=str(bad))
    return FoundProof(kind="bundle", words=words, candidates=(sealed,), folder=folder, offered=offered)


def _unpack_bundle(path: str, scratch: str) -> tuple[str, Sealed, Public]:
    folder = os.path.join(scratch, "bundle")
    os.mkdir(folder, 0o700)
    bundle.unpack(path, folder)
    with open(os.path.join(folder, bundle.ENVELOPE), "rb") as file:
        data = file.read()
    with open(os.path.join(folder, bundle.KEY), "rb") as file:
        key = file.read()
    try:
        return folder, unseal(data), load_public(key, bundle.KEY)
    except BadEnvelope as bad:
        raise BadBundle(f"its envelope cannot be read: {bad}") from bad
    except UserError as bad:
        raise BadBundle(bad.what) from bad


def _with_proof(found: FoundProof, path: str, scratch: str) -> FoundProof:
    """The same target, held against the envelope or bundle in a file."""
    replace = msgspec.structs.replace
    try:
        with open(path, "rb") as file:
            head = file.read(1)
        if head == b"{":
            return replace(found, candidates=(make.read_envelope(os.path.realpath(path)),), trouble="")
        folder, sealed, offered = _unpack_bundle(path, scratch)
    except OSError as error:
        raise UserError(
            f"cannot read '{path}': {error.strerror}", code="E-PROOF-FILE", next="ralph verify --help"
        ) from error
    except (BadBundle, BadEnvelope) as bad:
        return replace(found, candidates=(), trouble=str(bad))
    return replace(found, candidates=(sealed,), trouble="", folder=folder, offered=offered)


def _of_loop(state: State, target: str, cwd: str) -> FoundProof | None:
    with suppress(UserError), read_journal(state.root) as reader:
        name = find_loop(reader, target, project_top(cwd))
        record = load(reader, name)
        return _loop(state, name, record)
    return None


def _loop(state: State, name: str, record: Record) -> FoundProof:
    loop = record.loop
    project = find_project(loop.sealed.repo)
    trouble = ""
    candidates: tuple[Sealed, ...] = ()
    try:
        sealed = make.load(state, name)
        candidates = (sealed,) if sealed else ()
        if sealed is None:
            why = f"it is {loop.outcome or loop.phase}"
            if loop.outcome in ("verified", "unproven"):
                why = f"`ralph bundle {name}` makes one"
            elif loop.outcome == "satisfied":
                why = "there was nothing to do, and Ralph signs only what it brought about"
            trouble = f"loop '{name}' has no attestation: {why}"
    except BadEnvelope as bad:
        trouble = f"its attestation cannot be read: {bad}"
    commit = loop.landing.result or loop.sealed.base.commit
    return FoundProof(
        kind="loop",
        words=f"loop '{name}'",
        candidates=candidates,
        trouble=trouble,
        project=project,
        tree=find_object(project, f"{commit}^{{tree}}"),
        commit=commit,
        record=record,
    )


def _of_commit(state: State, target: str, cwd: str) -> FoundProof:
    try:
        project = find_project(cwd)
    except UserError as error:
        raise _unknown(target, "and this is not a repository") from error
    commit = "" if target.startswith("-") else find_object(project, f"{target}^{{commit}}")
    if not commit:
        raise _unknown(target, f"nor a commit of '{project.top}'")
    tree = find_object(project, f"{commit}^{{tree}}")
    seen = {
        sealed.data: sealed
        for sealed in (*make.envelopes_of_tree(state, tree), *read_notes(project, tree, commit))
    }
    return FoundProof(
        kind="commit",
        words=f"commit {commit[:12]}",
        candidates=tuple(seen.values()),
        trouble=""
        if seen
        else f"there is no attestation for its tree {tree[:12]}, here or in refs/notes/ralph",
        project=project,
        tree=tree,
        commit=commit,
    )


def _unknown(target: str, more: str) -> UserError:
    return UserError(
        f"'{target[:100]}' is not a bundle or a loop, {more}",
        code="E-VERIFY-TARGET",
        why="expected a file made by `ralph bundle`, the name of a loop, or a commit",
        next="ralph status --all",
    )


def _is_commit(cwd: str, target: str) -> bool:
    """Hexadecimal words are commits first: a loop may happen to begin like one."""
    return _HEX.fullmatch(target) is not None and _resolves(cwd, target)


def _resolves(cwd: str, target: str) -> bool:
    try:
        return bool(not target.startswith("-") and find_object(find_project(cwd), f"{target}^{{commit}}"))
    except RalphError:
        return False
