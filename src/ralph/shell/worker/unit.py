"""The systemd user unit that starts the worker with the machine, or with the user's first login."""

from __future__ import annotations

import os
from collections.abc import Mapping

NAME = "ralph-worker.service"


def unit_path(env: Mapping[str, str]) -> str:
    base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".config")
    return os.path.join(base, "systemd", "user", NAME)


def unit_text(argv: list[str], env: Mapping[str, str]) -> str:
    """Its runners stay when it is stopped or restarted: they are processes of their own."""
    names = ("PATH", "RALPH_STATE_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    kept = {name: env[name] for name in names if env.get(name)}
    lines = [f"Environment={_quote_word(f'{name}={value}')}" for name, value in kept.items()]
    return "\n".join(
        [
            "[Unit]",
            "Description=Ralph worker: keeps background loops going",
            "",
            "[Service]",
            f"ExecStart={' '.join(_quote_word(word) for word in argv)}",
            *lines,
            "KillMode=process",
            "Restart=on-failure",
            "RestartSec=5",
            "",
            "[Install]",
            "WantedBy=default.target",
            "",
        ]
    )


def _quote_word(word: str) -> str:
    """As systemd reads it: percent signs and dollars are its own."""
    word = word.replace("%", "%%").replace("$", "$$")
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
