"""What the tests of canaries share."""

from guardkit import facts_of
from msgspec.structs import replace

from ralph.gates.guards import KINDS as FOUND
from ralph.gates.guards import REGISTRY
from ralph.gates.seal import seal

NONCE = "a1b2c3d4"
ALL = ("a", "b", "c", "d")
ENDED = (*ALL, "exit")  # all of them failed, and so did the runner


def gate(run, **fields):
    return seal("tests", run, tree_paths=frozenset(), proof=True, **fields)


def judged(base, now, made, before=(), after=()):
    """What the guard says of these two calls with canaries; None: none could be put."""
    given = facts_of(
        dict(before),
        dict(after),
        gates=(made,),
        base={"tests": base},
        final={"tests": replace(now, canary=None)},
        repeats={"tests": (now,)},
    )
    result = REGISTRY["canary"](given)
    assert all(finding.key.split(":")[0] in FOUND for finding in result.findings)
    return result


def kinds(result):
    return sorted({finding.key.split(":")[0].removeprefix("canary.") for finding in result.findings})
