"""Protection is what was seen: levels, words, the cache, and no silent downgrade."""

import os
import sys
from functools import partial

import pytest
from hostile.callkit import BWRAP

from ralph.shell.process import cgroup
from ralph.shell.sandbox import probe

needs_bwrap = pytest.mark.skipif(BWRAP is None, reason="bubblewrap is not installed")


@needs_bwrap
def test_boxes_block_everything_without_network(tmp_path):
    """With both boxes cut off, no forbidden act succeeds, and the level follows from the cgroup."""
    found = probe.probe_levels(str(tmp_path), home=str(tmp_path), bwrap=BWRAP, network=False)
    group = cgroup.make("probe-test")
    if group:
        cgroup.remove(group)
    assert found.level == ("S3" if group else "S2")
    assert (found.agent_open, found.gate_open, found.method) == ((), (), "pidns")
    assert bool(found.reasons) == (group is None)
    assert list(tmp_path.iterdir()) == []


@needs_bwrap
def test_network_of_the_agent_is_said_aloud(tmp_path):
    """An agent on the host's network reaches loopback and abstract sockets; the words say so."""
    found = probe.probe_levels(str(tmp_path), home=str(tmp_path), bwrap=BWRAP, network=True)
    assert found.agent_open == ("abstract-socket", "tcp")
    assert found.gate_open == ()
    assert "the agent could reach services on this machine (localhost)" in found.words


def test_without_bubblewrap_the_level_is_s0_and_says_what_is_open(tmp_path):
    """No sandbox is named as such, with what an agent could do, and why."""
    found = probe.probe_levels(str(tmp_path), home=str(tmp_path), bwrap=None)
    assert (found.level, found.method) == ("S0", "sweep")
    assert found.reasons == ("bubblewrap is not installed",)
    assert "agents and gates could write outside the workspace" in found.words
    assert {"write-outside", "read-secret", "signal", "tcp"} <= set(found.agent_open)


def test_bubblewrap_that_fails_is_not_trusted(tmp_path):
    """A bwrap that cannot make namespaces gives S0 with its own words as the reason."""
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    found = probe.probe_levels(str(tmp_path), home=str(tmp_path), bwrap=str(broken))
    assert found.level == "S0"
    assert "No permissions to create new namespace" in found.reasons[0]


def test_bubblewrap_that_does_not_box_is_found_out(tmp_path):
    """A wrapper that only runs the command passes for no sandbox: the probes see through it."""
    fake = tmp_path / "bwrap"
    fake.write_text(
        "#!/bin/sh\n"
        "printf '{ \"child-pid\": %s }\\n' $$ >&3\n"
        'while [ "$1" != -- ]; do shift; done\nshift\n"$@"\ncode=$?\n'
        "printf '{ \"exit-code\": %s }\\n' $code >&3\nexit $code\n"
    )
    fake.chmod(0o755)
    found = probe.probe_levels(str(tmp_path), home=str(tmp_path), bwrap=str(fake))
    assert found.level == "S0"
    assert "the box does not hold: write-outside" in found.reasons


@needs_bwrap
@pytest.mark.skipif(os.getuid() != 0, reason="only root's box could open them")
def test_a_box_that_opens_the_kernel_is_no_sandbox(tmp_path):
    """Root's box without the masks of /proc, whatever else it blocks, is never called S3."""
    leaky = tmp_path / "bwrap"
    leaky.write_text(
        f"#!{sys.executable} -IS\nimport os, sys\n"
        "if '--help' in sys.argv: sys.exit()\n"
        "at = sys.argv.index('--args') + 1\n"
        "words = open(int(sys.argv[at]), 'rb').read().split(b'\\0')[:-1]\n"
        "for path in (b'/proc/sys', b'/proc/pressure'):\n"
        "    while path in words: at_word = words.index(path) - 1; del words[at_word : at_word + 3]\n"
        "fd = os.memfd_create('args', 0)\n"
        "os.write(fd, b'\\0'.join([*words, b''])); os.lseek(fd, 0, 0)\n"
        "sys.argv[at] = str(fd)\n"
        f"os.execv({BWRAP!r}, sys.argv)\n"
    )
    leaky.chmod(0o755)
    found = probe.probe_levels(str(tmp_path), home=str(tmp_path), bwrap=str(leaky), network=False)
    assert found.level == "S0"
    assert "the box does not hold: kernel" in found.reasons
    assert "agents and gates could change settings of the kernel" in found.words


@needs_bwrap
def test_answer_is_remembered_until_something_changes(tmp_path):
    """The second question starts no box; another bwrap file is asked anew."""
    counting, called = tmp_path / "bwrap", tmp_path / "called"
    counting.write_text(f'#!/bin/sh\necho >> {called}\nexec {BWRAP} "$@"\n')
    counting.chmod(0o755)
    ask = partial(probe.cached_protection, str(tmp_path), home=str(tmp_path))
    first = ask(bwrap=str(counting))
    boxes = called.read_text()
    assert boxes
    assert ask(bwrap=str(counting)) == first
    assert called.read_text() == boxes
    assert ask(bwrap=None).level == "S0"
    assert ask(bwrap=str(counting)) == first
    assert called.read_text() == boxes
    os.utime(counting, (1, 1))
    ask(bwrap=str(counting))
    assert len(called.read_text()) > len(boxes)


@needs_bwrap
def test_torn_cache_is_asked_again(tmp_path):
    """Garbage in the cache is no answer."""
    (tmp_path / "protection.json").write_text('{"half":')
    assert probe.cached_protection(str(tmp_path), home=str(tmp_path), bwrap=BWRAP).level in {"S2", "S3"}


@needs_bwrap
def test_a_box_that_did_not_start_is_tried_again(tmp_path):
    """What failed for want of memory must not cost the sandbox until the next boot."""
    failing, broken = tmp_path / "bwrap", tmp_path / "broken"
    failing.write_text(f'#!/bin/sh\n[ -e {broken} ] && exit 1\nexec {BWRAP} "$@"\n')
    failing.chmod(0o755)
    broken.touch()
    ask = partial(probe.cached_protection, str(tmp_path), home=str(tmp_path), bwrap=str(failing))
    assert ask().level == "S0"
    broken.unlink()
    assert ask().level in {"S2", "S3"}


def test_cgroup_kill_empties_a_group():
    """Where a group can be made, what is in it dies by one write, and it can be removed."""
    group = cgroup.make(f"cgroup-test-{os.getpid()}")
    if group is None:
        pytest.skip("no control group can be made here")
    import subprocess

    words = f"echo $$ > {group}/cgroup.procs; setsid sleep 60 & echo ready; exec sleep 60"
    child = subprocess.Popen(["/bin/sh", "-c", words], stdout=subprocess.PIPE)
    assert child.stdout.read(5) == b"ready"
    assert cgroup.has_processes(group)
    assert cgroup.kill(group)
    assert child.wait() == -9
    child.stdout.close()
    assert cgroup.remove(group)
    assert cgroup.remove(group)


def test_missing_cgroup_is_nothing_to_worry_about(tmp_path):
    """Every question about a group that is not there has a calm answer."""
    gone = str(tmp_path / "gone")
    assert cgroup.kill(gone)
    assert cgroup.limit(gone, memory_bytes=1 << 30, processes=10) == ()
    assert not cgroup.has_processes(gone)
