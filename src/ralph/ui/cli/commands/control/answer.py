"""`ralph answer`: answer the question of a blocked loop, and let it go on."""

from __future__ import annotations

import os

import click


@click.command(short_help="Answer a blocked loop and continue it.")
@click.argument("words", nargs=-1, metavar="[LOOP] TEXT")
def command(words: tuple[str, ...]) -> int:
    """Give TEXT to a LOOP that is blocked, as a note in its next prompt, and continue it in the background.

    A loop at work reads TEXT in its next prompt, as with `ralph steer`.

    \b
    Example:
      ralph answer fix-auth "yes, drop the column"
    """
    from ralph.app.resume import ResumeRequest, prepare_resume, refuse_final
    from ralph.app.tell import check_note, steer_loop
    from ralph.ui.ask.detach import detach_and_show
    from ralph.ui.cli.pick_loop import loop_and_text, loop_for

    env = dict(os.environ)
    loop, text = loop_and_text(words)
    check_note(text)
    name = loop_for("answer", loop)
    author = env.get("USER", "")
    if refuse_final(name, env).phase not in ("ended", "paused"):
        steer_loop(name, text, env, author=author)
        print(f"{name} will read it in its next prompt")
        return 0
    room = prepare_resume(ResumeRequest(loop=name, note=text, author=author), env)
    return detach_and_show(name, env, room, room.first)
