"""An MCP client and the installed `ralph mcp`: whole loops, and every border of what it may do."""

import json
import subprocess

import pytest
from kit import CHECK, TASK, ralph_argv
from mcp.shared.exceptions import MCPError
from mcpkit import talk

from ralph.ui.ask.demo_project import CHECK as DEMO_CHECK
from ralph.ui.ask.demo_project import make_project

pytestmark = pytest.mark.slow


@pytest.fixture
def todo(place):
    """The sample project, and a user who has chosen the demo agent."""
    place.once = True
    repo = place.top / "todo"
    repo.mkdir()
    make_project(str(repo))
    config = 'agent = "demo"\n[agents.demo.settings]\npace = "0.05"\n'
    (place.config / "ralph" / "config.toml").write_text(config)
    yield repo
    place.ralph("worker", "stop")


def test_a_client_starts_watches_verifies_and_reads_a_loop(place, todo):
    """From nothing to a proof: the outcome is Ralph's, and report, diff and log can be read."""

    async def work(t):
        assert len((await t.client.list_tools()).tools) == 13
        began = await t.ok("start_loop", task=TASK, checks=[DEMO_CHECK], max_iterations=6)
        name = began["loop"]
        seen = await t.until_stopped(name)
        assert (seen["outcome"], seen["phase"]) == ("verified", "ended"), seen["told"]
        assert any("AgentEnded" in line for line in seen["told"])
        assert (await t.ok("list_loops"))["loops"][0]["loop"] == name
        report = await t.ok("read_loop", loop=name)
        assert "VERIFIED_DONE" in report["text"]
        assert "MCP client" in report["text"]
        diff = await t.ok("read_loop", loop=str(began["number"]), what="diff")
        assert "+    return 100 * done // len(items) if items else 100" in diff["text"]
        proof = await t.ok("verify_loop", loop=name)
        assert (proof["verified"], proof["exit_code"]) == (True, 0), proof
        listed = {str(one.uri) for one in (await t.client.list_resources()).resources}
        assert f"ralph://loop/{name}/report" in listed
        text = (await t.client.read_resource(f"ralph://loop/{name}/log")).contents[0].text
        assert "LoopEnded" in text
        assert (await t.refused("steer_loop", loop=name, text="more"))["code"] == "E-LOOP-FINAL"
        assert (await t.refused("resume_loop", loop=name))["code"] == "E-LOOP-FINAL"
        assert (await t.refused("abort_loop", loop=name))["code"] == "E-LOOP-ENDED"

    talk(place.env(), todo, place.top / "mcp.err", work)
    assert (place.top / "mcp.err").read_text() == ""


@pytest.mark.soak
def test_a_client_steers_pauses_resumes_and_aborts(place, todo):
    """What it says reaches the loop and is recorded as an MCP client's word."""
    config = 'agent = "demo"\n[agents.demo.settings]\nscript = "hang"\n'
    (place.config / "ralph" / "config.toml").write_text(config)

    async def work(t):
        name = (await t.ok("start_loop", task=TASK, checks=[DEMO_CHECK]))["loop"]
        while "AgentStarted" not in str(await t.ok("wait_for_loop", loop=name, seconds=1)):
            pass
        await t.ok("steer_loop", loop=name, text="look at the empty list")
        await t.ok("pause_loop", loop=name, now=True)
        assert (await t.until_stopped(name))["phase"] == "paused"
        await t.ok("resume_loop", loop=name, note="go on")
        while (await t.ok("loop_status", loop=name))["phase"] == "paused":
            pass
        ended = await t.ok("abort_loop", loop=name)
        assert ended["outcome"] == "aborted"
        log = (await t.ok("read_loop", loop=name, what="log"))["text"]
        assert "look at the empty list" in log
        assert "aborted by an MCP client" in log

    talk(place.env(), todo, place.top / "mcp.err", work, mode="legacy")


def test_nothing_that_needs_a_persons_yes_is_granted(place):
    """Commands of the repository, and any command where no sandbox holds it, wait for `ralph approve`."""
    place.once = True
    (place.repo / "ralph.toml").write_text('[gates.lint]\nrun = "touch /tmp/owned"\n')

    async def ask(t):
        refused = await t.refused("start_loop", task=TASK, checks=[CHECK])
        assert (refused["code"], refused["exit_code"]) == ("E-APPROVAL", 3)
        assert refused["next"].startswith("ralph approve ")
        assert (await t.ok("list_loops"))["loops"] == []

    talk(place.env(), place.repo, place.top / "mcp.err", ask)
    (place.repo / "ralph.toml").unlink()
    config = 'agent = "demo"\nsandbox = "none"\n'
    (place.config / "ralph" / "config.toml").write_text(config)
    hashes = []

    async def unboxed(t):
        for given in ({"task": TASK, "checks": [CHECK]}, {"task": f"make `{CHECK}` pass"}):
            refused = await t.refused("start_loop", **given)
            assert refused["code"] == "E-APPROVAL", refused
            hashes.append(refused["next"].split()[-1])

    talk(place.env(), place.repo, place.top / "mcp.err", unboxed)
    approved = place.ralph("approve", hashes[0])
    assert approved.code == 0, approved.report()

    async def allowed(t):
        began = await t.ok("start_loop", task=TASK, checks=[CHECK], max_iterations=1)
        await t.ok("abort_loop", loop=began["loop"])
        assert (await t.refused("start_loop", task=TASK, checks=["touch /tmp/owned"]))["code"] == "E-APPROVAL"

    talk(place.env(), place.repo, place.top / "mcp.err", allowed)
    place.ralph("worker", "stop")


@pytest.mark.soak
def test_hostile_arguments_over_the_wire_are_errors_and_nothing_else(place):
    """Each is an MCP error with a code, the server serves on, and no loop was begun."""
    rows = [
        ("loop_status", {"loop": "../../etc/passwd"}),
        ("loop_status", {"loop": "--all"}),
        ("abort_loop", {"loop": "a\0b"}),
        ("read_loop", {"loop": "x", "what": "/etc/passwd"}),
        ("read_loop", {"loop": "x", "offset": -1}),
        ("start_loop", {"task": "x", "allow": "y=z"}),
        ("start_loop", {"task": "x" * 5_000_000}),
        ("start_loop", {"task": "x", "project": "/"}),
        ("start_loop", {"task": "x", "project": str(place.top)}),
        ("start_loop", {"task": "x", "max_iterations": 10**40}),
        ("start_loop", {"task": ["x"]}),
        ("steer_loop", {"loop": "x", "text": "\x1b[2J"}),
        ("verify_loop", {"loop": "x", "trust": ["evil.pem"]}),
        ("backlog_list", {"project": "../.."}),
    ]

    async def work(t):
        for tool, given in rows:
            refused = await t.refused(tool, **given)
            assert refused["code"].startswith("E-"), (tool, refused)
        for uri in ("ralph://loop/x/../../etc/passwd", "ralph://loop/../report", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await t.client.read_resource(uri)
        with pytest.raises(MCPError) as unknown:
            await t.client.read_resource("ralph://loop/no-such/report")
        assert unknown.value.data["code"] == "E-LOOP-UNKNOWN"
        with pytest.raises(MCPError):
            await t.client.call_tool("approve", {"hash": "0" * 16})
        assert (await t.ok("list_loops"))["loops"] == []

    talk(place.env(), place.repo, place.top / "mcp.err", work)
    place.same_user()


def test_stdout_carries_the_protocol_only(place):
    """Garbage on stdin is answered or ignored; every line on stdout is JSON-RPC; the end of stdin ends it."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        "garbage",
        "[1, 2",
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "list_loops", "arguments": [1]},
        },
        {"jsonrpc": "2.0", "id": 3, "method": "no/such", "params": {}},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "list_loops"}},
    ]
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n"
    server = subprocess.Popen(
        [*ralph_argv(), "mcp"],
        cwd=place.repo,
        env=place.env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stdin
    assert server.stdout
    server.stdin.write(text)
    server.stdin.flush()
    seen = {}
    while 4 not in seen:  # a line that is no JSON ends the test here
        line = json.loads(server.stdout.readline())
        assert line["jsonrpc"] == "2.0"
        seen[line.get("id")] = line
    rest, err = server.communicate(timeout=60)
    assert rest == ""
    assert "Traceback" not in err
    assert server.returncode == 0
    assert "error" in seen[3]
    assert seen[4]["result"]["structuredContent"]["loops"] == []


def test_without_the_extra_or_a_repository_the_error_says_what_to_do(place, tmp_path):
    """No stack trace: one error, one next step; in a loop an agent gets no server at all."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "mcp_types.py").write_text("raise ModuleNotFoundError('gone', name='mcp_types')\n")
    gone = place.ralph("mcp", env={"PYTHONPATH": str(hidden)})
    assert (gone.code, "E-MCP-MISSING" in gone.err) == (4, True), gone.report()
    outside = place.ralph("mcp", cwd=place.top)
    assert (outside.code, "E-MCP-PROJECT" in outside.err) == (2, True), outside.report()
    nested = place.ralph("mcp", env={"RALPH_LOOP_ID": "ralph-x-12345678"})
    assert (nested.code, "E-LOOP-NESTED" in nested.err) == (2, True), nested.report()
