"""What a program may tell a loop: a note, a pause, an answer, to go on, to end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ralph.app import tell
from ralph.app.remote.arguments import AbortLoop, AnswerLoop, PauseLoop, ResumeLoop, SteerLoop
from ralph.app.remote.scope import ServedProjects
from ralph.core.model.loop import Loop
from ralph.errors import NeedsHuman

AUTHOR = "mcp"


def steer_loop(asked: SteerLoop, scope: ServedProjects, env: Mapping[str, str]) -> dict[str, Any]:
    name = scope.loop(asked.loop, env)
    return _standing(name, tell.steer_loop(name, asked.text, env, author=AUTHOR)) | {"noted": True}


def pause_loop(asked: PauseLoop, scope: ServedProjects, env: Mapping[str, str]) -> dict[str, Any]:
    name = scope.loop(asked.loop, env)
    return _standing(name, tell.pause_loop(name, env, now=asked.now)) | {"pause_asked": True}


def abort_loop(asked: AbortLoop, scope: ServedProjects, env: Mapping[str, str]) -> dict[str, Any]:
    name = scope.loop(asked.loop, env)
    return _standing(name, tell.abort_loop(name, env, reason=asked.reason or "aborted by an MCP client"))


def _standing(name: str, loop: Loop) -> dict[str, Any]:
    return {"loop": name, "phase": loop.phase, "outcome": loop.outcome}


def resume_loop(asked: ResumeLoop, scope: ServedProjects, env: Mapping[str, str]) -> dict[str, Any]:
    return _go_on(scope.loop(asked.loop, env), asked.note, env, queue=False)


def answer_loop(asked: AnswerLoop, scope: ServedProjects, env: Mapping[str, str]) -> dict[str, Any]:
    from ralph.app.resume import refuse_final

    name = scope.loop(asked.loop, env)
    if refuse_final(name, env).phase not in ("ended", "paused"):
        tell.steer_loop(name, asked.text, env, author=AUTHOR)
        return {"loop": name, "state": "running", "noted": True}
    return _go_on(name, asked.text, env, queue=True)


def _go_on(name: str, note: str, env: Mapping[str, str], *, queue: bool) -> dict[str, Any]:
    from ralph.app.background.hand_over import hand_over, handed_json
    from ralph.app.resume import ResumeRequest, prepare_resume, refuse_final

    loop = refuse_final(name, env)
    if loop.phase == "ended" and loop.progress.integrity_hits:  # a resume forgets them: somebody has looked
        raise NeedsHuman(
            f"in loop '{name}' tests or checks were tampered with",
            code="E-MCP-REVIEW",
            why="a person must look at the tree before it continues",
            next=f"ralph diff {name}",
        )
    room = prepare_resume(ResumeRequest(loop=name, note=note, author=AUTHOR), env)
    handed = hand_over(
        name,
        env,
        priority="medium",
        most=room.max_loops or 1,
        machine=room.max_loops_machine or 1,
        first=room.first,
        queue=queue,
    )
    return handed_json(handed)
