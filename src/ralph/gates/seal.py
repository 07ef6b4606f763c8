"""Sealing: the text of a command becomes a Gate that is agreed once and never read again.

`exec_argv` gives back what is executed, with the reporter and the path of the report in place. The
tool's own path and hash are looked up by the shell, which adds them to the Gate.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from ralph.core.model.gate import Gate
from ralph.errors import UserError
from ralph.gates.command import REPORT, fill, fill_shell, needs_shell, simple_commands
from ralph.gates.own_files import own_files
from ralph.gates.readers import read_choices
from ralph.gates.runners import KnownRunner, insert, keep_stream, recognise, reporter, runner_of
from ralph.gates.scripts import COMMAND, see_through

__all__ = ["COMMAND", "SHELL", "exec_argv", "seal"]

SHELL = ("/bin/sh", "-c")


def seal(
    name: str,
    run: str,
    *,
    cwd: str = ".",
    tree_paths: frozenset[str] | Callable[[str], bool],
    read: str = "auto",
    content: Callable[[str], bytes | None] | None = None,
    **terms: Any,
) -> Gate:
    """`tree_paths` tells which repository paths are files at the base, `content` what stands in them; `terms`
    are fields of the gate that are agreed as they are."""
    argv = _argv(name, run)
    runner = None if argv[:2] == SHELL else recognise(argv)
    inner = see_through(argv, run, cwd, content) if runner is None and read == "auto" and content else None
    read = inner.name if inner else _choose(name, run, read, runner)
    added = reporter(runner, argv) if runner and read == runner.name else ()
    if inner and inner.argv != argv:
        added = (COMMAND, *inner.argv)
    elif read == "tap" and not added and REPORT not in run:
        added = (COMMAND, *keep_stream(argv))
    exists = tree_paths.__contains__ if isinstance(tree_paths, frozenset) else tree_paths
    commands = simple_commands(run) if argv[:2] == SHELL else [list(argv)]
    return Gate(
        name=name,
        run=run,
        argv=argv,
        read=read,
        reporter=added,
        cwd=cwd,
        own_files=own_files(commands, cwd, exists),
        exit_parts=inner is not None and inner.others,
        **terms,
    )


def _choose(name: str, run: str, read: str, runner: KnownRunner | None) -> str:
    """The reader's name; a choice that could never be judged is refused here."""
    choices = read_choices()
    if read not in choices:
        raise UserError(
            f'gate "{name}": read is "{read}", expected one of {", ".join(choices)}',
            code="E-GATE-READ",
            next="ralph config show --origin",
        )
    if read == "auto":
        return runner.name if runner else "exit"
    if read in ("exit", "tap") or REPORT in run:
        return read
    known = runner_of(runner.name) if runner else None
    if read == "junit" and known and known.row.junit:
        return known.name
    raise UserError(
        f'gate "{name}": read = "{read}" needs the word {REPORT} in its command',
        code="E-GATE-REPORT",
        why="Ralph puts a path there and reads the report that the command writes to it",
        next="ralph help checks",
    )


def _argv(name: str, run: str) -> tuple[str, ...]:
    if not run.strip() or "\0" in run:
        raise UserError(
            f'gate "{name}": its command is empty'
            if not run.strip()
            else f'gate "{name}": NUL in its command',
            code="E-GATE-EMPTY",
            why="a check without a command can never fail",
            next="ralph help checks",
        )
    try:
        words = tuple(shlex.split(run))
    except ValueError as error:
        raise UserError(
            f'gate "{name}": cannot split the command "{run}": {str(error).lower()}',
            code="E-GATE-SYNTAX",
            why="every quote that is opened has to be closed",
            next="ralph config show --origin",
        ) from error
    if needs_shell(run):
        return (*SHELL, run)
    return words


def exec_argv(gate: Gate, report_path: str) -> tuple[str, ...]:
    """What is executed for this gate, when its report is to be written to `report_path`."""
    if gate.reporter[:1] == (COMMAND,):
        return fill(gate.reporter[1:], report_path)
    if gate.argv[:2] == SHELL and len(gate.argv) == 3:
        return (*SHELL, fill_shell(gate.argv[2], report_path))
    argv = gate.argv
    runner = recognise(argv) if gate.reporter else None
    if runner:
        argv = insert(runner, argv, gate.reporter)
    return fill(argv, report_path)
