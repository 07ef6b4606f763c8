"""Specs: start one, and say what is wrong with those that are there."""

from __future__ import annotations

from msgspec import Struct

from ralph.core.model.verdict import Finding
from ralph.core.specs.lint import check_specs
from ralph.core.specs.parse import Spec, parse_spec
from ralph.shell.plan.spec_files import Files, new_spec, read_specs

__all__ = ["CheckedSpecs", "check_files", "new_spec"]


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
