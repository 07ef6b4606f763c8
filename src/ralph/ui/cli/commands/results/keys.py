"""`ralph keys`: the key that signs proofs, and the keys whose proofs count here."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import click

from ralph.clock import SystemClock


@click.group(short_help="Keys that sign proofs, and whom to trust.")
def command() -> None:
    """Keys: which one signs the proofs made here, and whose proofs count here."""


@command.command("list", short_help="The keys that are trusted here.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def list_(as_json: bool) -> int:
    """The keys that are trusted here, and which one of them signs.

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


@command.command("show", short_help="A public key, to hand on.")
@click.argument("key", required=False, metavar="[ID|NAME]")
def show(key: str | None) -> int:
    """Print the public key that signs here (made now if there is none), or another that is trusted.

    \b
    Example:
      ralph keys show > me.pem
    """
    from ralph.app.results.attest import public_key

    found = public_key(dict(os.environ), key)
    print(f"key {found.id}", file=sys.stderr)
    print(found.pem, end="")
    return 0


@command.command("trust", short_help="Let the proofs of a key count here.")
@click.argument("file", metavar="FILE")
@click.option("--name", default="", help="Whose it is; the file's name when left out.")
@click.option(
    "--until", default="", metavar="DATE", help="Nothing finished after this day (2027-01-31) counts."
)
def trust_(file: str, name: str, until: str) -> int:
    """Trust the public key in FILE: PEM, OpenSSH, or the one inside a bundle.

    Compare the id that is printed with what its owner tells you, by another way than the one the file came.

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


@command.command("distrust", short_help="No proof of a key counts any longer.")
@click.argument("key", metavar="ID|NAME")
def distrust(key: str) -> int:
    """Take the trust in a key back, also for what it signed before: the thing to do when one is stolen.

    \b
    Example:
      ralph keys distrust 3f9a1c0d5e6b7a88
    """
    from ralph.app.results.attest import distrust_key
    from ralph.app.words.format import safe

    gone = distrust_key(os.environ, key)
    print(f"no longer trusted: {gone.key.id} ('{safe(gone.name, 60)}')")
    return 0


@command.command("rotate", short_help="Sign with a new key from now on.")
def rotate() -> int:
    """Make a new signing key. What the old one signed until now still counts, and nothing after.

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
