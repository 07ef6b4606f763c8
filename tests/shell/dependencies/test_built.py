"""What of a setup command's work is shared, what counts as a change of lockfiles, and who may discard it."""

from __future__ import annotations

import fcntl
import os
import time

from gitkit import begin, make_repo, write

from ralph.shell.dependencies import built, shared
from ralph.shell.git.snapshot import take_snapshot

CONFIG = "[options]\ninstall_requires = click\n[flake8]\nmax-line-length = 80\n"
TOX = "[testenv]\ndeps = pytest\ncommands = pytest\n"


def test_only_real_untracked_folders_of_a_build_are_shared(tmp_path):
    """Dependency folders that were built and those named are found; tracked ones and ways out are not."""
    top = make_repo(tmp_path / "repo", {"package.json": "{}", "web/package.json": "{}", "venv/kept": ""})
    loop = begin(top, tmp_path / "state")
    at = tmp_path / "at"
    outside = tmp_path / "outside"
    write(outside, {"node_modules/a": "", "inner/b": ""})
    write(at, {"node_modules/a": "", "venv/kept": "", "build/x": "", "build/out/y": ""})
    (at / "web").symlink_to(outside)
    found = shared.built_folders(
        loop.store, loop.start.base_tree, str(at), ["build", "build/out", "web/inner", "../outside", "none"]
    )
    assert found == ["node_modules", "build"]


def test_settings_of_linters_are_no_lockfile(tmp_path):
    """Of setup.cfg only what is installed from counts; tox makes environments of its own."""
    loop = begin(make_repo(tmp_path / "repo", {"setup.cfg": CONFIG, "tox.ini": TOX}), tmp_path / "state")

    def changed(files):
        write(loop.ws, {"setup.cfg": CONFIG, "tox.ini": TOX} | files)
        tree = take_snapshot(loop.store, str(loop.ws), loop.workspace.index, loop.start.base_tree).tree
        return shared.lockfiles_changed(loop.store, loop.start.base_tree, tree)

    assert changed({"setup.cfg": CONFIG.replace("80", "100")}) == []
    assert changed({"setup.cfg": CONFIG.replace("click", "rich")}) == ["setup.cfg"]
    assert changed({"setup.cfg": "no section\n"}) == ["setup.cfg"]
    assert changed({"tox.ini": TOX.replace("commands = pytest", "commands = pytest -q")}) == []
    assert changed({"tox.ini": TOX.replace("deps = pytest", "deps = nose")}) == []


def test_a_build_in_use_is_not_discarded(tmp_path):
    """Whoever uses a build holds its lock; nobody else can take it away meanwhile."""
    place = tmp_path / "deps" / "abc"
    write(tmp_path, {"deps/abc/made.json": "[]"})
    old = time.time() - 1000
    os.utime(place / "made.json", (old, old))
    ((found, age),) = built.builds(str(tmp_path), time.time())
    assert (found, round(age, -2)) == (str(place), 1000)
    fd = os.open(f"{place}.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_SH)
    assert not built.discard(str(place))
    assert place.exists()
    os.close(fd)
    assert built.discard(str(place))
    assert not place.exists()
    assert built.builds(str(tmp_path), time.time()) == []
