"""The user's `setup` command, executed: boxed like a gate, with network and without credentials."""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.core.text.clean import clean, trim
from ralph.gates.seal import exec_argv, seal
from ralph.shell.ports import Activity, Attention
from ralph.shell.process import client
from ralph.shell.sandbox import tools
from ralph.shell.sandbox.boxes import GatePlace, gate_spec
from ralph.shell.sandbox.machine_cause import machine_made
from ralph.shell.sandbox.own_env import only_ours
from ralph.shell.sandbox.site import Site

TIMEOUT_SECONDS = 1800.0
MAX_OUTPUT_BYTES = 1 << 20
POLL_SECONDS = 0.1


def run_setup(
    site: Site, folder: str, at: str, check_out: Callable[[str], None], attend: Attention
) -> Reading | bool:
    """True when it has built in `at`, where `check_out` puts the tree; False when asked to drop it."""
    order = site.order
    gate = setup_gate(order.box.setup, order.box.setup_cwd)
    argv = exec_argv(gate, "")
    cwd = os.path.normpath(os.path.join(order.repo, gate.cwd))
    located = tools.find_executable(argv[0], path=site.gate_path(gate), cwd=cwd)
    if located is None:
        missing = tools.OURS if only_ours(argv[0], order.repo) else "it is not on PATH"
        return _failure(order.box.setup, f'"{argv[0]}": {missing}')
    check_out(at)
    spec = gate_spec(
        site,
        gate,
        (located, *argv[1:]),
        place=GatePlace(at, at, os.path.join(folder, "tmp")),
        folder=folder,
        env={},
        shares=(),
    )
    call = client.start_call(folder, spec, site.fork_client)
    try:
        began = site.clock.monotonic()
        while call.ended is None:
            client.poll([call], POLL_SECONDS)
            if attend(Activity("gate", ("setup",), site.clock.monotonic() - began)):
                return False
    finally:
        if call.ended is None:
            client.kill(call)
            client.wait(call)
    ended = call.ended
    if (lost := machine_made(ended)) is not None:
        return replace(lost, summary=f"setup: {lost.summary}")
    if ended.ended != "exited" or ended.exit_code != 0:
        head, _, tail = client.read_output(folder, MAX_OUTPUT_BYTES)
        how = f"exit code {ended.exit_code}" if ended.ended == "exited" else ended.ended
        return _failure(order.box.setup, f"{how}: {trim(clean(head + tail).strip(), 12, 800)}")
    return True


def setup_gate(run: str, cwd: str) -> Gate:
    """A setup command as the box of a gate takes it: with network, for half an hour at most."""
    return seal(
        "setup", run, cwd=cwd, tree_paths=frozenset(), read="exit", network=True, timeout=TIMEOUT_SECONDS
    )


def _failure(run: str, why: str) -> Reading:
    return Reading("error", f"setup failed ({run}): {why}", cause="missing")
