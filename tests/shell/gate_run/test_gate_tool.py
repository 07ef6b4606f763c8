"""The tool of a gate is the one that was sealed, or there is no verdict."""

from types import SimpleNamespace

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.shell.gate_run.gate_tool import compiler_cache, tool_hash
from ralph.shell.sandbox.tools import ToolMemory


def test_another_tool_than_the_sealed_one_gives_no_verdict(tmp_path):
    """Whoever replaces it on the disk makes no check green by that."""
    program = tmp_path / "bin/check"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)

    def ask(gate):
        order = SimpleNamespace(repo=str(tmp_path))
        site = SimpleNamespace(order=order, home=str(tmp_path), known=ToolMemory())
        site.gate_path = lambda gate: str(program.parent)
        return tool_hash(site, gate, ())

    gate = Gate(name="tests", run="check", argv=("check",))
    gate = replace(gate, tool_sha=ask(gate))
    assert ask(gate) == gate.tool_sha != ""
    program.write_text("#!/bin/sh\nexit 0\n")
    said = ask(gate)
    assert isinstance(said, Reading)
    assert (said.status, said.cause) == ("error", "tool-changed")


def test_a_cache_that_a_killed_runner_left_half_made_forgets_tests_all_the_same(tmp_path):
    """Go believes its notes of passed tests where that file is missing: no call sees a cache without it."""
    base, result = "b" * 40, "c" * 40
    order = SimpleNamespace(base=SimpleNamespace(tree=base), repo="/r/p")
    site = SimpleNamespace(boxed=True, unshare="unshare", folder=str(tmp_path), home="/h", order=order)
    place = tmp_path / "deps" / "go-build"
    (place / "00").mkdir(parents=True)
    (place / "01").mkdir()
    assert compiler_cache(site, result) is None
    assert compiler_cache(site, base).keeps
    assert int((place / "testexpire.txt").read_text()) == 2**63 - 1
    assert not compiler_cache(site, result).keeps
