"""A box in the user's likeness: a clone that git believes in, other process numbers, a shell's variables."""

import subprocess

from gitkit import begin, make_repo

from ralph.shell.git.checkout import fresh_checkout
from ralph.shell.sandbox import boxes


def git(top, *words):
    done = subprocess.run(["git", *words], cwd=top, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_clone_is_one(tmp_path):
    """Git finds one commit with this very tree, on a branch, and a clean work tree; nothing names Ralph."""
    loop = begin(make_repo(tmp_path / "r"), tmp_path / "s")
    at, tree = tmp_path / "at", loop.start.base_tree
    fresh_checkout(loop.store, str(at), str(tmp_path / "index"), tree)
    boxes.write_clone(loop.store, str(at), str(tmp_path / "index"), tree, 3)
    assert git(at, "rev-parse", "HEAD^{tree}") == tree
    assert git(at, "status", "--porcelain") == ""
    assert git(at, "branch", "--show-current") == "main"
    assert git(at, "show", "HEAD:a.txt") == "one"
    assert "ralph" not in git(at, "log", "--format=%an %ae %s %b").lower()
    assert "ralph" not in (at / ".git" / "config").read_text().lower()


def test_numbers_of_processes(tmp_path):
    """The command keeps its words and its exit code, and comes after many other processes."""
    argv = boxes.after_others(("/bin/sh", "-c", 'echo "$1"; exit 7', "sh", "a  b"))
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("a  b\n", 7)
    assert int(argv[4]) >= boxes.FIRST_PIDS


def test_the_variables_of_a_shell():
    """What a login shell sets is there, and nothing that a box of Ralph's adds."""
    env = boxes.shell_env({"PATH": "/bin", "TMPDIR": "/tmp", "HOME": "/h"}, {"USER": "kim"}, "/h/p")
    assert (env["USER"], env["PWD"], env["PATH"], env["HOME"]) == ("kim", "/h/p", "/bin", "/h")
    assert "TMPDIR" not in env
    assert boxes.shell_env({"TMPDIR": "/x"}, {"TMPDIR": "/x"}, "/")["TMPDIR"] == "/x"


def test_the_home_has_the_usual_files(tmp_path):
    """It is not empty, and its files are those of some user."""
    home = boxes.make_home(str(tmp_path / "home"), {"USER": "kim"})
    assert "name = kim" in (tmp_path / "home" / ".gitconfig").read_text()
    assert home == str(tmp_path / "home")
