"""Asking agents what they are: adapters say what to start, here it is, with a clock and bare environment."""

from __future__ import annotations

import concurrent.futures
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from ralph import agents
from ralph.agents import Probe
from ralph.agents._kit.environ import ORDINARY
from ralph.core.text.clean import one_line

TIMEOUT_SECONDS = 20.0  # seconds; some of them start slowly
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-+.][0-9A-Za-z.]+)?")


def probe_all(names: Iterable[str], env: Mapping[str, str]) -> dict[str, Probe]:
    """Each agent with its version, side by side: most of the time is theirs."""
    found = {name: agents.load(name).probe(env) for name in names}
    # The same program may be there in two ways: by its own adapter and over ACP.
    asking = {one.version_argv: one for one in found.values() if one.installed and one.version_argv}
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        versions = dict(zip(asking, pool.map(lambda one: version_of(one, env), asking.values()), strict=True))
    return {
        name: replace(one, version=versions.get(one.version_argv, one.version)) for name, one in found.items()
    }


def version_of(found: Probe, env: Mapping[str, str]) -> str:
    """What the program says of itself, without keys and in an empty home; "" when it says nothing usable."""
    bare = {name: env[name] for name in ORDINARY if name in env and not name.startswith("XDG_")}
    with tempfile.TemporaryDirectory(prefix="ralph-probe-") as home:
        try:
            done = subprocess.run(
                found.version_argv,
                env={**bare, "HOME": home, "CI": "1", "DISABLE_AUTOUPDATER": "1", "MSWEA_CONFIGURED": "true"},
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=TIMEOUT_SECONDS,
                check=False,
                start_new_session=True,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
    said = done.stdout[:4096].decode("utf-8", "replace")
    number = _VERSION.search(said)
    return number[0] if number else one_line(said, 40)
