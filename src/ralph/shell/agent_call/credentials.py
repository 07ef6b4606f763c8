"""The key of a profile, fetched anew for each call: from a variable of the user or from a command's output.

It goes into the agent's environment and nowhere else: not into the order, the journal, a file or a message.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from ralph.agents.command import split_command
from ralph.core.model.agent import Fault, KeySource

TIMEOUT_SECONDS = 30.0  # seconds; a password manager may ask its owner
MAX_CHARS = 16_384


def fetch(source: KeySource | None, env: Mapping[str, str]) -> dict[str, str] | Fault:
    """The variable that holds the key; a fault that says what is missing, without what was printed."""
    if source is None:
        return {}
    if source.command:
        return _from_command(source, env)
    value = env.get(source.variable, "").strip()
    if not value:
        return Fault("auth", f"the variable {source.variable} holds no key; set it and resume the loop")
    return {source.into: value}


def _from_command(source: KeySource, env: Mapping[str, str]) -> dict[str, str] | Fault:
    argv = split_command(source.command)
    try:
        done = subprocess.run(
            argv,
            env=dict(env),
            cwd=env.get("HOME") or os.sep,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Fault("auth", f'the key command "{argv[0]}" gave no key within {TIMEOUT_SECONDS:.0f} s')
    except OSError as error:
        return Fault("auth", f'the key command "{argv[0]}" cannot be started: {error.strerror}')
    key = done.stdout[: MAX_CHARS + 1].decode("utf-8", "replace").strip()
    if done.returncode or not key or len(key) > MAX_CHARS or any(char.isspace() for char in key):
        told = f"exit code {done.returncode}" if done.returncode else "no single word"
        return Fault("auth", f'the key command "{argv[0]}" gave no key: {told}')
    return {source.into: key}
