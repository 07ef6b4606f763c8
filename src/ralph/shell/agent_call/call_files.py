"""What a call leaves in its folder: notes for whoever accounts for it, files for its parser, its output."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

import msgspec

from ralph import agents
from ralph.agents._kit.lines import Intake
from ralph.core.model.agent import AgentSession
from ralph.shell.process import client

LARGEST = 32 << 20  # bytes of a file that a CLI leaves for its parser


class Kept(msgspec.Struct, frozen=True):
    """What must be known of a call after its end, also by a runner that did not begin it."""

    program: str = ""
    session: str = ""
    outputs: tuple[str, ...] = ()


def read_kept(folder: str) -> Kept:
    try:
        with open(os.path.join(folder, "kept.json"), "rb") as file:
            return msgspec.json.decode(file.read(), type=Kept)
    except (OSError, msgspec.DecodeError):
        return Kept()


def files_left(folder: str, names: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """What the CLI left beside its output. The agent could have written it too: bounded, and never a link."""
    for name in names:
        path = os.path.join(folder, "tmp", os.path.basename(name))
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        with os.fdopen(handle, "rb") as file:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                yield name, file.read(LARGEST)


def output_pieces(folder: str, *, gap: bool) -> Iterator[bytes]:
    """Head and tail in pieces; a gap between them ends the line that it falls into."""
    for name in ("out", "out-tail"):
        path = os.path.join(folder, name)
        if name == "out-tail" and gap:
            yield b"\n"
        if os.path.exists(path):
            with open(path, "rb") as file:
                while chunk := file.read(1 << 20):
                    yield chunk


def read_facts(
    parser: agents.Parser, folder: str, kept: Kept, ended: client.Ended, *, sat_out: bool
) -> agents.CallFacts:
    """All that its output and files say, with the conversation it belongs to."""
    intake = Intake(parser)
    dropped = ended.dropped_bytes or 0
    for chunk in output_pieces(folder, gap=bool(dropped)):
        intake.absorb(chunk)
    for name, data in files_left(folder, kept.outputs):
        parser.file(name, data)
    how = "crashed" if ended.ended == "memory" else "idle" if sat_out else ended.ended
    held_up = ended.frozen and ended.ended in ("timeout", "idle")  # it had less time than the clocks say
    how = "killed" if ended.outside or held_up else how
    facts = intake.finish(_exit_code(ended), how, dropped)
    session = facts.session or AgentSession("")
    if not session.id:  # the stream does not tell it: the one that was chosen at the start
        session = msgspec.structs.replace(session, id=kept.session)
    return msgspec.structs.replace(facts, session=session if session.id else None)


def _exit_code(ended: client.Ended) -> int | None:
    """As a shell says it: from a box an exit code above 128 looks like a signal, and some CLIs use those."""
    return 128 + ended.signal if ended.exit_code is None and ended.signal else ended.exit_code
