#!/usr/bin/env python3
"""Check a bundle made by `ralph bundle` without Ralph: its members, its signature and its digests.

    python3 verify_bundle.py proof.tar --key signer.pem

Needs Python 3.11 and the package `cryptography`. It runs no command of the bundle and unpacks nothing. What
it does not do: run the gates again, or compare the source with your repository; `ralph verify` does both.
Exit code 0: everything holds. 1: something does not, or no trusted key was given; the last line says what.
2: used wrongly.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import sys
import tarfile
from typing import Any, NoReturn

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
PLAIN = ("manifest.json", "envelope.dsse.json", "key.pub.pem", "source.bundle")
BLOB = re.compile(r"(?:evidence|readings)/([0-9a-f]{64})")
LARGEST = 2 << 30


def refuse(why: str) -> NoReturn:
    print(f"NOT VERIFIED: {why}")
    sys.exit(1)


def read_members(path: str) -> tuple[dict[str, bytes], dict[str, dict[str, Any]]]:
    """The beginning of each plain member, and of every member its size and hash."""
    small: dict[str, bytes] = {}
    seen: dict[str, dict[str, Any]] = {}
    with tarfile.open(path, "r:") as tar:
        for entry in tar:
            if entry.name not in PLAIN and not BLOB.fullmatch(entry.name):
                refuse(f"a name that no bundle has: {entry.name[:100]!r}")
            if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or entry.pax_headers:
                refuse(f"not a plain file: {entry.name!r}")
            if entry.name in seen or entry.size > LARGEST:
                refuse(f"twice, or too large: {entry.name!r}")
            reader = tar.extractfile(entry)
            assert reader is not None
            small[entry.name] = reader.read(16 << 20)  # all of it, but for large evidence and the source
            digest = hashlib.sha256(small[entry.name])
            while chunk := reader.read(1 << 20):
                digest.update(chunk)
            seen[entry.name] = {"sha256": digest.hexdigest(), "size": entry.size}
            if BLOB.fullmatch(entry.name):
                small[entry.name] = b""
    return small, seen


def check_manifest(small: dict[str, bytes], seen: dict[str, dict[str, Any]]) -> None:
    missing = [name for name in PLAIN if name not in seen]
    if missing:
        refuse(f"it has no {missing[0]}")
    listed = json.loads(small["manifest.json"])["members"]
    for name in sorted((seen.keys() | listed.keys()) - {"manifest.json"}):
        if seen.get(name) != listed.get(name):
            refuse(f"{name!r} is not what the manifest says")
        match = BLOB.fullmatch(name)
        if match and match.group(1) != seen[name]["sha256"]:
            refuse(f"{name!r} does not have the hash it is named by")


def load_key(data: bytes) -> Ed25519PublicKey:
    key = s.load_ssh_public_key(data) if data.startswith(b"ssh-") else s.load_pem_public_key(data)
    if not isinstance(key, Ed25519PublicKey):
        refuse("the key is not an Ed25519 key")
    return key


def key_id(key: Ed25519PublicKey) -> str:
    der = key.public_bytes(s.Encoding.DER, s.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def check_signature(envelope: dict[str, Any], key: Ed25519PublicKey) -> dict[str, Any]:
    """The statement, once a signature by this key over exactly its bytes was seen to hold."""
    if envelope["payloadType"] != PAYLOAD_TYPE:
        refuse(f"its payload is {envelope['payloadType']!r}")
    payload = base64.b64decode(envelope["payload"], validate=True)
    kind = PAYLOAD_TYPE.encode()
    signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    for one in envelope["signatures"]:
        try:
            key.verify(base64.b64decode(one["sig"], validate=True), signed)
        except InvalidSignature:
            continue
        statement: dict[str, Any] = json.loads(payload)
        return statement
    refuse(f"no signature by key {key_id(key)} holds")


def check_statement(statement: dict[str, Any], small: dict[str, bytes], seen: dict[str, Any]) -> list[str]:
    """What the statement names is what the bundle holds; the hashes that it names and the bundle lacks."""
    if statement["predicateType"] != "urn:ralph:proof:v1":
        refuse(f"its predicate is {statement['predicateType']!r}")
    predicate = statement["predicate"]
    result, base = statement["subject"][1]["digest"]["gitCommit"], predicate["base"]["commit"]
    refs = small["source.bundle"].split(b"\n\n", 1)[0].decode("utf-8", "replace").splitlines()
    if f"{result} refs/ralph/result" not in refs or f"{base} refs/ralph/base" not in refs:
        refuse("its source is not of the commits that the statement names")
    absent = []
    for said in predicate["verdicts"] + predicate["baseline"]:
        for shelf, digest in (("evidence", said["evidence"]), ("readings", said["reading"])):
            if digest and f"{shelf}/{digest}" not in seen:
                absent.append(f"{said['gate']}: {shelf}/{digest[:12]}")
    return absent


def main() -> None:
    parser = argparse.ArgumentParser(description="Check a bundle's signature and digests without Ralph.")
    parser.add_argument("bundle")
    parser.add_argument("--key", help="public key you trust, PEM or OpenSSH; without it nothing is verified")
    given = parser.parse_args()
    try:
        small, seen = read_members(given.bundle)
        check_manifest(small, seen)
        with open(given.key, "rb") if given.key else open("/dev/null", "rb") as file:
            key = load_key(file.read() or small["key.pub.pem"])
        statement = check_signature(json.loads(small["envelope.dsse.json"]), key)
        absent = check_statement(statement, small, seen)
    except (OSError, tarfile.TarError, ValueError, KeyError, IndexError, TypeError) as error:
        refuse(f"it cannot be read: {type(error).__name__}: {str(error)!r}")
    print(json.dumps({"subject": statement["subject"], "grade": statement["predicate"]["grade"]}, indent=1))
    for line in absent:
        print(f"not in the bundle: {line!r}")
    if not given.key:
        # Whoever made a bundle of lies has signed it with a key of their own, and put that key into it.
        print(f"its parts agree with each other, and its own key {key_id(key)} has signed them")
        refuse("no key that you trust was given: get the signer's from its owner and add --key FILE")
    print(f"VERIFIED: {len(seen)} members, signature by key {key_id(key)}, which you gave")


if __name__ == "__main__":
    main()
