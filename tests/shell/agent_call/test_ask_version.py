"""Programs that are asked for their version may hang, and leave children behind: both are ended."""

from __future__ import annotations

import os
import time

from ralph.agents import Probe
from ralph.shell.agent_call import ask_version


def alive(mark):
    """Who is left after a moment: the kernel ends a killed process when it gets to it."""
    end = time.monotonic() + 5
    while (found := seen(mark)) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def seen(mark):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if mark.encode() in file.read():
                    found.append(pid)
        except OSError:
            continue
    return found


def tool(tmp_path, text):
    path = tmp_path / "tool"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return Probe(True, path=str(path), version_argv=(str(path), "--version"))


def test_one_that_hangs_is_ended_with_its_tree(tmp_path, monkeypatch):
    """A child in a session of its own would hold a list of agents up for as long as it lives."""
    monkeypatch.setattr(ask_version, "TIMEOUT_SECONDS", 0.5)
    found = tool(tmp_path, "setsid sleep 61.25 &\nsleep 61.25")
    began = time.monotonic()
    assert ask_version.version_of(found, dict(os.environ)) == ""
    assert time.monotonic() - began < 30  # the sleep is a minute
    assert alive("61.25") == []


def test_one_that_leaves_a_child_is_not_waited_for(tmp_path):
    """Its answer is there; what it left behind, holding the output, is ended."""
    found = tool(tmp_path, "sleep 62.25 &\necho tool 1.2.3")
    began = time.monotonic()
    assert ask_version.version_of(found, dict(os.environ)) == "1.2.3"
    assert time.monotonic() - began < 30  # the sleep is a minute
    assert alive("62.25") == []
