"""A background loop, looked at and steered: checkpoints, numbers, another agent, its files, its end."""

import gzip
import json
import os
import shutil
import subprocess

import pytest
import s2kit
from backkit import Back
from jsonschema import Draft202012Validator
from kit import agent

pytestmark = pytest.mark.slow
NAME = "l1-00000001"


@pytest.fixture
def world(tmp_path, home):
    made = Back(tmp_path / "w", home, seen=home.parent / "protection.json")
    yield made
    made.kill_all()
    made.unmount()


def valid(schema, path):
    data = path.read_bytes()
    found = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    check = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert not [(list(one.path), one.message) for one in check.iter_errors(found)]
    return found


def exported(world, name):
    """What `ralph export` wrote: registry, state, analytics, checkpoints by number, the report."""
    where = world.top / f"export-{len(list(world.top.glob('export-*')))}"
    done = world.ralph("export", name, "--layout", "s2", "--to", str(where))
    assert done.code == 0, done.report()
    folder = where / "loops" / f"ralph-{name}"
    points = {
        int(path.name[10:13]): valid(s2kit.CHECKPOINT, path) for path in folder.glob("checkpoints/*.json.gz")
    }
    (report,) = folder.glob("completion-*.md")
    assert name in report.read_text()
    return (
        valid(s2kit.REGISTRY, where / "registry.json"),
        valid(s2kit.STATE, folder / "state.json"),
        valid(s2kit.ANALYTICS, folder / "analytics.json"),
        points,
    )


def test_from_its_first_checkpoint_to_its_end(world):
    """At its limit it is listed, shown, branched and exported by S2's schemas; it goes on from a checkpoint
    with another agent and more room; and `abort --all --drop` leaves nothing of another one.
    """
    world.begin(NAME, "--max-iterations", "1", nap=0.1)
    loop = world.until(NAME, lambda loop: loop.phase == "ended")
    assert (loop.outcome, loop.control.stopped_by) == ("exhausted", "person")

    rows = json.loads(world.ralph("checkpoints", NAME, "--json").out)["checkpoints"]
    assert [(row["iteration"], row["red"], row["best"]) for row in rows] == [(1, 1, True)]
    assert "1 red  best" in world.ralph("checkpoints", NAME).out
    for word in ("show", "diff"):
        assert "+++ b/calc.py" in world.ralph("checkpoints", NAME, word, "1").out
    assert world.ralph("checkpoints", NAME, "branch", "1", "try-one").code == 0
    assert world.git("rev-parse", "try-one") == rows[0]["commit"]
    assert world.ralph("checkpoints", NAME, "branch", "1", "try-one").code == 2
    world.git("-c", "core.hooksPath=/dev/null", "update-ref", "-d", "refs/heads/try-one")

    registry, state, numbers, points = exported(world, NAME)
    assert (registry["active_loops"], state["status"], list(points)) == ([], "failed", [1])
    assert [one["path"] for one in points[1]["state"]["artifacts"]] == ["calc.py"]
    assert numbers["summary"]["stop_report"]["exhausted"] == ["iterations"]
    (line,) = numbers["iterations"]
    assert (line["tokens_used"], line["token_cost_usd"], line["input_tokens"]) == (100, 0.25, None)

    other = ("--agent-cmd", agent("honest_steps", 1), "--max-iterations", "+4", "--checkpoint", "0", "-d")
    assert world.ralph("resume", NAME, *other).code == 0
    loop = world.until(NAME, lambda loop: loop.phase == "ended")
    assert (loop.outcome, loop.spend.calls, loop.limits.iterations) == ("verified", 2, 5)
    registry, state, numbers, points = exported(world, NAME)
    assert (state["status"], state["error_context"]["error_message"], list(points)) == (
        "completed",
        None,
        [1, 2],
    )
    told = world.ralph("analytics", NAME)
    assert "quality  " in told.out
    told = json.loads(world.ralph("analytics", "--all", "--calibration", "--json").out)
    assert told["agents"][0]["verified"] == 1
    assert told["calibration"]["forecasts"] == 1

    world.begin("l2-00000002", nap=60.0)
    world.until("l2-00000002", lambda loop: loop.call.running)
    registry, state, numbers, points = exported(world, "l2-00000002")
    (entry,) = registry["active_loops"]
    assert (entry["status"], state["status"], bool(state["pid"])) == ("running", "running", True)
    done = world.ralph("abort", "--all", "--drop")
    assert done.code == 0, done.report()
    assert "l2-00000002 aborted at " in done.out
    assert not world.refs("l2-00000002")
    assert not (world.state / "workspaces" / "l2-00000002").exists()
    assert world.refs(NAME)  # what had ended before is nobody's to drop
    world.ralph("worker", "stop")
    world.no_process_left(15)
    world.same_user()


def test_the_unit_that_keeps_the_worker_going(place, tmp_path):
    """`worker install` writes a systemd user unit of this very Ralph, which systemd accepts, and names what
    enables it, with and without a login.
    """
    odd = tmp_path / 'a "folder" with 100% $ODD letters'
    odd.mkdir()
    told = place.ralph("worker", "install", env={"RALPH_STATE_DIR": str(odd)})
    assert told.code == 0, told.report()
    for line in ("systemctl --user daemon-reload", "enable --now ralph-worker", "loginctl enable-linger"):
        assert line in told.out
    unit = place.config / "systemd" / "user" / "ralph-worker.service"
    text = unit.read_text()
    assert place.ralph("worker", "install", "--print", env={"RALPH_STATE_DIR": str(odd)}).out == text
    assert '"worker" "start" "--foreground"' in text
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    argv = ["systemd-analyze", "verify", "--user", str(unit)]
    checked = subprocess.run(argv, env=env, check=False, capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")
