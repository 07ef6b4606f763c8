"""`ralph keys`: the key that signs proofs, and the keys whose proofs count here."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import click

from ralph.clock import SystemClock


@click.group(short_help="Manage signing keys and whom to trust.")
def command() -> None:
    """Manage keys: the one that signs proofs here, and those whose proofs you trust."""


@command.command("list", short_help="List trusted keys.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(as_json: bool) -> int:
    """List trusted keys, and which one signs.

    \b
    Example:
      ralph keys list
    """
    from ralph.app.results.attest import trusted_keys
    from ralph.app.words.format import ago, safe, table

    rows = trusted_keys(os.environ)
    if as_json:
        print(json.dumps({"v": 1, "keys": [_plain(one) for one in rows]}))
        return 0
    if not rows:
        print("no key yet: one is made when the first loop is verified")
        return 0
    now = SystemClock().now()
    for line in table(
        [(one.key.short, safe(one.name, 60), _state(one, now), ago(now - one.since)) for one in rows]
    ):
        print(line)
    return 0


@command.command("show", short_help="Print a public key to share.")
@click.argument("key", required=False, metavar="[ID|NAME]")
def show(key: str | None) -> int:
    """Print the public key that signs here (created if there is none), or another trusted key.

    \b
    Example:
      ralph keys show > me.pem
    """
    from ralph.app.results.attest import public_key

    found = public_key(dict(os.environ), key)
    print(f"key {found.id}", file=sys.stderr)
    print(found.pem, end="")
    return 0


@command.command("trust", short_help="Trust proofs signed by a key.")
@click.argument("file", metavar="FILE")
@click.option("--name", default="", help="Owner of the key (default: the file's name).")
@click.option("--until", default="", metavar="DATE", help="Reject proofs finished after DATE (2027-01-31).")
def trust_(file: str, name: str, until: str) -> int:
    """Trust the public key in FILE: PEM, OpenSSH, or the one inside a bundle.

    Compare the printed id with its owner over a different channel than the one the file came through.

    \b
    Example:
      ralph keys trust reviewer.pem --name "the reviewer"
    """
    from ralph.app.results.attest import trust_key
    from ralph.app.words.format import safe

    made = trust_key(os.environ, os.path.join(os.getcwd(), file), name=name, until=until)
    print(f"trusted {made.key.id} as '{safe(made.name, 60)}'{f' until {until}' if until else ''}")
    print(f"  take it back: ralph keys distrust {made.key.short}")
    return 0


@command.command("distrust", short_help="Stop trusting a key.")
@click.argument("key", metavar="ID|NAME")
def distrust(key: str) -> int:
    """Stop trusting a key, including everything it signed before. Do this when a key is stolen.

    \b
    Example:
      ralph keys distrust 3f9a1c0d5e6b7a88
    """
    from ralph.app.results.attest import distrust_key
    from ralph.app.words.format import safe

    gone = distrust_key(os.environ, key)
    print(f"no longer trusted: {gone.key.id} ('{safe(gone.name, 60)}')")
    return 0


@command.command("rotate", short_help="Replace the signing key.")
def rotate() -> int:
    """Create a new signing key. Proofs that the old key signed until now stay valid; later ones do not.

    \b
    Example:
      ralph keys rotate
    """
    from ralph.app.results.attest import rotate_key

    old, new = rotate_key(dict(os.environ))
    if old is not None:
        print(f"rotated out {old.id}")
    print(f"signing with {new.id}")
    print("  hand on the new one: ralph keys show")
    return 0


def _state(one: Any, now: float) -> str:
    if one.end == "rotated":
        return "rotated: counts for older proofs"
    if one.until is not None:
        return "expired" if one.until < now else f"until {time.strftime('%Y-%m-%d', time.gmtime(one.until))}"
    return "own" if one.own else "trusted"


def _plain(one: Any) -> dict[str, Any]:
    return {
        "id": one.key.id,
        "name": one.name,
        "since": one.since,
        "own": one.own,
        "until": one.until,
        "end": one.end,
        "pem": one.key.pem,
    }
