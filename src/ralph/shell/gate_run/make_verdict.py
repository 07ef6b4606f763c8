"""What gate calls said becomes one verdict: merged, compared with the base, cut and redacted."""

from __future__ import annotations

import msgspec

from ralph.agents._kit.environ import secret_values
from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Counts, Finding, Reading, Stage, Verdict
from ralph.core.proof.compare import compare, count_unloaded, outline, signature
from ralph.core.proof.flaky import merge_readings
from ralph.core.proof.still_red import shown_keys
from ralph.core.text.clean import redact, trim
from ralph.gates.readers import locates_findings
from ralph.shell.gate_run.answers import Heard
from ralph.shell.gate_run.deleted_tests import deleted_tests
from ralph.shell.sandbox.site import Site
from ralph.shell.state import blobs

MAX_FINDINGS = 8
MAX_RED = 20
MAX_MESSAGE_CHARS = 1500


def make_verdict(
    site: Site, gate: Gate, tree: str, stage: Stage, heard: list[Heard], base: Reading | None
) -> tuple[Verdict, Reading]:
    """The verdict, and the whole reading behind it. `base`: what the gate said there, if that counts."""
    reading = heard[0].reading
    for other in heard[1:]:
        reading = merge_readings(reading, other.reading, gate.fail_on)
    found = compare(base, reading, fail_on=gate.fail_on)
    new_red = found.new_red if stage != "baseline" else ()  # what is red at the base is not new
    gone = () if stage == "baseline" else found.vanished
    deleted = deleted_tests(site.store, site.order.base.tree, tree, gone)
    hushed = secret_values(site.env)
    red = 0 if reading.status == "pass" else max(1, found.red)
    unseen = found.unseen if red > found.unseen else 0
    counts = reading.counts
    if deleted or unseen or reading.left_out:
        left = tuple(sorted(shown_keys(reading.left_out)))
        counts = msgspec.structs.replace(counts or Counts(), deleted=deleted, unseen=unseen, still_red=left)
    made = Verdict(
        gate=gate.name,
        tree=tree,
        stage=stage,
        status=reading.status,
        summary=redact(trim(reading.summary, 3, 400), hushed),
        cause=reading.cause,
        seconds=heard[0].seconds,
        exit_code=heard[0].exit_code,
        counts=counts,
        per_test=reading.tests is not None or locates_findings(gate.read),
        red=red,
        red_digest=found.red_digest,
        signature=signature(reading),
        outline=outline(reading),
        new_red=tuple(key[:300] for key in new_red[:MAX_RED]),
        new_red_count=len(new_red),
        fixed_count=len(found.fixed),
        witness_count=len(found.witness),
        findings=tuple(_redact_finding(finding, hushed) for finding in reading.findings[:MAX_FINDINGS]),
        evidence=heard[0].evidence,
        reading=blobs.put(site.state.blobs, msgspec.json.encode(reading)),
        repeats=tuple(other.evidence for other in heard[1:] if other.evidence),
        unloaded=count_unloaded(reading),
        doubt=reading.doubt,
        answered=reading.status != "error",
    )
    return made, reading


def _redact_finding(finding: Finding, hushed: tuple[str, ...]) -> Finding:
    return Finding(
        key=finding.key[:300],
        message=redact(trim(finding.message, 40, MAX_MESSAGE_CHARS), hushed),
        path=finding.path[:300],
        line=finding.line,
        severity=finding.severity,
    )
