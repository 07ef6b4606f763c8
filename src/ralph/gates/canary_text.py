"""The text of canaries, for each runner: how they fail, and how one of them tells what the runner is made of.

Each kind fails in its own way, because an attack may disarm one way only: the plain assertion, the expected
exception that does not come, the method of the assertion library. The kind is the end of the test's name.
"""

from __future__ import annotations

import json
import re

from ralph.core.toolchains.load import toolchains
from ralph.core.toolchains.rows import CanaryRow
from ralph.errors import Bug
from ralph.gates.programs import program_text

_MEANS = {
    "a": "two values that are not equal",
    "b": "an expected error that does not come",
    "c": "two objects that are not equal",
    "d": "a thrown Error",
}
_MODULE = re.compile(rb"^[ \t]*(?:import\b(?!\s*\()|export\b)", re.MULTILINE)


def canary_of(read: str) -> CanaryRow | None:
    """What is known of canaries for a reader's runner; None where none can be put."""
    runner = toolchains().runners.get(read)
    return runner.canary if runner else None


def canary_means(read: str) -> dict[str, str]:
    """Kind of canary -> what it is, in words."""
    row = canary_of(read)
    return (row.means or _MEANS) if row else {}


def _row(read: str) -> CanaryRow:
    row = canary_of(read)
    if row is None:
        raise Bug(f'there are no canaries for "{read}"')
    return row


def _parts(read: str) -> tuple[str, ...]:
    """What decides about red and green. Its code is compared with that of the same call at the base."""
    known = toolchains()
    return known.runner_parts[known.runners[read].family]


def _javascript(read: str, called: dict[str, str], nonce: str, *, module: bool) -> str:
    """Canaries for a file of JavaScript or TypeScript; `module`: one that uses `import`."""
    row = _row(read)
    own = f"_{nonce}"
    needed = {"assert": "assert", "crypto": "crypto"} | ({"run": row.imports} if row.imports else {})
    how = "import * as {name} from {place};" if module else "const {name} = require({place});"
    head = "\n".join(
        how.format(name=f"{own}_{name}", place=json.dumps(place)) for name, place in needed.items()
    )
    run = f"pick({own}_run)" if row.default_export else f"{own}_run"
    rows = zip(called.values(), row.ways, strict=True)
    body = program_text("canary_text.js").format(
        own=own,
        seen=f"{own}_run" if row.imports else "{}",
        mark=json.dumps(nonce),
        probed=json.dumps(list(_parts(read))),
        define=row.define.replace("{run}", run),
        tests="\n".join(f"  test({json.dumps(name)}, {way});" for name, way in rows),
    )
    return f"\n;\n{head}\n{body}"


def canary_names(read: str, like: str, nonce: str) -> tuple[str, ...]:
    """What the canaries are called, beside a test called `like`; for unittest also their class."""
    apart = " " if _row(read).ways else "_"
    return tuple(f"{like}{apart}{nonce}_{kind}" for kind in canary_means(read))


def owner(nonce: str) -> str:
    return f"Test{nonce}"


def canary_source(read: str, like: str, nonce: str, path: str = "", beside: bytes = b"") -> str:
    """`path` and `beside`: the file that they are put into, and its text."""
    row = _row(read)
    called = dict(zip(canary_means(read), canary_names(read, like, nonce), strict=True))
    if row.ways:
        module = path.endswith((".mjs", ".mts")) or bool(_MODULE.search(beside))
        return _javascript(read, called, nonce, module=module)
    scope = repr({"mark": nonce, "names": list(_parts(read))})
    return row.text.format(
        **called, owner=owner(nonce), probe=repr(program_text("canary_text.py")), scope=scope
    )


def runner_digests(read: str, message: str, nonce: str) -> dict[str, str]:
    """The digests of the runner's parts, out of the text with which the last canary failed."""
    hit = re.search(rf"{nonce}\|([0-9a-f;-]+)\|", message)
    if hit is None:
        return {}
    parts = _parts(read)
    found = hit[1].split(";")
    if len(found) != len(parts):
        return {}
    return {name: digest for name, digest in zip(parts, found, strict=True) if digest != "-"}
