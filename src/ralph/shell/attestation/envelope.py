"""DSSE envelopes: a statement and the signatures over it, made and checked by securesystemslib.

Reading one is hostile input: it is bounded and strict, and says nothing about trust. Which keys count is
the caller's word (`trust`); the key id inside an envelope is a hint and never more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import msgspec

from ralph.core.attestation.statement import PAYLOAD_TYPE, Statement, parse

if TYPE_CHECKING:
    from securesystemslib.dsse import Envelope as LibraryEnvelope

    from ralph.shell.attestation.keys import Public, Signer

MAX_BYTES = 8 << 20  # bytes of an envelope
_MAX_SIGNATURES = 8


class BadEnvelope(ValueError):  # noqa: N818
    """It cannot be read as one of ours; the message says why."""


class _Signature(msgspec.Struct, frozen=True):
    keyid: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    sig: Annotated[str, msgspec.Meta(max_length=1000)]


class _Envelope(msgspec.Struct, frozen=True, rename={"payload_type": "payloadType"}):
    payload: str
    payload_type: str
    signatures: Annotated[tuple[_Signature, ...], msgspec.Meta(min_length=1, max_length=_MAX_SIGNATURES)]


class Sealed(msgspec.Struct, frozen=True):
    """An envelope that could be read. Nobody has checked its signatures yet."""

    data: bytes
    payload: bytes
    statement: Statement
    signers: tuple[str, ...]  # key ids, as the envelope claims


def seal(payload: bytes, signer: Signer) -> bytes:
    """The envelope with this payload, as one line of JSON."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner, SSlibKey  # type: ignore[attr-defined]

    public = SSlibKey.from_crypto(signer.private.public_key(), keyid=signer.public.id)
    made = Envelope(payload, PAYLOAD_TYPE, {})
    made.sign(CryptoSigner(signer.private, public))
    return msgspec.json.encode(made.to_dict()) + b"\n"


def unseal(data: bytes) -> Sealed:
    """What an envelope says, BadEnvelope when it says nothing that we understand."""
    library = _library(data)
    if library.payload_type != PAYLOAD_TYPE:
        raise BadEnvelope(f"its payload is no in-toto statement but '{library.payload_type[:80]}'")
    try:
        statement = parse(library.payload)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadEnvelope(f"its statement is not one of ours: {error}") from error
    return Sealed(data, library.payload, statement, tuple(library.signatures))


def signed_by(sealed: Sealed, keys: Mapping[str, Public]) -> Public | None:
    """The first of these keys whose signature over exactly this payload holds."""
    from securesystemslib.exceptions import VerificationError
    from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

    from ralph.shell.attestation.keys import parse_public

    library = _library(sealed.data)
    for keyid in sealed.signers:
        if keyid not in keys:
            continue
        public = SSlibKey.from_crypto(parse_public(keys[keyid].pem.encode(), keyid), keyid=keyid)
        try:
            library.verify([public], 1)
        except VerificationError:
            continue
        return keys[keyid]
    return None


def _library(data: bytes) -> LibraryEnvelope:
    import binascii

    from securesystemslib.dsse import Envelope

    if len(data) > MAX_BYTES:
        raise BadEnvelope(f"it is larger than {MAX_BYTES} bytes")
    try:
        plain = msgspec.json.decode(data, type=_Envelope)
        return Envelope.from_dict(msgspec.to_builtins(plain))
    except (msgspec.DecodeError, UnicodeDecodeError, binascii.Error, ValueError, RecursionError) as error:
        raise BadEnvelope(f"it is not a DSSE envelope: {error}") from error
