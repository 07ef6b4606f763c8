"""The adapter for any executable: `--agent-cmd "./my-agent.sh --flag {prompt_file}"`.

The prompt comes on stdin, or as a file where `{prompt_file}` stands. Output is plain text or the JSON
lines of `jsonlines`. Lists in `agent_settings` (`env`, `write`) are strings with one entry a line.
"""

from __future__ import annotations

import os.path
import re
import shlex
from collections.abc import Mapping

from ralph.agents import CallContext, Launch, Parser, Probe
from ralph.agents._kit.cli import setting_lines
from ralph.agents._kit.environ import ORDINARY, PROVIDERS, agent_environ
from ralph.agents._kit.jsonlines import JsonLinesParser
from ralph.core.model.agent import AgentSession
from ralph.core.model.order import Order
from ralph.errors import UserError

PROMPT_FILE = "{prompt_file}"
_SHELL = ("/bin/sh", "-c")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\$`]|\\.)*\"|\\.")
_SYNTAX = re.compile(r"[|&;<>()$`*?\[\]\n]|(?:^|\s)~|^\s*[A-Za-z_]\w*=")
_PLAIN_WORD = re.compile(r"[\w./+@%-]*[\w]")


def probe(environ: Mapping[str, str]) -> Probe:  # noqa: ARG001
    """Always there: which executable it is, the order says."""
    return Probe(installed=True, hint='name the executable: --agent-cmd "./my-agent.sh"')


def split_command(command: str) -> tuple[str, ...]:
    """A typed command as arguments: its own words, or `/bin/sh -c` where it holds shell syntax."""
    bare = _QUOTED.sub("", command.replace(PROMPT_FILE, ""))
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UserError(
            f'agent command cannot be read: "{command}"',
            code="E-AGENT-CMD",
            why=str(error).lower(),
            next="ralph agents list",
        ) from None
    if not words:
        raise UserError(
            'agent command is empty, expected an executable, for example "./my-agent.sh"',
            code="E-AGENT-CMD",
            next="ralph agents list",
        )
    return (*_SHELL, command) if _SYNTAX.search(bare) else words


def launch(order: Order, call: CallContext) -> Launch:
    """One call of the user's command."""
    argv = order.agent.argv
    if not argv:
        raise UserError(
            'agent "command" needs a command, none was given', code="E-AGENT-CMD", next="ralph agents list"
        )
    shell = argv[:2] == _SHELL and len(argv) == len(_SHELL) + 1
    path = shlex.quote(call.prompt_file) if shell else call.prompt_file
    words = _shell_words(argv[2]) if shell else argv
    tools = words if shell else [word for word in words if word.startswith(("/", "./", "../"))]
    settings = order.agent.settings
    return Launch(
        argv=tuple(word.replace(PROMPT_FILE, path) for word in argv),
        env=agent_environ(call, ORDINARY, PROVIDERS, setting_lines(settings, "env")),
        stdin="none" if any(PROMPT_FILE in word for word in argv) else "prompt",
        tools=tuple(dict.fromkeys([argv[0], *tools])),
        writes=setting_lines(settings, "write"),
        reads=_reads(words, call.environ.get("HOME", "")),
    )


def stream(order: Order, session: AgentSession | None = None) -> Parser:  # noqa: ARG001
    return JsonLinesParser()


def _shell_words(script: str) -> tuple[str, ...]:
    """The words of a shell command that may name a program or a file; which do, the machine knows."""
    lexer = shlex.shlex(script, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    return tuple(word for word in lexer if _PLAIN_WORD.fullmatch(word) and not word.startswith("-"))


def _reads(words: tuple[str, ...], home: str) -> tuple[str, ...]:
    """Folders of the absolute paths in a command: a script's neighbours belong to it.

    Never a whole home or root folder: from those only the named file itself.
    """
    found: list[str] = []
    for word in words:
        if not word.startswith("/") or PROMPT_FILE in word:
            continue
        folder = os.path.dirname(os.path.normpath(word))
        broad = folder.count("/") < 2 or folder == home.rstrip("/")
        found.append(word if broad else folder)
    return tuple(dict.fromkeys(found))
