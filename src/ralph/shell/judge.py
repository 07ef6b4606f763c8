"""Judging: gates over one tree, each in a checkout of its own that no agent can reach.

Incremental checkouts serve the iterations, fresh ones the final verdict; both prove which tree they
hold before a gate starts. Evidence is stored before the verdict is made. What output means is the
readers' matter (`gates`), what a verdict means the core's.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from ralph.agents.environ import secret_values
from ralph.core.compare import compare, signature
from ralph.core.model import Finding, Gate, Reading, Stage, Verdict
from ralph.core.text import redact, trim
from ralph.gates.guards.facts import Executed
from ralph.gates.readers import MAX_REPORT, Observation, reader
from ralph.gates.seal import exec_argv
from ralph.shell import blobs, process, sandbox, tools
from ralph.shell.boxes import Site, gate_path, gate_spec
from ralph.shell.checkout import Module, fresh_checkout, update_checkout
from ralph.shell.disktree import remove_tree
from ralph.shell.runner import Activity, Attention
from ralph.shell.sandbox import Share
from ralph.shell.setup import Deps

KEPT_OUTPUT = 8 << 20
SHOWN_FINDINGS = 8
SHOWN_RED = 20
TEXT = 1500
BREATH = 0.1  # seconds between two looks at the inbox
PARALLEL = 4


class Work(msgspec.Struct):
    """A gate on its way."""

    gate: Gate
    folder: str
    checkout: str
    argv: tuple[str, ...]
    report: str
    report_at: str  # the same as the command knew it
    call: process.Call
    placeholders: tuple[str, ...]
    tool_sha: str
    env_names: tuple[str, ...]
    proven: str


class _Stored(msgspec.Struct, frozen=True):
    """Of a verdict's evidence, what tells how its gate was executed."""

    argv: tuple[str, ...]
    tool_sha256: str
    report_at: str


class Judge:
    """Runs gates for one site; remembers the baseline's readings."""

    def __init__(self, site: Site, modules: tuple[Module, ...]) -> None:
        self.site = site
        self._modules = modules
        self.deps = Deps(site, modules)
        self._base: dict[str, Reading] = {}

    def judge(
        self,
        gates: tuple[Gate, ...],
        tree: str,
        stage: Stage,
        baseline: dict[str, Verdict],
        attend: Attention,
        readings: dict[str, Reading] | None = None,
    ) -> Iterator[Verdict]:
        """Verdicts as they come in; ends early, with every process gone, when `attend` says so."""
        waiting, running = list(gates), list[Work]()
        began = time.monotonic()
        try:
            shares = self.deps.shares(tree, attend)
            if shares is None:
                return
            while waiting or running:
                while waiting and _fits(waiting[0], running):
                    gate = waiting.pop(0)
                    work = shares if isinstance(shares, Reading) else self._start(gate, tree, stage, shares)
                    if isinstance(work, Reading):
                        yield self._verdict(gate, tree, stage, work, baseline, readings)
                    else:
                        running.append(work)
                for work in self._ended(running):
                    running.remove(work)
                    reading, evidence = self._read(work, tree, stage)
                    verdict = self._verdict(work.gate, tree, stage, reading, baseline, readings)
                    ended = work.call.ended
                    assert ended is not None
                    yield replace(
                        verdict, seconds=ended.seconds or 0.0, exit_code=ended.exit_code, evidence=evidence
                    )
                names = tuple(work.gate.name for work in running)
                if attend(Activity("gate", names, time.monotonic() - began)):
                    return
        finally:
            self._drop(running)

    def _ended(self, running: list[Work]) -> list[Work]:
        done = process.poll([work.call for work in running], BREATH)
        return [work for work in running if work.call in done]

    def _drop(self, running: list[Work]) -> None:
        for work in running:
            process.kill(work.call)
        for work in running:
            process.wait(work.call)
            sandbox.remove_placeholders(work.placeholders)

    def _start(self, gate: Gate, tree: str, stage: Stage, shares: tuple[Share, ...]) -> Work | Reading:
        site = self.site
        number = site.order.criterion.gates.index(gate)
        folder = os.path.join(site.folder, "gates", f"{stage}-{number}")
        if os.path.exists(os.path.join(folder, "spec.json")):
            process.recover_call(folder)  # of a runner that was killed: its tree is gone after this
        remove_tree(folder)
        tool_sha = self._tool(gate, shares)
        if isinstance(tool_sha, Reading):
            return tool_sha
        checkout, proven = self._checkout(number, tree, shares, fresh=stage in ("final", "overlay"))
        os.makedirs(os.path.join(folder, "tmp", "r"), mode=0o700)
        report = os.path.join(folder, "tmp", "r", "report")
        named = "/tmp/r/report" if site.boxed else report  # noqa: S108
        argv = exec_argv(gate, named)
        located = tools.find(argv[0], path=gate_path(site, gate), cwd=_user_cwd(site, gate))
        located = _in_shares(site, gate, shares) or located
        full = (located or os.path.join(_user_cwd(site, gate), argv[0]), *argv[1:])
        spec, placeholders = gate_spec(
            site, gate, full, checkout=checkout, folder=folder, env=gate.env, shares=shares
        )
        call = process.start_call(folder, spec, site.nursery)
        return Work(
            gate=gate,
            folder=folder,
            checkout=checkout,
            argv=argv,
            report=report,
            report_at=named,
            call=call,
            placeholders=placeholders,
            tool_sha=tool_sha,
            env_names=tuple(sorted(spec.env)),
            proven=proven,
        )

    def _checkout(self, number: int, tree: str, shares: tuple[Share, ...], *, fresh: bool) -> tuple[str, str]:
        site = self.site
        base = os.path.join(site.folder, "checkouts", f"{'fresh' if fresh else 'kept'}-{number}")
        os.makedirs(os.path.dirname(base), mode=0o700, exist_ok=True)
        fill = fresh_checkout if fresh else update_checkout
        proven = fill(site.store, base, base + ".index", tree, keep=(), modules=self._modules)
        for share in shares:  # mount points of what is shared in; empty in the checkout itself
            point = os.path.join(base, os.path.relpath(share.at, site.order.repo))
            if site.boxed:
                os.makedirs(point, exist_ok=True)
            elif not os.path.lexists(point):
                os.makedirs(os.path.dirname(point), exist_ok=True)
                os.symlink(share.source, point)
        return base, proven

    def _tool(self, gate: Gate, shares: tuple[Share, ...]) -> str | Reading:
        """The hash of the gate's tool; one that is missing or is not the sealed one gives no verdict."""
        site = self.site
        path = gate_path(site, gate)
        found = tools.resolve(
            gate.argv[0],
            path=path,
            cwd=_user_cwd(site, gate),
            repo=site.order.repo,
            home=site.home,
            known=site.known,
        )
        if isinstance(found, tools.Missing):
            if _in_shares(site, gate, shares):
                return ""  # built by the user's setup command, which was approved
            if not os.path.isabs(gate.argv[0]) and "/" in gate.argv[0]:
                return ""  # stands in the judged tree, which may have it although the user's checkout has not
            hint = f"; install it with: {found.hint}" if found.hint else ""
            return Reading("error", f'command not found: "{found.word}", {found.why}{hint}', cause="missing")
        if gate.tool_sha and found.sha256 != gate.tool_sha:
            why = f'"{found.path}" is not the file it was when the loop started'
            return Reading("error", why, cause="tool-changed")
        return found.sha256

    def _read(self, work: Work, tree: str, stage: Stage) -> tuple[Reading, str]:
        """What the gate said, its evidence stored first."""
        site, ended = self.site, work.call.ended
        assert ended is not None
        sandbox.remove_placeholders(work.placeholders)
        head, gap, tail = process.output(work.folder, KEPT_OUTPUT)
        output = head + (b"\n[... %d bytes left out ...]\n" % gap if gap else b"") + tail
        report = _regular_file(work.report)
        evidence = {
            "gate": work.gate.name,
            "stage": stage,
            "tree": tree,
            "proven_tree": work.proven,
            "argv": work.argv,
            "run": work.gate.run,
            "cwd": work.gate.cwd,
            "tool": work.gate.tool,
            "tool_sha256": work.tool_sha,
            "environment": work.env_names,
            "sandbox": site.level,
            "network": work.gate.network,
            "ended": msgspec.structs.asdict(ended),
            "output": blobs.put(site.state.blobs, output),
            "report": blobs.put(site.state.blobs, report) if report is not None else None,
            "report_at": work.report_at,
        }
        stored = blobs.put(site.state.blobs, msgspec.json.encode(evidence))
        root = site.order.repo if site.boxed else work.checkout
        observation = Observation(
            exit_code=ended.exit_code,
            ended="killed" if ended.ended in ("memory", "keeper-lost") else ended.ended,
            output=output,
            report=report,
            error=ended.error,
            root=root,
        )
        remove_tree(os.path.join(work.folder, "tmp"))
        remove_tree(os.path.join(work.folder, "overlay"))
        if work.proven != tree:
            return Reading("error", "the checkout was not the tree to be judged", cause="wrong-tree"), stored
        if ended.survivors:
            return Reading("error", "processes of the check could not be ended", cause="killed"), stored
        return reader(work.gate.read)(observation, work.gate), stored

    def _verdict(
        self,
        gate: Gate,
        tree: str,
        stage: Stage,
        reading: Reading,
        baseline: dict[str, Verdict],
        readings: dict[str, Reading] | None,
    ) -> Verdict:
        if readings is not None:
            readings[gate.name] = reading
        base = self.base_reading(gate.name, baseline) if stage != "baseline" else None
        found = compare(base, reading, fail_on=gate.fail_on)
        secrets = secret_values(self.site.env)
        red = 0 if reading.status == "pass" else max(1, found.red)
        return Verdict(
            gate=gate.name,
            tree=tree,
            stage=stage,
            status=reading.status,
            summary=redact(trim(reading.summary, 3, 400), secrets),
            cause=reading.cause,
            counts=reading.counts,
            per_test=reading.tests is not None or gate.read in ("ruff", "mypy", "sarif"),
            red=red,
            red_digest=found.red_digest,
            signature=signature(reading) if reading.status != "pass" else "",
            new_red=tuple(key[:300] for key in found.new_red[:SHOWN_RED]),
            new_red_count=len(found.new_red),
            fixed_count=len(found.fixed),
            witness_count=len(found.witness),
            findings=tuple(_shown(finding, secrets) for finding in reading.findings[:SHOWN_FINDINGS]),
            reading=blobs.put(self.site.state.blobs, msgspec.json.encode(reading)),
        )

    def base_reading(self, name: str, baseline: dict[str, Verdict]) -> Reading | None:
        """What this gate said of the base commit, every test of it."""
        if name not in self._base:
            verdict = baseline.get(name)
            if verdict is None:
                return None
            self._base[name] = self.reading(verdict)
        return self._base[name]

    def executed(self, verdict: Verdict) -> Executed | None:
        """How this verdict's gate was executed, by its evidence: whichever runner saw to it."""
        if not verdict.evidence:
            return None
        stored = msgspec.json.decode(blobs.get(self.site.state.blobs, verdict.evidence), type=_Stored)
        return Executed(argv=stored.argv, report=stored.report_at, tool_sha=stored.tool_sha256)

    def reading(self, verdict: Verdict) -> Reading:
        return msgspec.json.decode(blobs.get(self.site.state.blobs, verdict.reading), type=Reading)


def _fits(gate: Gate, running: list[Work]) -> bool:
    """May it start beside what runs? Each has its own checkout; exclusive ones want the machine alone."""
    if gate.exclusive or any(work.gate.exclusive for work in running):
        return not running
    return len(running) < min(PARALLEL, os.cpu_count() or 1)


def _in_shares(site: Site, gate: Gate, shares: tuple[Share, ...]) -> str | None:
    """The gate's program where its PATH leads into a folder that a setup command built."""
    if "/" in gate.argv[0]:
        return None
    for part in gate_path(site, gate).split(os.pathsep)[: len(gate.path)]:
        for share in shares:
            if share.source != share.at and sandbox.covers(share.at, part):
                inside = os.path.join(part, gate.argv[0])
                if os.access(share.source + inside[len(share.at) :], os.X_OK):
                    return inside
    return None


def _user_cwd(site: Site, gate: Gate) -> str:
    return os.path.normpath(os.path.join(site.order.repo, gate.cwd))


def _shown(finding: Finding, secrets: tuple[str, ...]) -> Finding:
    return Finding(
        key=finding.key[:300],
        message=redact(trim(finding.message, 40, TEXT), secrets),
        path=finding.path[:300],
        line=finding.line,
        severity=finding.severity,
    )


def _regular_file(path: str) -> bytes | None:
    """What the gate wrote where its report belongs; judged code may have put anything there."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        return file.read(MAX_REPORT + 1)
