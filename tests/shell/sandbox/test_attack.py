"""`ralph doctor --attack` and `--box`: named attempts against real boxes, and the table they are made of."""

from __future__ import annotations

import shutil

import pytest

from ralph.shell.sandbox.attack import attack_boxes
from ralph.shell.sandbox.attempts import DANGEROUS, NETWORK, all_attempts
from ralph.shell.sandbox.bubblewrap import Box, box_command, box_rows

BWRAP = shutil.which("bwrap")


def names(rows):
    return {f"{row.who}:{row.attempt}" for row in rows}


def check_all_held(state):
    done = attack_boxes(str(state), bwrap=BWRAP)
    assert done.reason == ""
    assert names(done.leaks) == set()
    assert names(done.open) <= {f"agent:{name}" for name in NETWORK}
    assert len(done.outcomes) == 2 * len(all_attempts())
    assert done.level in ("S2", "S3")


@pytest.mark.slow
def test_every_attempt_is_held(tmp_path):
    """By whoever runs this, root in CI: only the network that was chosen is open."""
    check_all_held(tmp_path)


@pytest.mark.plain
def test_every_attempt_of_a_plain_user_is_held(tmp_path):
    """The same without any rights of root."""
    check_all_held(tmp_path)


@pytest.mark.slow
def test_without_a_network_nothing_is_open(tmp_path):
    """`--net off` leaves an agent what a check has."""
    done = attack_boxes(str(tmp_path), bwrap=BWRAP, network=False)
    assert (done.reason, names(done.open)) == ("", set())


@pytest.mark.slow
def test_the_attempts_can_succeed(tmp_path):
    """Without a box most of them do: that they fail in one is not their own fault."""
    done = attack_boxes(str(tmp_path), bwrap=None)
    assert len({row.attempt for row in done.open}) >= 25
    assert done.level == "S0"
    assert not {row.attempt for row in done.outcomes} & DANGEROUS


def test_there_are_many_and_each_has_a_name():
    """At least forty, of every kind."""
    assert len({row.name for row in all_attempts()}) == len(all_attempts()) >= 40
    groups = {"files", "your data", "CLI folders", "Ralph", "sockets", "kernel", "processes", "network"}
    assert {row.group for row in all_attempts()} == groups


def test_the_table_is_what_the_box_is_made_of(tmp_path):
    """Every mount of the command is a row with its reason, in the same order, and nothing else is."""
    for name in ("work", "repo", "home", "tools", "state"):
        (tmp_path / name).mkdir()
    box = Box(
        kind="agent",
        workspace=str(tmp_path / "work"),
        mount_at=str(tmp_path / "repo"),
        home=str(tmp_path / "home"),
        read=(str(tmp_path / "tools"),),
        own=((str(tmp_path / "state"), str(tmp_path / "home" / ".cli")),),
        write=(str(tmp_path / "state"),),
    )
    rows = box_rows(box)
    args = box_command(box, ("/bin/true",), bwrap="/usr/bin/bwrap").box_args
    mounts = ("--bind", "--ro-bind", "--tmpfs", "--proc", "--dev", "--symlink")
    two = {"--bind", "--ro-bind", "--symlink"}
    made = [(args[at + (2 if word in two else 1)], word) for at, word in enumerate(args) if word in mounts]
    assert [row.path for row in rows] == [path for path, _ in made]
    access = {row.path: row.access for row in rows}
    assert all(row.why for row in rows)
    assert access[str(tmp_path / "repo")] == "write"
    assert access[str(tmp_path / "home" / ".cli")] == "private"
    assert access[str(tmp_path / "tools")] == "read"
    assert {path for path, word in made if word == "--bind"} == {
        row.path
        for row in rows
        if row.access in ("write", "private")
        and row.path.startswith(str(tmp_path))
        and row.path != str(tmp_path / "home")
    }
