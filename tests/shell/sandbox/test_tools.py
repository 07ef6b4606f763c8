"""Tools: found as a shell would, hashed, and with just the folders that they need."""

import hashlib
import os
import subprocess
import sys

import pytest

from ralph.shell.sandbox import tools
from ralph.shell.sandbox.tools import MissingTool, Tool

# Without an environment of its own, there is none whose tools would have to be left out.
ONLY_OURS = "only in Ralph's own environment" if sys.prefix != sys.base_prefix else "not on PATH"


def program(path, text="#!/bin/sh\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def resolve(word, tmp_path, path="", cwd=None):
    repo = tmp_path / "home" / "repo"
    repo.mkdir(parents=True, exist_ok=True)
    return tools.resolve(word, path=path, cwd=str(cwd or repo), repo=str(repo), home=str(tmp_path / "home"))


def test_first_word_is_found_and_hashed(tmp_path):
    """A tool on PATH has an absolute path, a real path and the hash of its bytes."""
    real = program(tmp_path / "tool-1.2" / "bin" / "tool")
    link = tmp_path / "links" / "bin" / "tool"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    found = resolve("tool", tmp_path, path=f"/nowhere:{link.parent}:/usr/bin")
    assert isinstance(found, Tool)
    assert (found.path, found.real, found.in_repo) == (str(link), str(real), False)
    assert found.sha256 == hashlib.sha256(real.read_bytes()).hexdigest()
    assert {str(tmp_path / "tool-1.2"), str(tmp_path / "links")} <= set(found.prefixes)


def test_system_tools_need_no_prefix(tmp_path):
    """What lies in the system is there anyway."""
    found = resolve("sh", tmp_path, path="/usr/bin:/bin")
    assert found.prefixes == ()


def test_tool_of_the_repository_is_marked(tmp_path):
    """A script of the repository is found from the call's folder and binds nothing of the user's tree."""
    program(tmp_path / "home" / "repo" / "check.sh")
    found = resolve("./check.sh", tmp_path)
    assert found.in_repo
    assert found.prefixes == ()


@pytest.mark.parametrize(
    ("word", "why", "hint"),
    [
        ("yarn", "not on PATH", "npm install -g yarn"),
        ("pytest", ONLY_OURS, "pip install pytest"),
        ("no-such-tool", "not on PATH", ""),
        ("./plain", "not executable", "chmod"),
    ],
)
def test_missing_tool_is_a_value_with_a_hint(tmp_path, word, why, hint):
    """A tool that cannot be found says why, and how to get it where that is known."""
    (tmp_path / "home" / "repo").mkdir(parents=True)
    (tmp_path / "home" / "repo" / "plain").write_text("x")
    found = resolve(word, tmp_path, path="/nowhere")
    assert isinstance(found, MissingTool)
    assert why in found.why
    assert hint in found.hint


def test_relative_path_entries_are_not_searched(tmp_path):
    """A program in the current folder is not taken because PATH holds a dot."""
    program(tmp_path / "home" / "repo" / "tool")
    assert isinstance(resolve("tool", tmp_path, path=".:"), MissingTool)


@pytest.mark.parametrize("root", [".pyenv", ".nvm", ".local/share/uv", ".rustup"])
def test_toolchain_below_the_home_is_bound_whole(tmp_path, root):
    """A known toolchain root is bound, whatever depth the tool has in it."""
    home = tmp_path / "home"
    tool = program(home / root / "versions" / "1" / "bin" / "tool")
    assert resolve("tool", tmp_path, path=str(tool.parent)).prefixes == (str(home / root),)


def test_nothing_secret_beside_a_tool_is_bound(tmp_path):
    """A tool in the home or beside credentials binds its folder of programs, or itself, no more."""
    home = tmp_path / "home"
    for path, expected in (
        (home / "agent.sh", home / "agent.sh"),
        (home / ".cargo" / "bin" / "cargo-x", home / ".cargo" / "bin"),
        (home / ".local" / "bin" / "agent", home / ".local" / "bin"),
        (home / "bin" / "mine", home / "bin"),
        (home / "Documents" / "a.sh", home / "Documents" / "a.sh"),
        (home / "agents" / "a.sh", home / "agents"),
    ):
        program(path)
        assert resolve(str(path), tmp_path).prefixes == (str(expected),)
    (home / "agents" / ".env").write_text("KEY=1")
    assert resolve(str(home / "agents" / "a.sh"), tmp_path).prefixes == (str(home / "agents" / "a.sh"),)


def test_interpreter_of_a_script_is_followed(tmp_path):
    """A script needs the interpreter its first line names, through env as well."""
    home = tmp_path / "home"
    python = program(home / ".pyenv" / "versions" / "3" / "bin" / "snake")
    script = program(home / "agents" / "a", "#!/usr/bin/env -S snake -u\n")
    found = resolve(str(script), tmp_path, path=str(python.parent))
    assert set(found.prefixes) == {str(home / ".pyenv"), str(home / "agents")}
    direct = program(home / "agents" / "b", f"#!{python}\n")
    assert set(resolve(str(direct), tmp_path).prefixes) == {str(home / ".pyenv"), str(home / "agents")}


def test_global_node_package_brings_its_folder(tmp_path):
    """A linked npm program needs the node_modules it lies in."""
    home = tmp_path / "home"
    script = program(home / "npm" / "lib" / "node_modules" / "pkg" / "cli.js")
    link = home / "npm" / "bin" / "pkg"
    link.parent.mkdir(parents=True)
    link.symlink_to("../lib/node_modules/pkg/cli.js")
    found = resolve("pkg", tmp_path, path=str(link.parent))
    assert str(script.parent.parent) in found.prefixes or str(home / "npm") in found.prefixes


def test_virtual_environment_brings_its_base(tmp_path):
    """A tool of a virtual environment needs the environment and the interpreter it rests on."""
    home = tmp_path / "home"
    base = program(home / ".pyenv" / "versions" / "3" / "bin" / "python3")
    venv = home / "venvs" / "one"
    tool = program(venv / "bin" / "pytest", f"#!{venv}/bin/python\n")
    (venv / "bin" / "python").symlink_to(base)
    (venv / "pyvenv.cfg").write_text(f"home = {base.parent}\nversion = 3\n")
    assert set(resolve(str(tool), tmp_path).prefixes) == {str(venv), str(home / ".pyenv")}


def test_path_itself_is_made_to_work(tmp_path):
    """Folders on PATH and where their links lead are bound, so that the same python3 is found inside."""
    home = tmp_path / "home"
    program(home / ".pyenv" / "shims" / "python3")
    target = program(home / ".local" / "share" / "uv" / "tools" / "x" / "bin" / "x")
    (home / ".local" / "bin").mkdir(parents=True)
    (home / ".local" / "bin" / "x").symlink_to(target)
    path = f"{home}/.pyenv/shims:{home}/.local/bin:{home}:/usr/bin:{home}/repo/bin"
    found = tools.path_prefixes(path, home=str(home), repo=str(home / "repo"))
    assert set(found) == {str(home / ".pyenv"), str(home / ".local" / "bin"), str(home / ".local/share/uv")}


def test_a_large_program_is_hashed_once_for_all_loops(tmp_path):
    """Its hash is kept by time and size: read again when they move, or the file of hashes is torn."""
    tool, kept = tmp_path / "tool", tmp_path / "hashes.json"
    with tool.open("wb") as file:
        file.truncate(tools.LARGE)
    first = tools.ToolMemory(str(kept)).file_hash(str(tool))
    assert first == hashlib.sha256(bytes(tools.LARGE)).hexdigest()
    kept.write_text(kept.read_text().replace(first, "kept"))
    assert tools.ToolMemory(str(kept)).file_hash(str(tool)) == "kept"
    os.utime(tool, (1, 1))
    assert tools.ToolMemory(str(kept)).file_hash(str(tool)) == first
    kept.write_text("[[torn")
    assert tools.ToolMemory(str(kept)).file_hash(str(tool)) == first


def test_a_small_program_is_not_kept(tmp_path):
    """What is hashed in no time needs no memory on disk."""
    tool, kept = tmp_path / "tool", tmp_path / "hashes.json"
    tool.write_bytes(b"small")
    tools.ToolMemory(str(kept)).file_hash(str(tool))
    assert not kept.exists()


def test_hash_is_remembered_by_identity(tmp_path):
    """A file is read again only when it changed."""
    tool = program(tmp_path / "tool")
    cache = {}
    first = tools.file_hash(str(tool), cache)
    assert tools.file_hash(str(tool), cache) == first
    assert len(cache) == 1
    program(tmp_path / "tool", "#!/bin/sh\nexit 1\n")
    assert tools.file_hash(str(tool), cache) != first


def test_prefixes_of_this_interpreter_let_it_run():
    """The folders found for the running Python are enough for it, judged by where its library lies."""
    real = os.path.realpath(sys.executable)
    found = tools.prefixes(real, path=os.defpath, home=os.path.expanduser("~"), repo="/nowhere")
    code = "import os; print(os.__file__)"
    library = subprocess.run(
        [real, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert library.startswith(("/usr/", "/opt/", "/nix/", *found))
