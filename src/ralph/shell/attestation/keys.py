"""Signing keys: Ralph's own Ed25519 key, made on first use, or the user's; and reading keys of others.

`keys/` in the user's config directory holds `signing.pem` (0600) and what `trust` keeps there. A private
key is never printed, journaled or copied; at sandbox levels without a box an agent runs as the user and
could read it, which docs/verify.md says. Signatures are made and checked in `envelope`.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from ralph.errors import SetupError, UserError
from ralph.shell.state.directory import config_dir

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

VARIABLE = "RALPH_SIGNING_KEY"
MAX_BYTES = 64_000  # bytes of a key file
_SIGNING = "signing.pem"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class Public(msgspec.Struct, frozen=True):
    """A public key: its id is the SHA-256 of its SubjectPublicKeyInfo in DER."""

    id: str
    pem: str

    @property
    def short(self) -> str:
        return self.id[:16]


class Signer:
    """A private key ready for use. Not a struct, so that nothing can encode it."""

    def __init__(self, private: Ed25519PrivateKey, name: str, *, own: bool) -> None:
        self.private = private
        self.public = public_key(private.public_key())
        self.name = name
        self.own = own  # Ralph's, not one the user brought

    def __repr__(self) -> str:
        return f"Signer({self.public.short})"


def keys_dir(env: Mapping[str, str]) -> str:
    return os.path.join(config_dir(env), "keys")


@contextmanager
def open_folder(env: Mapping[str, str], *, create: bool) -> Iterator[int | None]:
    """The folder of keys, checked and locked; None when there is none and none is to be made."""
    path = keys_dir(env)
    try:
        if create:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
        handle = os.open(path, _DIRECTORY)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise unusable_error(path, error.strerror or "cannot be opened") from error
    try:
        _refuse_open_to_others(path, os.fstat(handle))
        fcntl.flock(handle, fcntl.LOCK_EX)  # two first uses at once must end with one key
        yield handle
    finally:
        os.close(handle)


def signer(env: Mapping[str, str]) -> Signer:
    """The key to sign with: the one that RALPH_SIGNING_KEY names, else Ralph's own, made now if need be."""
    if env.get(VARIABLE):
        return _users(env[VARIABLE])
    with open_folder(env, create=True) as folder:
        assert folder is not None
        return own_key(env, folder) or make_key(folder)


def own_key(env: Mapping[str, str], folder: int) -> Signer | None:
    """Ralph's own key, if there is one."""
    path = os.path.join(keys_dir(env), _SIGNING)
    data = read_file(folder, _SIGNING, path, private=True)
    return None if data is None else Signer(_private(data, path), "this machine", own=True)


def make_key(folder: int) -> Signer:
    """A new key of Ralph's own in the place of the one before, whose private half is gone after this."""
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    made = Ed25519PrivateKey.generate()
    write_file(folder, _SIGNING, made.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()))
    return Signer(made, "this machine", own=True)


def public_key(key: Ed25519PublicKey) -> Public:
    from hashlib import sha256

    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    form = PublicFormat.SubjectPublicKeyInfo
    return Public(
        id=sha256(key.public_bytes(Encoding.DER, form)).hexdigest(),
        pem=key.public_bytes(Encoding.PEM, form).decode("ascii"),
    )


def load_public(data: bytes, at: str) -> Public:
    """A public key from PEM or from the one line that OpenSSH writes; anything else is refused."""
    return public_key(parse_public(data, at))


def parse_public(data: bytes, at: str) -> Ed25519PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    data = data.strip()
    if b"PRIVATE KEY" in data[:200]:
        raise UserError(
            f"'{at}' is a private key, expected a public one",
            code="E-KEY-PRIVATE",
            why="a private key is given to nobody; its public half is enough to check signatures",
            next="ralph keys show",
        )
    try:
        found = s.load_ssh_public_key(data) if data.startswith(b"ssh-") else s.load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        found = None
    if not isinstance(found, Ed25519PublicKey):
        raise UserError(
            f"'{at}' is not an Ed25519 public key",
            code="E-KEY-FORMAT",
            why="expected PEM (BEGIN PUBLIC KEY) or one line of OpenSSH (ssh-ed25519 …)",
            next="ralph keys show",
        )
    return found


def read_file(folder: int, name: str, path: str, *, private: bool) -> bytes | None:
    """A file of the folder of keys, never through a link; None when it is not there."""
    try:
        handle = os.open(name, _READ | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable_error(path, error.strerror or "cannot be opened") from error
    return _read(handle, path, private=private)


def write_file(folder: int, name: str, data: bytes) -> None:
    """All of it or nothing, readable by the user alone."""
    aside = f".{name}.{os.getpid()}.aside"
    try:
        with suppress(FileNotFoundError):
            os.unlink(aside, dir_fd=folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(aside, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except OSError as error:
        raise unusable_error(name, error.strerror or "cannot be written") from error


def unusable_error(path: str, why: str) -> SetupError:
    import shlex

    return SetupError(
        f"'{path}' cannot be used", code="E-KEYS", at=path, why=why, next=f"ls -ld {shlex.quote(path)}"
    )


def _users(path: str) -> Signer:
    """The key the user brought. Links are followed, as ssh does; who else may read it is not forgiven."""
    if not os.path.isabs(path):
        raise UserError(
            f"'{VARIABLE}' is '{path}', expected an absolute path",
            code="E-KEY-RELATIVE",
            why="a relative one would mean another file in each folder",
            next=f'export {VARIABLE}="$PWD/{path}"',
        )
    try:
        handle = os.open(path, _READ)
    except OSError as error:
        raise unusable_error(path, error.strerror or "cannot be opened") from error
    return Signer(_private(_read(handle, path, private=True), path), os.path.basename(path), own=False)


def _read(handle: int, path: str, *, private: bool) -> bytes:
    with open(handle, "rb") as file:
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode):
            raise unusable_error(path, "it is not a regular file")
        if private:
            _refuse_open_to_others(path, seen)
        data = file.read(MAX_BYTES + 1) if private else file.read()
    if private and len(data) > MAX_BYTES:
        raise unusable_error(path, f"it is larger than {MAX_BYTES} bytes, so it is not a key")
    return data


def _refuse_open_to_others(path: str, seen: os.stat_result) -> None:
    if seen.st_uid not in (os.geteuid(), 0):
        raise unusable_error(path, f"it belongs to user {seen.st_uid}, you are {os.geteuid()}")
    if seen.st_mode & 0o077:
        raise SetupError(
            f"'{path}' can be read or changed by others (mode {stat.S_IMODE(seen.st_mode):04o})",
            code="E-KEYS-MODE",
            at=path,
            why="anyone who can read a signing key can sign in your name",
            next=f"chmod go= '{path}'",
        )


def _private(data: bytes, path: str) -> Ed25519PrivateKey:
    """The errors of the library are not passed on: what they quote is not ours to print."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    load = s.load_ssh_private_key if b"OPENSSH PRIVATE KEY" in data[:64] else s.load_pem_private_key
    why = "expected an Ed25519 key as PEM (PKCS#8) or in OpenSSH's format"
    found: object = None
    try:
        found = load(data, None)
    except TypeError:
        why = "it is locked by a passphrase, and a loop that ends at night has nobody to ask for it"
    except (ValueError, UnsupportedAlgorithm):
        found = None
    if not isinstance(found, Ed25519PrivateKey):
        raise UserError(
            f"the signing key '{path}' cannot be used",
            code="E-KEY-FORMAT",
            at=path,
            why=why,
            next=f"ssh-keygen -t ed25519 -N '' -f ~/.ssh/ralph && export {VARIABLE}=~/.ssh/ralph",
        )
    return found
