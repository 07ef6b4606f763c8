"""Specs: start one, say what is wrong with those that are there, and let another agent attack them."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Mapping

from msgspec import Struct

from ralph.clock import SystemClock
from ralph.core.model.spend import Spend
from ralph.core.model.verdict import Finding
from ralph.core.specs.lint import check_specs
from ralph.core.specs.parse import Spec, parse_spec
from ralph.core.specs.refine import edited_spec, proposal_text
from ralph.shell.plan.spec_files import MARK, Files, new_spec, read_specs, replace_spec, write_beside
from ralph.shell.run.open import SignalCount
from ralph.shell.run.refine_specs import RefinedSpec, refine_specs
from ralph.shell.start.refine import Refining, prepare_refining
from ralph.shell.start.request import StartRequest

__all__ = ["CheckedSpecs", "RefinedSpec", "Refining", "Spend", "check_files", "new_spec"]

PROPOSALS = ".ralph/refine"  # a folder of the project
TASK = "Attack the specs"


class CheckedSpecs(Struct, frozen=True):
    files: Files
    specs: tuple[Spec, ...]
    findings: tuple[Finding, ...]
    wrong: int  # without advice


def check_files(cwd: str, paths: tuple[str, ...] = ()) -> CheckedSpecs:
    """All of `specs/`, or the files and folders given."""
    files = read_specs(cwd, paths)
    specs = tuple(parse_spec(path, text) for path, text in files.texts.items())
    findings = check_specs(specs)
    wrong = sum(one.severity != "P2" for one in findings) + len(files.skipped)
    return CheckedSpecs(files, specs, findings, wrong)


def prepare_refine(request: StartRequest, paths: tuple[str, ...], env: Mapping[str, str]) -> Refining:
    """Which specs would be attacked, by whom and within which limits."""
    return prepare_refining(request, paths, env, SystemClock().now())


def refine(refining: Refining, env: Mapping[str, str]) -> Iterator[tuple[RefinedSpec, Spend]]:
    """What is proposed for each spec, as it comes in; a signal ends the call and raises KeyboardInterrupt."""
    signals = SignalCount()
    with signals.install():
        try:
            yield from refine_specs(refining, env, SystemClock().now(), lambda _: signals.level() > 0)
        except KeyboardInterrupt:
            if signals.number == signal.SIGINT:
                raise
            sys.exit(128 + signals.number)


def write_proposal(refining: Refining, refined: list[RefinedSpec]) -> str:
    """Everything that was proposed, as one file that `git apply` takes; its path inside the project."""
    name = time.strftime("%Y%m%d-%H%M%S", time.gmtime(SystemClock().now()))
    files = refining.files
    texts = (
        proposal_text(one.path, MARK * (one.path in files.marked) + one.text, one.said)
        for one in refined
        if one.said is not None
    )
    return write_beside(files.top, PROPOSALS, name, ".patch", "".join(texts).encode())


def apply_proposal(refining: Refining, one: RefinedSpec) -> None:
    """Write the spec with its edits, unless it is no longer the one that was attacked."""
    assert one.said is not None
    replace_spec(refining.files.top, one.path, one.text, edited_spec(one.text, one.said.edits))
