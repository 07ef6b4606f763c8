"""Where state and configuration of a user are; hooks ask all day long, so this imports next to nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ralph.errors import UserError


def state_dir(env: Mapping[str, str]) -> str:
    """$RALPH_STATE_DIR, else $XDG_STATE_HOME/ralph, else ~/.local/state/ralph."""
    own = env.get("RALPH_STATE_DIR", "")
    if not own:
        return _xdg(env, "XDG_STATE_HOME", ".local/state")
    if not os.path.isabs(own):
        raise UserError(
            f"'RALPH_STATE_DIR' is '{own}', expected an absolute path",
            code="E-STATE-RELATIVE",
            why="a relative one would mean another place in each folder",
            next=f'export RALPH_STATE_DIR="$PWD/{own}"',
        )
    return os.path.normpath(own)


def config_dir(env: Mapping[str, str]) -> str:
    """$XDG_CONFIG_HOME/ralph, else ~/.config/ralph."""
    return _xdg(env, "XDG_CONFIG_HOME", ".config")


def _xdg(env: Mapping[str, str], variable: str, default: str) -> str:
    base = env.get(variable, "")
    if not os.path.isabs(base):  # unset, or relative, which the XDG specification says to ignore
        base = os.path.join(env.get("HOME") or os.path.expanduser("~"), default)
    return os.path.join(base, "ralph")
