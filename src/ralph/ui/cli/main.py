"""The entry point and the one boundary where errors end: each becomes a message and an exit code.

Commands raise; nothing below this file prints an error or leaves the process by itself.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ralph.errors import RalphError
from ralph.ui.cli.streams import CANNOT_WRITE, can_write, flush_streams, fold_to_window, open_streams, silence

if TYPE_CHECKING:
    import click

INTERRUPTED = 130
BUG = 70


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    gc.disable()  # importing makes no garbage, only work for its collector; `tree` turns it on again
    open_streams()
    if not wants_json(args):
        fold_to_window(args[0] if args else "")
    _leave_out_own_tools()
    try:
        code = _run_guarded(args)
    except BrokenPipeError:
        silence(sys.stdout)  # the reader of our output is gone (`ralph logs | head`): end quietly
        code = 0
    except OSError as error:  # what was to be told of a failure could not be told
        silence(sys.stderr)
        code = flush_streams(CANNOT_WRITE if error.errno else BUG)
    finally:
        gc.freeze()  # else the interpreter looks through everything once more before it ends
        gc.enable()
    return flush_streams(code)


def _leave_out_own_tools() -> None:
    """Before anything is started for a project: tools of Ralph's own environment are not the project's."""
    if sys.prefix == sys.base_prefix or "PATH" not in os.environ:
        return
    from ralph.shell.sandbox.own_env import users_path

    try:
        here = os.getcwd()
    except OSError:  # the folder is gone; whoever needs it says so
        here = "/"
    os.environ["PATH"] = users_path(os.environ["PATH"], here)


def _run_guarded(args: list[str]) -> int:
    try:
        return _dispatch(args)
    except BrokenPipeError:
        raise
    except RalphError as error:
        if error.exit_code == BUG:
            return _bug(error, args)
        return _report_error(error, args)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # click has ended the line with the ^C
        return INTERRUPTED
    except (OSError, UnicodeEncodeError, MemoryError, RuntimeError) as error:
        named = _machine_error(error)
        return _bug(error, args) if named is None else _report_error(named, args)
    except Exception as exc:  # noqa: BLE001 (the boundary: whatever else comes here is our bug)
        return _bug(exc, args)


def _machine_error(error: Exception) -> RalphError | None:
    """The last net: what the machine lacks is no bug of ours, wherever it was met."""
    from ralph.errors import SetupError, UserError, machine_error

    if isinstance(error, UnicodeEncodeError):
        if "surrogates" not in error.reason:
            return None
        return UserError(
            "a name or a text holds bytes that are not UTF-8",
            code="E-NOT-UTF8",
            why="what Ralph records must be readable everywhere: "
            + ascii(str(error.object)[max(0, error.start - 40) : error.end + 40]),
            next="ralph doctor",
        )

    if isinstance(error, MemoryError):
        return machine_error(OSError(errno.ENOMEM, ""))
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return machine_error(OSError(errno.EAGAIN, ""))
    if not isinstance(error, OSError):
        return None
    if error.filename is None and not can_write():
        return SetupError(
            "the output could not be written", code="E-OUTPUT", why=str(error), next="ralph status --json"
        )
    try:
        os.getcwd()
    except FileNotFoundError:
        return UserError(
            "the current folder is gone",
            code="E-CWD-GONE",
            why="it was removed or moved while this terminal stood in it",
            next="cd ~",
        )
    except OSError:
        pass
    return machine_error(error)


def _dispatch(args: list[str]) -> int:
    if "_RALPH_COMPLETE" in os.environ:  # a shell asks what could be typed next; see `complete`
        from ralph.ui.cli.complete import answer_shell

        return answer_shell()
    if args in ([], ["status"], ["status", "--all"]):
        return _quick_status(args)
    if len(args) == 4 and args[0] == "hook" and args[2] == "--host":  # as `ralph skills` has it called
        from ralph.app.hooks.entry import run_hook

        return run_hook(args[1], args[3], os.environ)
    import click

    from ralph.ui.cli.tree import cli

    try:
        result = cli.main(args=args, prog_name="ralph", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as asked:
        print(asked.format_message())
        return 2
    except click.ClickException as wrong:
        return _report_error(_usage(wrong, args), args)
    except click.Abort as stopped:
        raise KeyboardInterrupt from stopped
    return result if isinstance(result, int) else 0


def _quick_status(args: list[str]) -> int:
    """What is typed most often, answered at once: loading click would take longer than all the rest."""
    from ralph.ui.cli.commands.views import status

    gc.freeze()
    gc.enable()
    try:
        return status.show(every="--all" in args) if args else status.overview()
    except KeyboardInterrupt:
        print(file=sys.stderr)  # ends the line with the ^C, as click does
        raise


def _usage(wrong: click.ClickException, args: list[str]) -> RalphError:
    """What click found wrong, as one of ours."""
    from ralph.errors import UserError
    from ralph.ui.cli.tree import commands

    # click offers --help as the nearest of all flags, which every `next` line does already
    text = wrong.format_message().replace(" Did you mean '--help'?", "").strip().rstrip(".")
    what, _, why = text.partition("\n")
    what, choices, _ = what.partition(". Choose from:")
    context = getattr(wrong, "ctx", None)  # a flag without its value comes without one
    command = f"ralph {args[0]}" if args and args[0] in commands() else "ralph"
    return UserError(
        what[:1].lower() + what[1:],
        code="E-USAGE",
        why=f"{'choose from: ' if choices else ''}{' '.join(why.split())}",
        next=f"{context.command_path if context else command} --help",
    )


def _report_error(error: RalphError, args: list[str]) -> int:
    from ralph.app.words.format import use_colour
    from ralph.ui.words.errors import next_line, show

    error.next = next_line(error.next, args)
    as_json = wants_json(args)
    sys.stdout.flush()
    colour = use_colour(sys.stderr, os.environ)
    show(error, as_json=as_json, stdout=sys.stdout, stderr=sys.stderr, colour=colour)
    if args[:1] == ["hook"]:  # where a host takes 2 for a refusal, and would hold its user for our trouble
        return 1
    return error.exit_code


def wants_json(args: Sequence[str]) -> bool:
    """Asked before parsing, because a command line that cannot be parsed must be answered too."""
    own = args[: args.index("--")] if "--" in args else args
    return "--json" in own


def _bug(exc: BaseException, args: list[str]) -> int:
    from ralph.ui.words.errors import bug_text, error_envelope

    if wants_json(args):
        import json

        from ralph.errors import Bug

        ours = exc if isinstance(exc, RalphError) else Bug(f"{type(exc).__name__}: {exc}")
        print(json.dumps(error_envelope(ours), ensure_ascii=False))
    print(bug_text(exc, ["ralph", *args]), file=sys.stderr)
    return BUG


if __name__ == "__main__":
    sys.exit(main())
