"""Judged checkouts, and trees by id."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from gitkit import begin, commit_on_top, make_repo, write
from userstate import git, same_user, user_state

from ralph.errors import SetupError
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.git.checkout import fresh_checkout, prove_tree, update_checkout
from ralph.shell.git.trees import (
    changed_paths,
    diff_text,
    diff_with_stat,
    list_tree,
    overlay_tree,
    read_blob,
    tree_of,
)

pytestmark = pytest.mark.slow


def files_of(top):
    found = {}
    for here, folders, files in os.walk(top):
        for name in [*files, *(f for f in folders if os.path.islink(os.path.join(here, f)))]:
            path = os.path.join(here, name)
            rel = os.path.relpath(path, top)
            found[rel] = os.readlink(path) if os.path.islink(path) else Path(path).read_bytes()
    return found


@pytest.fixture
def loop(tmp_path):
    top = make_repo(
        tmp_path / "repo",
        {"a.txt": "1\n", "src/b.py": "b\n", "src/deep/c.py": "c\n", "run.sh": "x\n", ".gitignore": "*.log\n"},
    )
    (top / "run.sh").chmod(0o755)
    (top / "link").symlink_to("a.txt")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "second")
    return begin(top, tmp_path / "state")


def test_an_incremental_checkout_follows_each_tree_exactly(loop, tmp_path):
    """Whatever a gate left behind, the next judgement sees exactly its tree."""
    co, index = str(tmp_path / "co"), str(tmp_path / "co.index")
    base = loop.start.base_tree
    assert update_checkout(loop.store, co, index, base) == base
    clean = files_of(co)
    assert clean["link"] == "a.txt"
    assert os.stat(f"{co}/run.sh").st_mode & stat.S_IXUSR
    write(tmp_path / "co", {"a.txt": "gate was here\n", "x.log": "ignored\n", "src/__pycache__/y.pyc": "\0"})
    (tmp_path / "co/src/b.py").unlink()
    (tmp_path / "co/empty/deep").mkdir(parents=True)
    os.mkfifo(f"{co}/src/pipe")
    git(co, "init", "-q", ".")
    git(co, "init", "-q", "src/deep")
    os.chmod(f"{co}/src/deep", 0)
    os.chmod(f"{co}/run.sh", 0o644)
    assert update_checkout(loop.store, co, index, base) == base
    assert files_of(co) == clean
    assert not os.path.lexists(f"{co}/src/pipe")
    assert not os.path.exists(f"{co}/empty")
    assert os.stat(f"{co}/run.sh").st_mode & stat.S_IXUSR
    new = commit_on_top(loop, {"a.txt": "2\n", "src/b.py": None, "n/new": "n\n"})
    tree = tree_of(loop.store, new)
    assert update_checkout(loop.store, co, index, tree) == tree
    assert prove_tree(loop.store, co, tree) == tree


def test_links_planted_in_a_checkout_lead_nowhere(loop, tmp_path):
    """A folder that a gate replaced by a link is put back; nothing is written or removed behind the link."""
    outside = tmp_path / "outside"
    write(outside, {"b.py": "precious\n", "deep/c.py": "precious\n"})
    co, index = str(tmp_path / "co"), str(tmp_path / "co.index")
    base = loop.start.base_tree
    update_checkout(loop.store, co, index, base)
    remove_tree(f"{co}/src")
    os.symlink(outside, f"{co}/src")
    os.symlink(outside, f"{co}/extra")
    assert update_checkout(loop.store, co, index, base) == base
    assert not os.path.islink(f"{co}/src")
    assert files_of(outside) == {"b.py": b"precious\n", "deep/c.py": b"precious\n"}


def test_a_fresh_checkout_is_proved_by_its_bytes(loop, tmp_path):
    """The final checkout hashes every file again; a single changed byte is another tree."""
    co = str(tmp_path / "co")
    base = loop.start.base_tree
    assert fresh_checkout(loop.store, co, str(tmp_path / "i"), base) == base
    stamp = os.stat(f"{co}/a.txt").st_mtime_ns
    write(tmp_path / "co", {"a.txt": "2\n"})
    os.utime(f"{co}/a.txt", ns=(stamp, stamp))
    assert prove_tree(loop.store, co, base) != base


def test_a_broken_checkout_is_made_anew(loop, tmp_path):
    """A lost or garbled index, or a file at the folder's place, costs time and nothing else."""
    co, index = str(tmp_path / "co"), str(tmp_path / "co.index")
    base = loop.start.base_tree
    update_checkout(loop.store, co, index, base)
    (tmp_path / "co.index").write_bytes(b"garbage")
    assert update_checkout(loop.store, co, index, base) == base
    (tmp_path / "co.index.lock").write_bytes(b"")
    assert update_checkout(loop.store, co, index, base) == base
    remove_tree(co)
    os.symlink("/nowhere", co)
    assert update_checkout(loop.store, co, index, base) == base
    assert prove_tree(loop.store, co, base) == base


def test_trees_are_listed_read_and_compared(loop):
    """Paths, bytes, patches and counts of trees come by id, bounded in size."""
    base = loop.start.base_tree
    new = tree_of(
        loop.store, commit_on_top(loop, {"a.txt": "1\n2\n3\n", "src/b.py": None, "moved.py": "b\n"})
    )
    assert "src/deep/c.py" in list_tree(loop.store, new)
    assert read_blob(loop.store, new, "a.txt") == b"1\n2\n3\n"
    assert read_blob(loop.store, new, "a.txt", limit=2) == b"1\n"
    assert read_blob(loop.store, new, "no such") is None
    changes = {c.path: (c.status, c.old_path) for c in changed_paths(loop.store, base, new)}
    assert changes == {"a.txt": ("M", None), "moved.py": ("R", "src/b.py")}
    stat_ = diff_with_stat(loop.store, base, new)[1]
    assert (stat_.files, stat_.added, stat_.removed) == (3, 3, 1)
    assert b"+3" in diff_text(loop.store, base, new, paths=["a.txt"])
    assert b"moved" not in diff_text(loop.store, base, new, paths=["a.txt"])
    assert len(diff_text(loop.store, base, new, limit=50)) == 50


def test_an_overlay_restores_and_drops(loop):
    """Base tests over the new source: restored paths are exactly the base's, dropped ones are gone."""
    base = loop.start.base_tree
    (loop.ws / "src/deep/c.py").unlink()
    (loop.ws / "src/deep").rmdir()
    new = tree_of(
        loop.store,
        commit_on_top(
            loop, {"a.txt": "2\n", "src/deep": "a file now\n", "src/new.py": "n\n", "t.log2": "t\n"}
        ),
    )
    tree = overlay_tree(loop.store, base, new, restore=["src"], drop=["t.log2", "never"])
    assert read_blob(loop.store, tree, "src/deep/c.py") == b"c\n"
    assert read_blob(loop.store, tree, "a.txt") == b"2\n"
    assert read_blob(loop.store, tree, "src/new.py") is None
    assert read_blob(loop.store, tree, "t.log2") is None
    assert overlay_tree(loop.store, base, new, drop=["."]) == git(
        loop.project.top, "hash-object", "-t", "tree", "/dev/null"
    )


def test_submodules_are_filled_from_the_local_copy_or_refused(tmp_path):
    """Files of submodules, nested ones too, stand in workspace and checkouts; a missing one is an error."""
    make_repo(tmp_path / "inner", {"i.txt": "inner\n"})
    make_repo(tmp_path / "lib", {"l.txt": "lib\n"})
    git(tmp_path / "lib", "submodule", "add", "-q", "../inner", "in")
    git(tmp_path / "lib", "commit", "-q", "-m", "s")
    top = make_repo(tmp_path / "repo")
    git(top, "submodule", "add", "-q", "--name", "odd name", str(tmp_path / "lib"), "vendor/lib")
    git(top, "commit", "-q", "-m", "s")
    with pytest.raises(SetupError) as missing:
        begin(top, tmp_path / "early", name="early")
    assert missing.value.code == "E-GIT-SUBMODULE"
    git(top, "submodule", "update", "-q", "--init", "--recursive")
    before = user_state(top)
    loop = begin(top, tmp_path / "state")
    assert (loop.ws / "vendor/lib/in/i.txt").read_text() == "inner\n"
    co, index = str(tmp_path / "co"), str(tmp_path / "co.index")
    base, modules = loop.start.base_tree, loop.workspace.modules
    assert update_checkout(loop.store, co, index, base, modules=modules) == base
    write(tmp_path / "co", {"vendor/lib/l.txt": "spoiled\n", "vendor/lib/junk": "j\n"})
    git(co + "/vendor/lib", "init", "-q", ".")
    assert update_checkout(loop.store, co, index, base, modules=modules) == base
    assert files_of(co)["vendor/lib/l.txt"] == b"lib\n"
    assert "vendor/lib/junk" not in files_of(co)
    assert fresh_checkout(loop.store, co, index, base, modules=modules) == base
    same_user(before, user_state(top))


def test_a_submodule_hidden_behind_a_planted_link_is_not_written_through(tmp_path):
    """A link on the way to a submodule is replaced, not followed."""
    make_repo(tmp_path / "lib", {"l.txt": "lib\n"})
    top = make_repo(tmp_path / "repo")
    git(top, "submodule", "add", "-q", str(tmp_path / "lib"), "vendor/lib")
    git(top, "commit", "-q", "-m", "s")
    loop = begin(top, tmp_path / "state")
    outside = tmp_path / "outside"
    write(outside, {"lib/l.txt": "precious\n"})
    co, index = str(tmp_path / "co"), str(tmp_path / "co.index")
    base, modules = loop.start.base_tree, loop.workspace.modules
    update_checkout(loop.store, co, index, base, modules=modules)
    remove_tree(co + "/vendor")
    os.symlink(outside, co + "/vendor")
    assert update_checkout(loop.store, co, index, base, modules=modules) == base
    assert (outside / "lib/l.txt").read_text() == "precious\n"


def test_removing_survives_depth_modes_and_links(tmp_path):
    """Thousands of levels, closed folders and links out: all gone, nothing else touched."""
    outside = tmp_path / "outside"
    write(outside, {"x": "x"})
    top = tmp_path / "top"
    write(top, {"closed/in/f": "f", "ralph-1/f": "f"})
    os.symlink(outside, top / "out")
    (top / "closed/in").chmod(0)
    (top / "closed").chmod(0)
    fd = os.open(top, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("d", dir_fd=fd)
        deeper = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = deeper
    os.close(fd)
    remove_tree(str(top))
    assert not top.exists()
    assert (outside / "x").read_text() == "x"
    remove_tree(str(top))
