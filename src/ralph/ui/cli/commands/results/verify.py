"""`ralph verify`: check a proof that was made here or elsewhere, and run its gates again."""

from __future__ import annotations

import json
import os
import secrets
import sys
from typing import TYPE_CHECKING, Literal

import click

from ralph.clock import SystemClock
from ralph.ui.cli.streams import on_terminal

if TYPE_CHECKING:
    from ralph.app.results.verify import Outcome, ProofCheck

_MARKS = {"pass": "✔", "fail": "✘", "ask": "?", "note": "-"}
_TONES = {"pass": "green", "fail": "red", "ask": "amber", "note": "dim"}


@click.command(short_help="Check a proof and rerun its checks.")
@click.argument("target", metavar="COMMIT|LOOP|BUNDLE")
@click.option("--proof", metavar="FILE", default="", help="Check COMMIT against this envelope or bundle.")
@click.option(
    "--trust",
    "keys",
    multiple=True,
    metavar="KEY",
    help="Trust the public key in this file for this command only. Repeatable.",
)
@click.option("--no-rerun", is_flag=True, help="Check only signature, trust, subject and evidence.")
@click.option(
    "--sandbox",
    type=click.Choice(("auto", "require", "none")),
    default=None,
    help="Sandbox for the checks, as in `ralph loop`.",
)
@click.option("-y", "--yes", is_flag=True, help="Run the proof's commands without asking, in a sandbox.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--junit", metavar="FILE", default="", help="Write the results as a JUnit report too.")
def command(
    target: str,
    proof: str,
    keys: tuple[str, ...],
    no_rerun: bool,
    sandbox: Literal["auto", "require", "none"] | None,
    yes: bool,
    as_json: bool,
    junit: str,
) -> int:
    """Check the proof of a loop, of a commit, or in a bundle somebody sent you.

    Checks the signature and whether you trust its key, that the proof is about this exact tree, and the
    evidence; then runs every check again in a clean checkout. Exit code 0: verified. 1: not verified; the
    output names what failed. 3: trust a key or approve commands first.

    \b
    Examples:
      ralph verify fix-auth
      ralph verify HEAD --trust reviewer.pem --junit verify.xml
      ralph verify fix-auth.ralph.tar --no-rerun
    """
    from ralph.app.results.verify import VerifyRequest, outcome_json, verify

    request = VerifyRequest(
        target=target,
        cwd=os.getcwd(),
        proof=proof,
        trust=keys,
        rerun=not no_rerun,
        yes=yes,
        sandbox=sandbox,
        token=secrets.token_hex(4),
        now=SystemClock().now(),
    )
    ask = not as_json and on_terminal()
    outcome = verify(
        request,
        dict(os.environ),
        tell=(lambda _: None) if as_json else _tell,
        agree=_agree if ask else lambda _: False,
    )
    if junit:
        _save(junit, _junit(outcome))
    if as_json:
        print(json.dumps(outcome_json(outcome, target)))
    else:
        _headline(outcome, rerun=not no_rerun)
    return outcome.exit_code


def _agree(_check: ProofCheck) -> bool:
    """A human at the terminal has just read foreign commands."""
    return click.confirm("run these commands, each in a box?", default=False, err=True)


def _tell(check: ProofCheck) -> None:
    from ralph.app.words.format import brief_seconds, paint, safe, use_colour

    first, *rest = check.words.split("\n")
    mark = paint(_MARKS[check.state], _TONES[check.state], on=use_colour(sys.stdout, os.environ))
    took = f"  {brief_seconds(check.seconds)}" if check.seconds else ""
    print(f"{mark} {safe(check.name, 40):.<24} {safe(first, 400)}{took}", flush=True)
    for line in rest:  # commands to approve: whole, with nothing invisible in them already
        print(f"    {line}")


def _headline(outcome: Outcome, *, rerun: bool) -> None:
    from ralph.app.words.format import safe

    last = outcome.checks[-1]
    if not outcome.verified:
        word = "NOT VERIFIED" if last.state == "fail" else "NOT YET"
        print(f"{word}: {outcome.found.words}: {safe(last.name, 40)}")
        if last.next:
            print(f"  next: {last.next}")
        return
    assert outcome.sealed is not None
    made = outcome.sealed.statement
    grade = f"grade {made.predicate.grade}" if made.predicate.grade else "already satisfied"
    seen = {check.name for check in outcome.checks if check.state == "pass"}
    unseen = [safe(str(gate["name"]), 40) for gate in made.predicate.gates if gate["name"] not in seen]
    but = f", but not: {', '.join(unseen)}" if unseen else ""
    gates = f"gates run again here{but}" if rerun else "gates NOT run again"
    facts = f"{grade}, sandbox {safe(made.predicate.sandbox.level, 8)}, tree {made.tree[:12]}, {gates}"
    other = outcome.found.commit not in ("", made.commit)
    what = "the files of " if other else ""
    print(f"VERIFIED: {what}{outcome.found.words}: {facts}")
    for sentence in made.predicate.not_proven:
        print(f"  not proven: {safe(sentence, 300)}")


def _junit(outcome: Outcome) -> bytes:
    """One test case a check, as CI servers read it."""
    from xml.etree import ElementTree as ET

    from ralph.core.text.clean import clean

    failed = sum(check.state in ("fail", "ask") for check in outcome.checks)
    noted = sum(check.state == "note" for check in outcome.checks)
    counts = {
        "tests": str(len(outcome.checks)),
        "failures": str(failed),
        "skipped": str(noted),
        "errors": "0",
    }
    suite = ET.Element("testsuite", {"name": "ralph verify", **counts})
    for check in outcome.checks:
        name = {"classname": f"ralph.verify.{outcome.found.kind}", "name": clean(check.name)}
        case = ET.SubElement(suite, "testcase", {**name, "time": f"{check.seconds:.3f}"})
        kind = {"fail": "failure", "ask": "failure", "note": "skipped"}.get(check.state)
        if kind:
            inner = ET.SubElement(case, kind, {"message": clean(check.words.split("\n")[0])})
            inner.text = clean("\n".join(filter(None, (check.words, check.next))))
        else:
            ET.SubElement(case, "system-out").text = clean(check.words)
    data: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _save(path: str, data: bytes) -> None:
    from ralph.app.report.report_files import write_whole
    from ralph.errors import SetupError

    try:
        write_whole(path, data)
    except OSError as error:
        raise SetupError(
            f"cannot write '{path}': {error.strerror}", code="E-JUNIT-WRITE", next="ralph verify --help"
        ) from error
