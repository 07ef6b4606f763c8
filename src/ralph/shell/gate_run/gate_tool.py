"""The program of a gate: where it is, whether it is the sealed one, whose it is, and what it compiled."""

from __future__ import annotations

import os

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.gates.command import simple_commands
from ralph.gates.seal import SHELL
from ralph.shell.files.paths import covers
from ralph.shell.files.write_whole import write_whole
from ralph.shell.sandbox import tools
from ralph.shell.sandbox.bubblewrap import SharedMount, home_inside
from ralph.shell.sandbox.own_env import FORGET_TESTS, GO_CACHE, HOME_FILES, only_ours
from ralph.shell.sandbox.site import Site

Shares = tuple[SharedMount, ...]


def locate_program(site: Site, gate: Gate, word: str, shares: Shares) -> str:
    """The whole path of a gate's program; in its folder, where it is found nowhere."""
    cwd = user_cwd(site, gate)
    found = tools.find_executable(word, path=site.gate_path(gate), cwd=cwd)
    return find_in_shares(site, gate, shares) or found or os.path.join(cwd, word)


def tool_hash(site: Site, gate: Gate, shares: Shares) -> str | Reading:
    """The hash of the gate's tool; one that is missing or is not the sealed one gives no verdict."""
    path = site.gate_path(gate)
    found = tools.resolve(
        gate.argv[0],
        path=path,
        cwd=user_cwd(site, gate),
        repo=site.order.repo,
        home=site.home,
        known=site.known,
    )
    ours = _ours(gate, path, site.order.repo)
    if ours is not None:
        return ours
    if isinstance(found, tools.MissingTool):
        if find_in_shares(site, gate, shares):
            return ""  # built by the user's setup command, which was approved
        if not os.path.isabs(gate.argv[0]) and "/" in gate.argv[0]:
            return ""  # stands in the judged tree, which may have it although the user's checkout has not
        hint = f"; install it with: {found.hint}" if found.hint else ""
        return Reading("error", f'command not found: "{found.word}", {found.why}{hint}', cause="missing")
    if gate.tool_sha and found.sha256 != gate.tool_sha:
        why = f'"{found.path}" is not the file it was when the loop started'
        return Reading("error", why, cause="tool-changed")
    return found.sha256


def find_in_shares(site: Site, gate: Gate, shares: Shares) -> str | None:
    """The gate's program where its PATH leads into a folder that a setup command built."""
    if "/" in gate.argv[0]:
        return None
    for part in site.gate_path(gate).split(os.pathsep)[: len(gate.path)]:
        for share in shares:
            if share.source != share.at and covers(share.at, part):
                inside = os.path.join(part, gate.argv[0])
                if os.access(share.source + inside[len(share.at) :], os.X_OK):
                    return inside
    return None


def user_cwd(site: Site, gate: Gate) -> str:
    return os.path.normpath(os.path.join(site.order.repo, gate.cwd))


def _ours(gate: Gate, path: str, repo: str) -> Reading | None:
    """A command inside a shell text that only Ralph's own environment has: its red would say nothing."""
    if gate.argv[:2] != SHELL or gate.path:  # in a folder of its own, setup may put it there
        return None
    for words in simple_commands(gate.run):
        if (
            words
            and tools.find_executable(words[0], path=path, cwd=repo) is None
            and only_ours(words[0], repo)
        ):
            line = tools.install_line(words[0])
            hint = f"; install it with: {line}" if line else ""
            said = f'command not found: "{words[0]}", {tools.OURS}{hint}'
            return Reading("error", said, cause="missing")
    return None


def compiler_cache(site: Site, tree: str) -> SharedMount | None:
    """Go's, which lies below the home, and a call's home is made up: each would compile Go's library again.

    Calls on the base fill one for their loop. All others write to a layer of their own above it, so nothing
    that an agent wrote is ever in it.
    """
    if not site.boxed:
        return None
    place = os.path.join(site.folder, "deps", "go-build")
    forget, at_base = os.path.join(place, os.path.basename(FORGET_TESTS)), tree == site.order.base.tree
    if at_base and not os.path.exists(forget):  # whole or not there: a runner may be killed at any moment
        os.makedirs(place, mode=0o700, exist_ok=True)
        write_whole(forget, HOME_FILES[FORGET_TESTS].encode())
    filled = os.path.exists(forget) and len(os.listdir(place)) > 1
    if not at_base and not (site.unshare and filled):
        return None
    at = os.path.join(home_inside(site.order.repo, site.home), GO_CACHE)
    return SharedMount(place, at, keeps=at_base)
