"""The boxes: what is seen, what can be written, what can be reached; and the lower level's same interface."""

import os
import shutil
import socket
import tempfile
from pathlib import Path

import pytest
from hostile import callkit
from hostile.callkit import BWRAP, PYTHON

from ralph.errors import UserError
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.process import client
from ralph.shell.sandbox import own_env, tools
from ralph.shell.sandbox.boxes import GatePlace
from ralph.shell.sandbox.bubblewrap import Box, Frame, SharedMount, box_command, call_spec, mount_around

needs_bwrap = pytest.mark.skipif(BWRAP is None, reason="bubblewrap is not installed")
UNSHARE = shutil.which("unshare")


def in_box(tmp_path, box, script, *, bwrap=BWRAP, unshare=None, env=None, rlimits=None):
    """Run a shell script in the box: (how it ended, its output)."""
    built = box_command(box, ("/bin/sh", "-c", script), bwrap=bwrap, unshare=unshare)
    spec = client.CallSpec(
        argv=built.argv,
        env={"PATH": os.defpath, **(env or {})},
        cwd=built.cwd,
        method=built.method,
        box_args=built.box_args,
        wall_seconds=20,
        rlimits=rlimits or {},
    )
    folder = tempfile.mkdtemp(dir=tmp_path)
    ended = client.wait(client.start_call(folder, spec))
    return ended, client.read_output(folder, 1 << 20)[0].decode("utf-8", "replace")


def places(tmp_path, repo="home/user/repo"):
    """A home with a repository in it (the user's real files) and a workspace elsewhere."""
    home = tmp_path / "home" / "user"
    real, work = tmp_path / repo, tmp_path / "state" / "work"
    for folder in (home, real, work):
        folder.mkdir(parents=True, exist_ok=True)
    (home / "secret").write_text("secret")
    (real / "file").write_text("the user's")
    (real / "untracked").write_text("the user's")
    (work / "file").write_text("the loop's")
    return home, real, work


def gate(tmp_path, repo="home/user/repo", **words):
    home, real, work = places(tmp_path, repo)
    return Box(**{"kind": "gate", "workspace": str(work), "mount_at": str(real), "home": str(home), **words})


@needs_bwrap
@pytest.mark.parametrize(
    "repo", ["home/user/repo", "elsewhere/repo", "home/user/ein Ordner mit ü/re:po, x", "home/user"]
)
def test_judged_tree_stands_at_the_users_path(tmp_path, repo):
    """Absolute paths mean the loop's tree; the user's own files cannot be read in its stead."""
    box = gate(tmp_path, repo)
    ended, text = in_box(tmp_path, box, 'pwd; cat "$PWD/file"; ls -A; echo new > made')
    assert ended.exit_code == 0, text
    assert text == f"{box.mount_at}\nthe loop'sfile\n"
    assert (tmp_path / "state" / "work" / "made").read_text() == "new\n"
    assert not (Path(box.mount_at) / "made").exists()


@needs_bwrap
@pytest.mark.parametrize("repo", ["", "/home/nobody/code/proj", "/home/nobody/proj", "/srv/tmp"])
def test_files_can_be_renamed_from_the_checkout_to_tmp(tmp_path, repo):
    """Checkout and /tmp stand in one mount: link and rename do not fail between them."""
    repo = repo or str(tmp_path / "deep" / "repo")
    at = mount_around(repo, "/home/nobody", ("/home/nobody/.pyenv",))
    assert at == ("/tmp" if repo.startswith("/tmp") else os.path.dirname(repo))
    top = tmp_path / "slot"
    work, tmp = top / os.path.relpath(repo, at), top if at == "/tmp" else top / "temp"
    for folder in (work, tmp):
        folder.mkdir(parents=True, exist_ok=True)
    box = Box(
        kind="gate",
        workspace=str(work),
        mount_at=repo,
        home="/home/nobody",
        tmp_dir=str(tmp),
        around=(str(top), at),
    )
    script = "pwd -P; echo x > made && ln made /tmp/made && cat /tmp/made && ls"
    ended, text = in_box(tmp_path, box, script)
    assert ended.exit_code == 0, text
    assert text == f"{repo}\nx\nmade\n"
    assert (work / "made").samefile(tmp / "made")


@pytest.mark.parametrize(
    ("repo", "read", "at"),
    [
        ("/tmp/a/repo", ("/tmp/tools",), "/tmp"),
        ("/tmp/a/repo", ("/tmp/a",), ""),  # would be mounted over the checkout: the user's own files instead
        ("/tmp/a/repo", ("/tmp/a/repo",), ""),
        ("/home/me/repo", ("/home/me/repo",), ""),
        ("/home/me/repo", ("/home/me/.pyenv",), "/home/me"),
        ("/repo", (), ""),
        ("/opt/x/repo", (), ""),
        ("/var/lib/repo", (), ""),
        ("/home/me/tool/repo", ("/home/me/tool",), ""),
        ("/home/me/code/repo", ("/tmp/tools",), ""),
        ("/home/me", (), ""),
    ],
)
def test_one_mount_only_where_it_hides_nothing(repo, read, at):
    """Where a system folder or a tool would be covered, checkout and /tmp are mounted one by one."""
    assert mount_around(repo, "/home/me", read) == at


@pytest.mark.parametrize(
    ("home", "at"),
    [("/tmp/me", ""), ("/tmp", ""), ("/tmp/me/repo", "/tmp"), ("/tmp/you", "/tmp"), ("/", "/tmp")],
)
def test_a_home_below_tmp_does_not_cover_the_checkout(home, at):
    """The private home would be mounted over one mount of both, and the checkout could not be entered."""
    assert mount_around("/tmp/me/repo", home, ()) == at


def test_the_way_to_a_checkout_follows_no_link(tmp_path):
    """Judged code can put a link above its checkout: what it leads to is never touched."""
    user, top = tmp_path / "user" / "b" / "repo", tmp_path / "slot"
    user.mkdir(parents=True)
    (user / "work").write_text("the user's")
    top.mkdir()
    (top / "a").symlink_to(tmp_path / "user")
    (top / "left").write_text("of the call before")
    place = GatePlace(str(top), str(top / "a" / "b" / "repo"), str(top), "/tmp")
    place.clean()
    assert os.listdir(top) == ["a"]
    assert os.path.realpath(place.checkout) == place.checkout
    assert (user / "work").read_text() == "the user's"


@needs_bwrap
def test_home_and_state_are_not_there(tmp_path):
    """Neither the user's files, nor Ralph's state, nor the rest of /tmp exist inside."""
    box = gate(tmp_path)
    script = f'ls "{tmp_path}"; ls -A "{box.home}"; cat "{box.home}/secret" "{tmp_path}/state/work/file"'
    ended, text = in_box(tmp_path, box, script)
    assert ended.exit_code != 0
    assert "secret\n" not in text.replace("/secret", "")
    assert text.splitlines()[:2] == ["home", "repo"]


@needs_bwrap
@pytest.mark.parametrize("target", ["/etc/x", "/usr/x", "/x", "/opt/x", "/var/x", "/sys/x", "/home/x"])
def test_nothing_else_is_writable(tmp_path, target):
    """Writes outside the workspace, the private home and /tmp are refused."""
    ended, text = in_box(tmp_path, gate(tmp_path), f"echo x > {target}")
    assert ended.exit_code not in {0, None}, text


@needs_bwrap
def test_home_and_tmp_are_private_and_writable(tmp_path):
    """A tool may use its home and /tmp, and none of it is seen outside."""
    box = gate(tmp_path)
    ended, text = in_box(
        tmp_path, box, f'echo a > "{box.home}/cache" && echo b > /tmp/b && echo c > /var/tmp/c'
    )
    assert ended.exit_code == 0, text
    assert not (Path(box.home) / "cache").exists()


@needs_bwrap
def test_given_home_folder_is_kept(tmp_path):
    """A private home of the caller's choice keeps what was written."""
    private = tmp_path / "private"
    private.mkdir()
    box = gate(tmp_path, home_dir=str(private))
    in_box(tmp_path, box, f'echo kept > "{box.home}/cache"')
    assert (private / "cache").read_text() == "kept\n"


@needs_bwrap
def test_extra_write_and_read_paths(tmp_path):
    """A named path is writable, a tool prefix is readable and no more."""
    extra, tool = tmp_path / "home" / "user" / ".agent", tmp_path / "home" / "user" / ".tool"
    box = gate(tmp_path, write=(str(extra),), read=(str(tool),))
    extra.mkdir()
    tool.mkdir()
    (tool / "t").write_text("tool")
    ended, text = in_box(tmp_path, box, f'cat "{tool}/t"; echo x > "{extra}/x"; echo x > "{tool}/x"')
    assert text.startswith("tool")
    assert (extra / "x").exists()
    assert not (tool / "x").exists()
    assert ended.exit_code != 0


@needs_bwrap
def test_read_prefix_cannot_show_the_users_repository(tmp_path):
    """A tool prefix inside or around the repository does not bring the user's files back."""
    box = gate(tmp_path)
    wide = box.__class__(
        **{f: getattr(box, f) for f in box.__struct_fields__} | {"read": (box.home, box.mount_at)}
    )
    _, text = in_box(tmp_path, wide, f'cat "{box.mount_at}/file"; cat "{box.mount_at}/untracked"')
    assert text.startswith("the loop's")
    assert "the user's" not in text


@needs_bwrap
def test_hidden_path_inside_a_visible_one(tmp_path):
    """Ralph's state stays hidden when a writable path contains it."""
    extra = tmp_path / "home" / "user" / "data"
    box = gate(tmp_path, write=(str(extra),), hide=(str(extra / "state"),))
    (extra / "state").mkdir(parents=True)
    (extra / "state" / "journal").write_text("events")
    _, text = in_box(tmp_path, box, f'ls "{extra}/state"; cat "{extra}/state/journal"')
    assert "events" not in text
    assert (extra / "state" / "journal").read_text() == "events"


@needs_bwrap
def test_object_store_is_readable_at_another_path(tmp_path):
    """The clone's alternates find the user's objects, read-only."""
    objects = tmp_path / "home" / "user" / "repo" / ".git" / "objects"
    box = gate(tmp_path, object_dirs=((str(objects), "/run/objects"),))
    objects.mkdir(parents=True)
    (objects / "o").write_text("object")
    _, text = in_box(tmp_path, box, "cat /run/objects/o; echo x > /run/objects/x")
    assert text.startswith("object")
    assert not (objects / "x").exists()


@needs_bwrap
@pytest.mark.parametrize("network", [False, True])
def test_network_is_as_asked(tmp_path, network):
    """Without network the host's loopback is out of reach; with it, a listener answers."""
    read = tools.prefixes(PYTHON, path=os.defpath, home=callkit.HOME, repo=str(tmp_path))
    box = gate(tmp_path, network=network, read=read)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        code = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2)"
        ended, text = in_box(tmp_path, box, f'"{PYTHON}" -I -S -c "{code}"')
    assert (ended.exit_code == 0) is network, text


@needs_bwrap
def test_own_loopback_works_without_network(tmp_path):
    """A test suite that talks to its own server still runs."""
    read = tools.prefixes(PYTHON, path=os.defpath, home=callkit.HOME, repo=str(tmp_path))
    code = (
        "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(1); "
        "socket.create_connection(s.getsockname(), 2); print('own loopback')"
    )
    ended, text = in_box(tmp_path, gate(tmp_path, read=read), f'"{PYTHON}" -I -S -c "{code}"')
    assert text == "own loopback\n"
    assert ended.exit_code == 0


@needs_bwrap
def test_other_processes_are_out_of_sight(tmp_path):
    """Inside, only the box's own processes exist, and its first one does not tell who started it."""
    _, text = in_box(tmp_path, gate(tmp_path), "ls /proc | grep -c '^[0-9]'; tr '\\0' ' ' < /proc/1/cmdline")
    assert int(text.split("\n")[0]) < 8
    assert "ralph" not in text.replace(str(tmp_path), "")
    assert str(tmp_path) not in text


@needs_bwrap
def test_no_capability_is_left(tmp_path):
    """Root in a box is as powerless as anyone."""
    _, text = in_box(tmp_path, gate(tmp_path), "grep CapEff /proc/self/status; cat /etc/shadow")
    assert text.split()[1] == "0" * 16
    assert "root:" not in text


@needs_bwrap
@pytest.mark.parametrize("kind", ["agent", "gate"])
def test_the_kernel_cannot_be_changed_from_inside(tmp_path, kind):
    """Root's box opens no setting of the kernel, neither as it is nor with a new /proc of its own."""
    attempt = (
        "for f in $(find /proc/sys /proc/irq /proc/bus /proc/fs /proc/sysrq-trigger -type f 2>/dev/null); do"
        " (: >> $f) 2>/dev/null && echo opened $f; done"
    )
    again = f"unshare --user --mount --pid --fork --mount-proc sh -c '{attempt}' 2>/dev/null"
    script = f"{attempt}; {again}; cat /proc/sys/kernel/ostype; (cat /proc/keys; ls -A /proc/acpi)"
    _, text = in_box(tmp_path, gate(tmp_path, kind=kind), f"{script} 2>/dev/null")
    assert text == "Linux\n"


@needs_bwrap
@pytest.mark.plain
def test_process_limit_counts_the_box_only(tmp_path):
    """A fork storm in a box is bounded by the box's own count (root is exempt by the kernel)."""
    script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1 & done; echo all"
    _, text = in_box(tmp_path, gate(tmp_path), script, rlimits={"nproc": 8})
    assert "all" not in text
    _, text = in_box(tmp_path, gate(tmp_path), script, rlimits={"nproc": 40})
    assert text == "all\n"


@needs_bwrap
def test_share_without_overlay_is_read_only(tmp_path):
    """A shared .venv is seen at its place in the judged tree and cannot be written."""
    box = gate(tmp_path)
    venv = Path(box.mount_at) / ".venv"
    venv.mkdir()
    (venv / "lib").write_text("dep")
    shared = Box(
        **{f: getattr(box, f) for f in box.__struct_fields__}
        | {"shares": (SharedMount(str(venv), str(venv)),)}
    )
    ended, text = in_box(tmp_path, shared, "cat .venv/lib; echo x > .venv/x")
    assert text.startswith("dep")
    assert ended.exit_code != 0


@needs_bwrap
@pytest.mark.skipif(UNSHARE is None, reason="util-linux is not installed")
def test_share_as_overlay_takes_writes_and_keeps_them_private(tmp_path):
    """With an overlay, a gate may write into the shared folder and the user's stays as it was."""
    box = gate(tmp_path, "home/user/re:po, x")
    venv = Path(box.mount_at) / ".venv"
    stage = tmp_path / "sta,ge:1"
    venv.mkdir()
    stage.mkdir()
    (venv / "lib").write_text("dep")
    words = {"shares": (SharedMount(str(venv), str(venv)),), "stage": str(stage)}
    shared = Box(**{f: getattr(box, f) for f in box.__struct_fields__} | words)
    script = "id -u; cat .venv/lib; echo x > .venv/x && echo y > .venv/lib && cat .venv/lib; rm -r .venv/lib"
    ended, text = in_box(tmp_path, shared, script, unshare=UNSHARE)
    assert text == f"{os.getuid()}\ndepy\n"
    assert ended.exit_code == 0
    assert {p.name: p.read_text() for p in venv.iterdir()} == {"lib": "dep"}
    remove_tree(str(stage))
    assert not stage.exists()


@needs_bwrap
def test_box_that_cannot_be_built_is_no_failed_gate(tmp_path):
    """A missing mount is an error of the box with bwrap's own words, never exit code 1 of the command."""
    box = gate(tmp_path, object_dirs=(("/nowhere/objects", "/run/objects"),))
    ended, _ = in_box(tmp_path, box, "true")
    assert ended.ended == "spawn-error"
    assert "/nowhere/objects" in ended.error


def test_lower_level_has_the_same_interface(tmp_path):
    """Without bubblewrap the command runs in the workspace at its own path."""
    box = gate(tmp_path)
    ended, text = in_box(tmp_path, box, "pwd; cat file", bwrap=None)
    assert text == f"{box.workspace}\nthe loop's"
    assert ended.method == "sweep"
    built = box_command(box, (box.mount_at + "/tool", "x"), bwrap=None)
    assert built.argv == (box.workspace + "/tool", "x")


@pytest.mark.parametrize("path", ["/", "/etc", "/usr", "/proc/1", "relative", "/a/../b"])
def test_dangerous_mounts_are_refused(tmp_path, path):
    """The system itself, or a path that is not plain, cannot be made writable."""
    for words in ({"write": (path,)}, {"mount_at": path}):
        with pytest.raises(UserError):
            box_command(gate(tmp_path, **words), ("/bin/true",), bwrap=BWRAP)


def test_call_gets_the_limits_of_its_kind(tmp_path):
    """Without a group that holds memory, the keeper watches it; address space is never limited."""
    built = box_command(gate(tmp_path), ("/bin/true",), bwrap=None)
    frame = Frame(wall_seconds=5, memory_bytes=1 << 30)
    spec = call_spec(built, "gate", {"A": "b"}, frame)
    assert (spec.method, spec.watch_memory_bytes, spec.env) == ("sweep", 1 << 30, {"A": "b"})
    assert spec.rlimits["fsize"] > 0
    assert "as" not in spec.rlimits
    assert client.wait(client.start_call(str(tmp_path / "call"), spec)).exit_code == 0
    assert "fsize" not in call_spec(built, "agent", {}, frame).rlimits


def test_gate_environment_is_an_allow_list(tmp_path):
    """No key, no token, no word of Ralph and no relative PATH entry comes through."""
    user = {
        "PATH": f".:/usr/bin::bin:{tmp_path}",
        "LANG": "C.UTF-8",
        "AWS_SECRET_ACCESS_KEY": "k",
        "RALPH_LOOP_ID": "x",
        "PYTEST_ADDOPTS": "-k none",
        "NODE_OPTIONS": "--require x",
        "LD_PRELOAD": "x",
    }
    env = own_env.gate_env(user, "/home/u", {"CI": "1", "RALPH_X": "y"})
    expected = {
        "PATH": f"/usr/bin:{tmp_path}",
        "LANG": "C.UTF-8",
        "HOME": "/home/u",
        "TMPDIR": "/tmp",
        "CI": "1",
    }
    assert env == expected
