"""What a verification is asked, looks at and answers: plain data for `verify` and `reverify`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from ralph.core.attestation.statement import Statement
from ralph.shell.attestation.envelope import Sealed
from ralph.shell.attestation.find import FoundProof
from ralph.shell.attestation.rerun import Sandbox
from ralph.shell.git.project import Project
from ralph.shell.journal.record import Record
from ralph.shell.ports import Attention
from ralph.shell.state.directory import State


class ProofCheck(msgspec.Struct, frozen=True):
    name: str
    state: Literal["pass", "fail", "ask", "note"]  # ask: a human has to decide first
    words: str
    next: str = ""
    seconds: float = 0.0


class VerifyRequest(msgspec.Struct, frozen=True, kw_only=True):
    target: str
    cwd: str
    scratch: str  # an empty folder of ours, removed by the caller
    proof: str = ""  # a file to hold the target against
    trust: tuple[str, ...] = ()  # files with public keys that count this once
    rerun: bool = True
    yes: bool = False  # foreign commands may be executed in a box
    agreed: bool = False  # somebody has just read them at a terminal, and said yes
    sandbox: Sandbox | None = None
    token: str = ""
    now: float = 0.0


class VerifyCase(msgspec.Struct, frozen=True):
    request: VerifyRequest
    env: Mapping[str, str]
    state: State
    found: FoundProof
    attend: Attention


class Signed(msgspec.Struct, frozen=True):
    """A case whose signature counts: from here on the statement is believed to be its signer's."""

    case: VerifyCase
    made: Statement
    project: Project  # where the source is
    record: Record | None  # of the loop, when it was driven here


class Outcome(msgspec.Struct, frozen=True):
    found: FoundProof
    sealed: Sealed | None
    checks: tuple[ProofCheck, ...]

    @property
    def verified(self) -> bool:
        return all(check.state in ("pass", "note") for check in self.checks)

    @property
    def exit_code(self) -> int:
        states = {check.state for check in self.checks}
        return 1 if "fail" in states else 3 if "ask" in states else 0
