"""Bytes kept by their SHA-256: evidence, transcripts and whatever is too large for a journal row.

A blob is whole or absent: it is written aside, synced, then renamed. What a hash stands for, and which
blobs are still needed, is known to those who keep the hash, not here. What is long stands there as gzip: the
reports of test runners shrink to a tenth. The hash is of the bytes themselves, and so proves which it is.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ralph.errors import Bug, JournalError, SetupError, machine_error
from ralph.shell.state.directory import unusable_error

_HASH = re.compile(r"[0-9a-f]{64}")
_CHUNK = 1024 * 1024
_SHORT = 512  # bytes that are kept as they are
_GZIP = 31  # zlib's word for it; without a time, so the same bytes are the same file
_ASIDE = ".aside-"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def put(directory: str, data: bytes) -> str:
    """Store `data`, durably, and return its hash; storing again is free, and mends a damaged copy."""
    digest = hashlib.sha256(data).hexdigest()
    if not _whole(directory, digest):
        _store(directory, iter((data,)))
    return digest


def put_file(directory: str, source: str) -> str:
    """Store what a regular file holds, without taking it into memory."""
    try:
        # Not blocking, not following: an agent may have put a pipe or a link where a file was expected.
        fd = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(0, "not a regular file")
            return _store(directory, iter(lambda: file.read(_CHUNK), b""))
    except OSError as exc:
        raise machine_error(exc, source) or SetupError(
            f"cannot store '{source}': {exc.strerror}", code="E-BLOB-SOURCE", next="ralph doctor"
        ) from exc


def get(directory: str, digest: str) -> bytes:
    """The bytes behind a hash, proven to be those."""
    place = path(directory, digest)
    try:
        with _shelf(directory, digest, create=False) as shelf, open(_open(shelf, digest), "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise JournalError(
            f"blob '{digest}' is missing", code="E-BLOB-MISSING", at=place, next="ralph doctor"
        ) from None
    except OSError as exc:
        raise machine_error(exc, place) or JournalError(
            f"blob '{digest}' cannot be read: {exc.strerror}",
            code="E-BLOB-DAMAGED",
            at=place,
            next="ralph doctor",
        ) from exc
    with suppress(zlib.error):
        if hashlib.sha256(plain := zlib.decompress(data, _GZIP)).hexdigest() == digest:
            return plain
    if hashlib.sha256(data).hexdigest() != digest:
        raise JournalError(
            f"blob '{digest}' is damaged",
            code="E-BLOB-DAMAGED",
            at=place,
            why=f"its {len(data)} bytes have another hash",
            next="ralph doctor",
        )
    return data


def path(directory: str, digest: str) -> str:
    """Where a blob stands; for reading only."""
    if not _HASH.fullmatch(digest):
        raise Bug(f"'{digest[:80]}' is not the hash of a blob", code="E-BLOB-NAME")
    return os.path.join(directory, digest[:2], digest)


def _whole(directory: str, digest: str) -> bool:
    try:
        get(directory, digest)
    except JournalError:
        return False
    return True


def _store(directory: str, chunks: Iterator[bytes]) -> str:
    try:
        root = os.open(directory, _DIRECTORY)
    except OSError as exc:
        raise unusable_error(exc, directory) from exc
    aside = _ASIDE + secrets.token_hex(16)
    try:
        digest = _write(root, aside, chunks)
        with _shelf(directory, digest, create=True) as shelf:
            os.replace(aside, digest, src_dir_fd=root, dst_dir_fd=shelf)
            os.fsync(shelf)
    except BaseException as exc:
        with suppress(OSError):
            os.unlink(aside, dir_fd=root)
        if isinstance(exc, OSError):
            raise unusable_error(exc, directory) from exc
        raise
    finally:
        os.close(root)
    return digest


def _write(root: int, name: str, chunks: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    # Buffered: it goes on after a short write, which a nearly full disk answers without an error.
    with open(os.open(name, flags, 0o600, dir_fd=root), "wb") as file:
        packing = None
        for number, chunk in enumerate(chunks):
            digest.update(chunk)
            if number == 0 and len(chunk) > _SHORT:
                packing = zlib.compressobj(wbits=_GZIP)
            file.write(packing.compress(chunk) if packing else chunk)
        file.write(packing.flush() if packing else b"")
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


@contextmanager
def _shelf(directory: str, digest: str, *, create: bool) -> Iterator[int]:
    """The directory a blob stands in, opened without following links on the way."""
    name = os.path.basename(os.path.dirname(path(directory, digest)))
    root = os.open(directory, _DIRECTORY)
    try:
        if create:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=root)
                os.fsync(root)
        shelf = os.open(name, _DIRECTORY, dir_fd=root)
    finally:
        os.close(root)
    try:
        yield shelf
    finally:
        os.close(shelf)


def _open(shelf: int, digest: str) -> int:
    fd = os.open(digest, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=shelf)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(0, "not a regular file")
    return fd
