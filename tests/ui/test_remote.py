"""What a program may ask for: every refusal that needs no process, and the borders of what it can reach."""

import os

import msgspec
import pytest
from making import Maker, order, record_all

from ralph.app.remote import arguments as a
from ralph.app.remote.begin import _limit_flags
from ralph.app.remote.look import list_loops, loop_status, read_page, wait_for_loop
from ralph.app.remote.scope import scope_of
from ralph.core.model.spend import Limits
from ralph.errors import RalphError, UserError
from ralph.ui.mcp.tools import BY_NAME, TOOLS, call_tool

FORBIDDEN = ("agent", "agent_cmd", "model", "profile", "env", "sandbox", "net", "allow", "allow_asked")
FORBIDDEN += (
    "min_grade",
    "confirm",
    "allow_write",
    "yes",
    "auto_criteria",
    "hidden_checks",
    "base",
    "branch",
)


@pytest.mark.parametrize("field", FORBIDDEN)
def test_what_loosens_the_users_terms_is_no_argument(field):
    """Agent, environment, sandbox, waivers and minimum grade cannot be asked for, however it is spelled."""
    for value in ("none", True, ["x=y"]):
        for name in (field, f"--{field.replace('_', '-')}"):
            with pytest.raises(UserError, match="not usable") as refused:
                a.parse_request(a.StartLoop, {"task": "x", name: value})
            assert refused.value.code == "E-MCP-ARGUMENT"


HOSTILE_NAMES = (
    "",
    "../etc/passwd",
    "a/b",
    "a\\b",
    "--allow x=y",
    "-d",
    "a b",
    "a\0b",
    "a\nb",
    "\x1b[2J",
    "\u202ex",
)
HOSTILE_NAMES += (
    "x" * 81,
    "a;b",
    "$(id)",
    "`id`",
    "%2e%2e",
    "#",
    "~root",
    ".hidden",
    5,
    None,
    True,
    ["a"],
    {},
)


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_a_loop_is_named_by_a_name_and_by_nothing_else(name):
    """Paths, options, control characters, huge names and other types are refused by every tool for a loop."""
    for row in TOOLS:
        if "loop" not in row.schema["properties"]:
            continue
        raw = {"loop": name, "text": "x"} if "text" in row.schema["properties"] else {"loop": name}
        with pytest.raises(UserError) as refused:
            a.parse_request(row.request, raw)
        assert refused.value.code == "E-MCP-ARGUMENT", row.name


HOSTILE_STARTS = (
    {"task": ""},
    {"task": "x" * 24_001},
    {"task": "a\0b"},
    {"task": "\x1b]0;owned\x07"},
    {"task": "a\u202eb"},
    {"task": 7},
    {"task": "x", "checks": "true"},
    {"task": "x", "checks": ["a\0b"]},
    {"task": "x", "checks": ["\x1b[31mtrue"]},
    {"task": "x", "checks": [""]},
    {"task": "x", "checks": ["true"] * 9},
    {"task": "x", "checks": ["x" * 2001]},
    {"task": "x", "task_class": "anything"},
    {"task": "x", "max_iterations": "5"},
    {"task": "x", "max_iterations": 1.5},
    {"task": "x", "queue": "yes"},
    {},
    [],
    "task",
    None,
)


@pytest.mark.parametrize("raw", HOSTILE_STARTS, ids=lambda raw: ascii(raw)[:60])
def test_a_start_with_hostile_arguments_is_refused(raw):
    """Empty, huge, unseen, wrongly typed: one error with a code and a next step, and nothing happens."""
    with pytest.raises(UserError) as refused:
        a.parse_request(a.StartLoop, raw)
    assert (refused.value.code, refused.value.next) == ("E-MCP-ARGUMENT", "ralph mcp --help")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_iterations", 0),
        ("max_iterations", -1),
        ("max_iterations", 16),
        ("max_iterations", 10**30),
        ("max_minutes", 61),
        ("max_minutes", float("nan")),
        ("max_minutes", float("inf")),
        ("max_cost", -0.5),
        ("max_cost", 5.01),
    ],
)
def test_limits_are_only_lowered(field, value):
    """A limit above the user's own is refused, not cut in silence; so is one that is none."""
    asked = a.parse_request(a.StartLoop, {"task": "x", field: value})
    with pytest.raises(UserError) as refused:
        _limit_flags(asked, Limits(iterations=15, time=3600.0, cost=5.0))
    assert refused.value.code == "E-MCP-LIMIT"


def test_lower_limits_become_flags():
    """Numbers reach the loop as its own flags would."""
    asked = a.parse_request(
        a.StartLoop, {"task": "x", "max_iterations": 3, "max_minutes": 1.5, "max_cost": 0.25}
    )
    flags = _limit_flags(asked, Limits(iterations=15))
    assert flags == {"--max-iterations": "3", "--max-time": "90s", "--max-cost": "0.25"}


@pytest.fixture
def served(tmp_path):
    """Two repositories with a loop each; the first is served."""
    for name in ("mine", "other"):
        (tmp_path / name / ".git").mkdir(parents=True)
    (tmp_path / "mine" / "sub").mkdir()
    (tmp_path / "mine" / "leak").symlink_to(tmp_path / "other")
    (tmp_path / "mine" / "vendored" / ".git").mkdir(parents=True)
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    loops = [order(f"fix-{name}-7f3a91c2", repo=str(tmp_path / name)) for name in ("mine", "other")]
    record_all(str(state), *(Maker(made).begin() for made in loops))
    env = {"RALPH_STATE_DIR": str(state), "HOME": str(tmp_path)}
    return scope_of((), str(tmp_path / "mine"), env), env, tmp_path


OUTSIDE = (
    "/",
    "/etc",
    "{top}/other",
    "{top}/mine/leak",
    "{top}/mine/vendored",
    "{top}/mine/.git",
    "mine",
    "~",
)
OUTSIDE += ("sub", "../other", "{top}/mine/../other", "{top}/nothing", "{top}/mine/sub/../../other")


@pytest.mark.parametrize("path", OUTSIDE)
def test_folders_outside_the_served_repositories_are_refused(served, path):
    """Neither by path, by link, by `..`, nor by a repository inside the one that is served."""
    scope, _, top = served
    with pytest.raises(UserError) as refused:
        scope.folder(path.format(top=top))
    assert refused.value.code == "E-MCP-PROJECT"


def test_a_folder_of_the_served_repository_is_taken(served):
    scope, _, top = served
    assert scope.folder("") == str(top / "mine")
    assert scope.folder(str(top / "mine" / "sub")) == str(top / "mine" / "sub")


@pytest.mark.parametrize(
    "name", ["fix-other-7f3a91c2", "fix-other", "ralph-fix-other-7f3a91c2", "#2", "other"]
)
def test_loops_of_other_repositories_do_not_exist(served, name):
    """Not by name, number or part; and the error does not give their names away."""
    scope, env, _ = served
    with pytest.raises(UserError) as refused:
        loop_status(a.LoopStatus(loop=name), scope, env)
    assert refused.value.code == "E-LOOP-UNKNOWN"
    assert "fix-other-7f3a91c2" not in refused.value.why
    found = list_loops(a.ListLoops(), scope, env)
    assert [row["loop"] for row in found["loops"]] == ["fix-mine-7f3a91c2"]


def test_waiting_is_bounded_and_says_what_happened(served):
    """No loop keeps a client longer than it asked for; events come with the number to go on from."""
    scope, env, _ = served
    found = wait_for_loop(a.WaitForLoop(loop="fix-mine", seconds=0), scope, env)
    assert found["last_event"] > 0
    assert any("LoopStarted" in line for line in found["events"])
    again = wait_for_loop(a.WaitForLoop(loop="1", seconds=0, after=found["last_event"]), scope, env)
    assert again["events"] == []
    with pytest.raises(UserError):
        a.parse_request(a.WaitForLoop, {"loop": "x", "seconds": 61})


def test_text_is_read_page_by_page(served, monkeypatch):
    """No answer is larger than a page; the pages together are the whole text."""
    monkeypatch.setattr("ralph.app.remote.look.MAX_CHARS", 50)
    scope, env, _ = served
    offset, pages = 0, []
    while offset is not None:
        page = read_page(a.ReadLoop(loop="fix-mine", what="log", offset=offset), scope, env)
        assert len(page["text"]) <= 50
        pages.append(page["text"])
        offset = page["next_offset"]
    assert len("".join(pages)) == page["total_chars"]
    assert read_page(a.ReadLoop(loop="fix-mine", what="log", offset=10**9), scope, env)["text"] == ""


def test_an_agent_in_a_loop_is_not_served(tmp_path):
    """Whoever is judged has no say over loops."""
    (tmp_path / ".git").mkdir()
    with pytest.raises(UserError) as refused:
        scope_of((), str(tmp_path), {"RALPH_LOOP_ID": "ralph-x"})
    assert refused.value.code == "E-LOOP-NESTED"


def test_a_server_needs_a_repository(tmp_path):
    with pytest.raises(UserError) as refused:
        scope_of((str(tmp_path),), os.sep, {})
    assert refused.value.code == "E-MCP-PROJECT"


def test_every_tool_has_a_schema_that_closes_its_arguments():
    """A client is told exactly what is taken: an object, with nothing besides."""
    for row in TOOLS:
        assert row.schema["type"] == "object"
        assert row.schema["additionalProperties"] is False
        assert "$ref" not in msgspec.json.encode(row.schema).decode()
        assert row.request.__doc__


def test_every_tool_leads_to_a_function(served):
    """The table names functions that exist; what cannot be done is an error of ours."""
    scope, env, _ = served
    for row in TOOLS:
        need = {"loop": "no-such-loop", "text": "x", "task": "x", "project": "/"}
        raw = {name: need[name] for name in row.schema["properties"] if name in need}
        with pytest.raises(RalphError) as refused:
            call_tool(row, raw, scope, env, lambda: True)
        assert refused.value.code in ("E-LOOP-UNKNOWN", "E-MCP-PROJECT"), row.name
    assert len(BY_NAME) == len(TOOLS)
