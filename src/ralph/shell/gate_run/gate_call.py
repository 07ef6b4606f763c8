"""Gate calls: one gate over one tree, in a box and a checkout of its own that no agent can reach.

Checkouts prove which tree they hold before a gate starts; evidence is stored before anything is read
from it. What output means is the readers' matter (`gates`), what a call is for its caller's (`verdicts`,
`run_guards`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from ralph.core.model.verdict import Reading
from ralph.errors import SetupError
from ralph.gates.readers import MAX_REPORT, Observation, reader
from ralph.gates.seal import exec_argv
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.gate_tool import Shares, compiler_cache, locate_program, tool_hash
from ralph.shell.gate_run.watch_call import (
    ReadsWatch,
    Stamps,
    clock_env,
    read_hits,
    read_regular,
    reads_env,
    take_stamps,
    watch_env,
    written_paths,
)
from ralph.shell.git.checkout import Submodule, fresh_checkout, update_checkout
from ralph.shell.ports import Activity, Attention
from ralph.shell.process import client
from ralph.shell.sandbox.boxes import GatePlace, dress_place, gate_place, gate_spec
from ralph.shell.sandbox.machine_cause import held_against, machine_made, missing, unless_full
from ralph.shell.sandbox.site import Site
from ralph.shell.state import blobs

MAX_OUTPUT_BYTES = 8 << 20
POLL_SECONDS = 0.1  # seconds between two looks at the inbox
MAX_PARALLEL = 4
MARKS = "marks"  # a file beside the report
# Only the last output counts, as only the last report does. What was green is marked.
_AGAIN = """n=$1 until=$(($(date +%s) + $2)) at=$3; shift 3
while :; do
  "$@" > "$at/output" 2>&1; code=$?
  [ $code -eq 0 ] || break
  echo o >> "$at/marks"; n=$((n - 1))
  [ $n -gt 0 ] && [ "$(date +%s)" -lt $until ] || break
done
cat "$at/output"; exit $code
"""


class Work(msgspec.Struct):
    """A gate on its way."""

    wanted: GateCall
    folder: str
    place: GatePlace
    argv: tuple[str, ...]
    report: str
    report_at: str  # the same as the command knew it
    call: client.Call
    tool_sha: str
    env_names: tuple[str, ...]
    proven: str
    stamps: Stamps
    opened: ReadsWatch | None = None


class GateCaller:
    """Makes gate calls for one site."""

    def __init__(self, site: Site, modules: tuple[Submodule, ...]) -> None:
        self.site = site
        self._modules = modules

    def hear(self, wanted: list[GateCall], shares: Shares, attend: Attention) -> Iterator[Heard]:
        """Answers as they come in; ends early, with every process gone, when `attend` says so.

        Calls put into `wanted` while it goes on are made too.
        """
        running = list[Work]()
        began = self.site.clock.monotonic()
        try:
            while wanted or running:
                while (index := _next(wanted, running)) is not None:
                    call = wanted.pop(index)
                    work = self._start(call, shares)
                    if isinstance(work, Reading):
                        yield Heard(call, work)
                    else:
                        running.append(work)
                for work in self._poll(running):
                    running.remove(work)
                    yield self._read(work)
                if attend(_activity(running, len(wanted), self.site.clock.monotonic() - began)):
                    return
        finally:
            self._drop(running)

    def _poll(self, running: list[Work]) -> list[Work]:
        done = client.poll([work.call for work in running], POLL_SECONDS)
        return [work for work in running if work.call in done]

    def _drop(self, running: list[Work]) -> None:
        for work in running:
            client.kill(work.call)
        for work in running:
            client.wait(work.call)
            if work.opened is not None:
                work.opened.stop()

    def _start(self, call: GateCall, shares: Shares) -> Work | Reading:
        site, gate = self.site, call.gate
        folder = os.path.join(site.folder, "gates", call.slot)
        if os.path.exists(os.path.join(folder, "spec.json")):
            client.recover_call(folder)  # of a runner that was killed: its tree is gone after this
        remove_tree(folder)
        tool_sha = tool_hash(site, gate, shares)
        if isinstance(tool_sha, Reading):
            return tool_sha
        program = locate_program(site, gate, exec_argv(gate, "")[0], shares)
        place = gate_place(site, gate, program, os.path.join(site.folder, "checkouts", call.slot), folder)
        checkout, proven = place.checkout, self._fill(place, call)
        if (behind := self._place_shares(checkout, shares)) is not None:
            return behind
        stamps = take_stamps(site.store, call.tree, checkout)
        part = "r/report"
        if call.like_user and site.boxed:
            part = dress_place(site, place, call.tree, len(stamps))
        report = os.path.join(place.tmp, part)
        os.makedirs(os.path.dirname(report), mode=0o700)
        named = os.path.join(os.path.dirname(self.report_folder(call.slot)), part)
        argv = exec_argv(gate, named)
        full = (program, *argv[1:])
        env = gate.env
        own, seen = os.path.dirname(report), os.path.dirname(named)
        if call.reads:
            env = reads_env(own, seen, self._root(checkout), env)
        if call.watch is not None:
            env = watch_env(call.watch, own, seen, self._root(checkout), env)
        if call.times > 1:
            full = ("/bin/sh", "-c", _AGAIN, "sh", str(call.times), str(call.seconds), seen, *full)
        like = call.like_user
        if like and site.boxed:
            env = clock_env(own, seen, env)
        cache = compiler_cache(site, call.tree)
        spec = gate_spec(
            site, gate, full, place=place, folder=folder, env=env, shares=shares, cache=cache, like_user=like
        )
        opened = ReadsWatch(checkout) if call.reads or call.opened else None
        try:
            started = client.start_call(folder, spec, site.fork_client)
        except SetupError as error:
            if opened is not None:
                opened.stop()
            return missing("spawn", error.why or error.what)
        return Work(
            wanted=call,
            folder=folder,
            place=place,
            argv=argv,
            report=report,
            report_at=named,
            call=started,
            tool_sha=tool_sha,
            env_names=tuple(sorted(spec.env)),
            proven=proven,
            stamps=stamps,
            opened=opened,
        )

    def report_folder(self, slot: str) -> str:
        """Where a call of this slot leaves its report, as the gate itself sees it."""
        return "/tmp/r" if self.site.boxed else os.path.join(self.site.folder, "gates", slot, "tmp", "r")  # noqa: S108

    def _fill(self, place: GatePlace, call: GateCall) -> str:
        """The tree that stands in the checkout now."""
        os.makedirs(os.path.dirname(place.top), mode=0o700, exist_ok=True)
        place.clean()
        fill = fresh_checkout if call.fresh else update_checkout
        index = place.top + ".index"
        return fill(self.site.store, place.checkout, index, call.tree, self._modules)

    def _place_shares(self, checkout: str, shares: Shares) -> Reading | None:
        """Mount points of what is shared in, empty in the checkout itself; none behind a link of the tree."""
        real = os.path.realpath(checkout)
        for share in shares:
            point = os.path.join(checkout, os.path.relpath(share.at, self.site.order.repo))
            above = os.path.dirname(point)
            if os.path.realpath(above) != os.path.normpath(
                os.path.join(real, os.path.relpath(above, checkout))
            ):
                link = os.path.relpath(above, checkout)
                return Reading("error", f"{link} is a link, and {os.path.basename(point)} belongs in it")
            if not self.site.boxed:
                if not os.path.lexists(point):
                    os.makedirs(above, exist_ok=True)
                    os.symlink(share.source, point)
            elif os.path.isdir(share.source):
                os.makedirs(point, exist_ok=True)
            elif not os.path.lexists(point):
                os.makedirs(above, exist_ok=True)
                with open(point, "x"):
                    pass
        return None

    def _root(self, checkout: str) -> str:
        """Where the judged tree stands for the gate."""
        return self.site.order.repo if self.site.boxed else checkout

    def _read(self, work: Work) -> Heard:
        """What the gate said, its evidence stored first."""
        site, ended, gate, tree = self.site, work.call.ended, work.wanted.gate, work.wanted.tree
        assert ended is not None
        head, gap, tail = client.read_output(work.folder, MAX_OUTPUT_BYTES)
        output = head + (b"\n[... %d bytes left out ...]\n" % gap if gap else b"") + tail
        report = read_regular(work.report, MAX_REPORT)
        root, watch = self._root(work.place.checkout), work.wanted.watch
        hits = read_hits(watch, os.path.dirname(work.report), root, gate) if watch is not None else None
        written = written_paths(work.place.checkout, work.stamps)
        evidence = {
            "gate": gate.name,
            "stage": work.wanted.stage,
            "tree": tree,
            "proven_tree": work.proven,
            "argv": work.argv,
            "run": gate.run,
            "cwd": gate.cwd,
            "tool": gate.tool,
            "tool_sha256": work.tool_sha,
            "environment": work.env_names,
            "sandbox": site.level,
            "network": gate.network,
            "ended": msgspec.structs.asdict(ended),
            "output": blobs.put(site.state.blobs, output),
            "report": blobs.put(site.state.blobs, report) if report is not None else None,
            "report_at": work.report_at,
            "executed": hits,
            "written": written,
        }
        stored = blobs.put(site.state.blobs, msgspec.json.encode(evidence))
        observation = Observation(
            exit_code=ended.exit_code,
            ended=ended.ended,
            output=output,
            report=report,
            error=ended.error or (f"killed by signal {ended.signal}" if ended.signal else ""),
            root=root,
        )
        lost = missing("wrong-tree") if work.proven != tree else machine_made(ended)
        reading = lost or held_against(reader(gate.read)(observation, gate), ended)
        marks = read_regular(os.path.join(os.path.dirname(work.report), MARKS), MAX_REPORT) or b""
        if work.opened is not None:
            reads = work.opened.read_notes_of(os.path.dirname(work.report), site.store, tree)
            reading = msgspec.structs.replace(reading, reads=reads)
        reading = unless_full(reading, site.state.root, lambda: _tidy(work))
        reading = msgspec.structs.replace(reading, written=written)
        return Heard(work.wanted, reading, stored, ended.seconds or 0.0, ended.exit_code, hits, marks)


def _tidy(work: Work) -> None:
    """What only the check itself had written."""
    work.place.clean()
    remove_tree(os.path.join(work.folder, "overlay"))


def _next(wanted: list[GateCall], running: list[Work]) -> int | None:
    """Which may start beside what runs: exclusive gates want the machine alone, a checkout has one user."""
    if not wanted or len(running) >= min(MAX_PARALLEL, os.cpu_count() or 1):
        return None
    if any(work.wanted.gate.exclusive for work in running) or (running and wanted[0].gate.exclusive):
        return None
    busy = {work.wanted.slot for work in running}
    free = (i for i, call in enumerate(wanted) if call.slot not in busy)
    return next((i for i in free if not (running and wanted[i].gate.exclusive)), None)


def _activity(running: list[Work], waiting: int, seconds: float) -> Activity:
    names = tuple(dict.fromkeys(work.wanted.gate.name for work in running))
    stages = tuple(dict.fromkeys(work.wanted.stage for work in running))
    return Activity("gate", names, seconds, stages=stages, waiting=waiting)
