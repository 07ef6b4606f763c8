"""Words that leave the shell: the prompt of the next call, and the message of a result's commit.

What an agent is told is chosen in `core.prompt`; here the template is read and the newest verdicts are
turned into excerpts. Findings were cleaned and redacted when their verdicts were made.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files

from ralph.core.events import PublishResult
from ralph.core.loop import Loop
from ralph.core.model import Footprint, Verdict
from ralph.core.prompt import HIDDEN, Feedback, facts_of, render
from ralph.core.text import one_line


def prompt(loop: Loop) -> str:
    """The text of the call that is owed now."""
    template = (files("ralph") / "templates" / "prompt.md.j2").read_text(encoding="utf-8")
    newest = loop.finals if loop.final_tree == loop.tree and loop.finals else loop.verdicts
    feedback = tuple(
        Feedback(gate=verdict.gate, excerpt=_excerpt(verdict))
        for verdict in newest.values()
        if verdict.status != "pass" and verdict.findings
    )
    # Not random, so that the same loop gives the same prompt; not guessable from inside the workspace.
    words = f"{loop.sealed.loop}/{loop.call}/{loop.now}/{loop.sealed.config_digest}"
    nonce = hashlib.sha256(words.encode()).hexdigest()[:16]
    return render(template, facts_of(loop, feedback, tuple(map(_tried, loop.history)), nonce))


def _excerpt(verdict: Verdict) -> str:
    parts = []
    for finding in verdict.findings:
        place = f"{finding.path}:{finding.line}: " if finding.path else ""
        parts.append(f"{place}{finding.key}\n{finding.message}")
    more = verdict.red - len(verdict.findings)
    return "\n\n".join(parts) + (f"\n\n… and {more} more" if more > 0 else "")


def _tried(footprint: Footprint) -> str:
    if footprint.tree == footprint.before:
        return f"iteration {footprint.iteration} changed nothing"
    return f"iteration {footprint.iteration} left {footprint.red} red"


def result_message(loop: Loop, action: PublishResult) -> str:
    """The message of the result's commit: the task, the proof, what is not proven."""
    order = loop.sealed
    lines = [one_line(order.task, 72), ""]
    lines += [f"Verified by ralph: grade {action.grade}, sandbox {loop.protection}, tree {action.tree}.", ""]
    for gate in order.criterion.gates:
        verdict = loop.finals[gate.name]
        role = "proof" if gate.proof else "required" if gate.required else "advisory"
        lines.append(f"  {gate.name} ({role}): {verdict.status}, {one_line(verdict.summary, 100)}")
        # Later agents read the history: a hidden check must not be told there either.
        run = "(hidden)" if gate.origin == HIDDEN else f"$ {one_line(gate.run, 200)}"
        lines.append(f"    {run}  evidence {verdict.evidence[:16]}")
    lines += [f"Not proven: {one_line(sentence, 200)}" for sentence in loop.unproven]
    trailers = [
        f"Ralph-Loop: {order.loop}",
        f"Ralph-Grade: {action.grade}",
        f"Ralph-Base: {order.base_commit}",
    ]
    return "\n".join([*lines, "", *trailers]) + "\n"
