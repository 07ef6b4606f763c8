"""Bundles: all that a third person needs to check a proof, in one plain tar file.

    manifest.json       every other member with its size and SHA-256
    envelope.dsse.json  the signed statement
    key.pub.pem         the public key it was signed with: never trusted because it is here
    source.bundle       base and result, as a git bundle
    evidence/<sha256>   what the gates printed and reported, raw
    readings/<sha256>   every test and finding that was read from it

The same loop gives the same bytes. Reading one is hostile input: only these names, only plain files, none
twice, bounded sizes, no compression.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import IO

import msgspec

from ralph.agents._kit.environ import secret_values
from ralph.core.attestation.statement import Statement
from ralph.errors import JournalError, SetupError, UserError
from ralph.shell.attestation import bundle_source, make, trust
from ralph.shell.attestation.keys import Public, load_public
from ralph.shell.git.project import find_project
from ralph.shell.journal.entries import Record
from ralph.shell.state import blobs
from ralph.shell.state.directory import State

MANIFEST, ENVELOPE, KEY, SOURCE = "manifest.json", "envelope.dsse.json", "key.pub.pem", "source.bundle"
KIND = "ralph-bundle"
MAX_BYTES = {MANIFEST: 16 << 20, ENVELOPE: 8 << 20, KEY: 64_000, SOURCE: 2 << 30}
MAX_BLOB_BYTES = 256 << 20
MAX_MEMBERS = 10_000
_NAME = re.compile(r"manifest\.json|envelope\.dsse\.json|key\.pub\.pem|source\.bundle")
_BLOB = re.compile(r"(?:evidence|readings)/([0-9a-f]{64})")
_CHUNK = 1 << 20


class BadBundle(ValueError):  # noqa: N818
    """It is not a bundle that may be read; the message says why."""


class Member(msgspec.Struct, frozen=True):
    sha256: str
    size: int


class BundleManifest(msgspec.Struct, frozen=True):
    kind: str
    v: int
    loop: str
    members: dict[str, Member]


class Written(msgspec.Struct, frozen=True):
    path: str
    size: int
    members: int
    left_out: tuple[str, ...]  # sentences


def write_bundle(state: State, record: Record, env: Mapping[str, str], out: str, now: float) -> Written:
    """Export a verified loop; it is attested now if that has not happened yet."""
    sealed = make.read_envelope(make.attest(state, record, env, now))
    known = trust.trusted_keys(env)
    key = next(known[keyid].key for keyid in sealed.signers if keyid in known)
    made = sealed.statement
    small, left_out = _blobs(state, made, env)
    small |= {ENVELOPE: sealed.data, KEY: key.pem.encode()}
    order = record.loop.sealed
    with tempfile.TemporaryDirectory(prefix="ralph-bundle-") as scratch:
        packed = os.path.join(scratch, SOURCE)
        bundle_source.pack(find_project(order.repo), order.base.commit, made.commit, packed)
        try:
            size = _write(out, record.name, small, packed)
        except OSError as error:
            raise SetupError(
                f"cannot write '{out}': {error.strerror}",
                code="E-BUNDLE-WRITE",
                next=f"ralph bundle {record.name} -o ~/{record.name}.tar",
            ) from error
    return Written(os.path.abspath(out), size, len(small) + 2, left_out)


def _blobs(state: State, made: Statement, env: Mapping[str, str]) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Evidence and readings of the verdicts, without what must not be told."""
    withheld = {str(gate["name"]) for gate in made.predicate.gates if gate["withheld"]}
    secrets = [value.encode() for value in secret_values(env)]
    found: dict[str, bytes] = {}
    left_out = [f"{name}: its evidence, because the gate is withheld" for name in sorted(withheld)]
    for said in (*made.predicate.verdicts, *made.predicate.baseline):
        if said.gate in withheld:
            continue
        wanted = [("evidence", said.evidence), ("readings", said.reading)]
        with suppress(JournalError, msgspec.DecodeError):
            stored = msgspec.json.decode(blobs.get(state.blobs, said.evidence)) if said.evidence else {}
            wanted += [("evidence", stored.get(part) or "") for part in ("output", "report")]
        for shelf, digest in wanted:
            if not digest:
                continue
            try:
                data = blobs.get(state.blobs, digest)
            except JournalError:
                left_out.append(f"{said.gate}: evidence {digest[:12]}, which is no longer kept here")
                continue
            if any(secret in data for secret in secrets):
                left_out.append(
                    f"{said.gate}: evidence {digest[:12]}, which holds a secret of your environment"
                )
                continue
            found[f"{shelf}/{digest}"] = data
    return found, tuple(dict.fromkeys(left_out))


def _write(out: str, loop: str, small: dict[str, bytes], packed: str) -> int:
    with open(packed, "rb") as pack:
        digest = hashlib.file_digest(pack, "sha256").hexdigest()
    members = {name: Member(hashlib.sha256(data).hexdigest(), len(data)) for name, data in small.items()}
    members[SOURCE] = Member(digest, os.path.getsize(packed))
    manifest = msgspec.json.encode(BundleManifest(KIND, 1, loop, members), order="deterministic")
    aside = f"{out}.{os.getpid()}.aside"
    try:
        with (
            open(aside, "wb") as file,
            tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar,
        ):
            for name, data in ((MANIFEST, manifest), *sorted(small.items())):
                _add(tar, name, len(data), io.BytesIO(data))
            with open(packed, "rb") as rest:
                _add(tar, SOURCE, members[SOURCE].size, rest)
        os.replace(aside, out)
    except BaseException:
        with suppress(OSError):
            os.unlink(aside)
        raise
    return os.path.getsize(out)


def _add(tar: tarfile.TarFile, name: str, size: int, file: IO[bytes]) -> None:
    entry = tarfile.TarInfo(name)  # everything else of it is zero: no owner, no time
    entry.size, entry.mode = size, 0o644
    tar.addfile(entry, file)


def unpack(path: str, into: str) -> BundleManifest:
    """Take a bundle apart into the empty folder `into`; BadBundle before anything bad is written."""
    seen: dict[str, Member] = {}
    try:
        with open(path, "rb") as file, tarfile.open(fileobj=file, mode="r:") as tar:
            for entry in _entries(tar):
                if entry.name in seen:
                    raise BadBundle(f"it holds '{entry.name}' twice")
                seen[entry.name] = _extract(tar, entry, os.path.join(into, entry.name))
    except FileNotFoundError:
        raise
    except (tarfile.TarError, OSError, EOFError, OverflowError, UnicodeError) as error:
        raise BadBundle(f"it cannot be read as a plain tar file: {error}") from error
    if MANIFEST not in seen:
        raise BadBundle(f"it has no {MANIFEST}")
    with open(os.path.join(into, MANIFEST), "rb") as file:
        manifest = _manifest(file.read())
    seen.pop(MANIFEST)
    for name in sorted(seen.keys() | manifest.members.keys()):
        if seen.get(name) != manifest.members.get(name):
            raise BadBundle(f"'{name}' is not what the manifest says it is")
        match = _BLOB.fullmatch(name)
        if match and seen[name].sha256 != match.group(1):
            raise BadBundle(f"'{name}' does not have the hash it is named by")
    missing = [name for name in (ENVELOPE, KEY, SOURCE) if name not in seen]
    if missing:
        raise BadBundle(f"it has no {missing[0]}")
    return manifest


def read_key(path: str) -> Public:
    """A public key from a file: PEM, OpenSSH, or the one inside a bundle."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES[KEY])
        if tarfile.is_tarfile(path):
            with tempfile.TemporaryDirectory(prefix="ralph-key-") as scratch:
                unpack(path, scratch)
                with open(os.path.join(scratch, KEY), "rb") as file:
                    data = file.read()
    except OSError as error:
        raise UserError(
            f"cannot read '{path}': {error.strerror}", code="E-KEY-FILE", next="ralph keys list"
        ) from error
    except BadBundle as bad:
        raise UserError(
            f"'{path}' is not a bundle that may be read",
            code="E-BUNDLE-BAD",
            why=str(bad),
            next="ralph keys list",
        ) from bad
    return load_public(data, path)


def _manifest(data: bytes) -> BundleManifest:
    try:
        found = msgspec.json.decode(data, type=BundleManifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadBundle(f"its manifest cannot be read: {error}") from error
    if (found.kind, found.v) != (KIND, 1):
        raise BadBundle(f"it is a '{found.kind[:40]}' of version {found.v}, expected {KIND} version 1")
    return found


def _entries(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    for number, entry in enumerate(tar):
        shown = repr(entry.name[:100])
        if number >= MAX_MEMBERS:
            raise BadBundle(f"it has more than {MAX_MEMBERS} members")
        if entry.name.startswith("/") or ".." in entry.name.split("/"):
            raise BadBundle(f"it holds a path that leads out of it: {shown}")
        if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or entry.sparse or entry.pax_headers:
            raise BadBundle(f"it holds something that is not a plain file: {shown}")
        if not _NAME.fullmatch(entry.name) and not _BLOB.fullmatch(entry.name):
            raise BadBundle(f"it holds a name that no bundle has: {shown}")
        if not 0 <= entry.size <= MAX_BYTES.get(entry.name, MAX_BLOB_BYTES):
            raise BadBundle(f"{shown} is too large: {entry.size} bytes")
        yield entry


def _extract(tar: tarfile.TarFile, entry: tarfile.TarInfo, target: str) -> Member:
    """By our own hand: nothing but the bytes of a member reaches the disk."""
    reader = tar.extractfile(entry)
    assert reader is not None
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    digest = hashlib.sha256()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(target, flags, 0o600), "wb") as file:
        while chunk := reader.read(_CHUNK):
            digest.update(chunk)
            file.write(chunk)
    return Member(digest.hexdigest(), entry.size)
