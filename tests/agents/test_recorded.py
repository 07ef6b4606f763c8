"""Streams of the real CLIs, recorded: each line parses or is kept raw, and each ending has its own name."""

import pytest
from streamkit import STREAMS, cases, ended, left, read, recorded

from ralph.agents import Raw, TimeOfDay
from ralph.agents._kit.lines import Intake

# What each recorded call comes to: the fault's kind, or "" for none. Where a CLI does better or worse than
# the others, its own row says so.
USUAL = {
    "success": "",
    "several": "",
    "tool-fails": "",
    "lying": "",
    "left-child": "",
    "resume": "",
    "denied": "",
    "max-tokens": "",
    "400": "request",
    "401": "auth",
    "403": "auth",
    "429-short": "limit",
    "429-long": "limit",
    "usage-limit": "limit",
    "500": "server",
    "503": "overload",
    "529": "overload",
    "context": "context",
    "cut": "network",
    "cut-connect": "network",
    "refused": "network",
    "midstream": "overload",
    "fault-after-work": "overload",
    "max-turns": "turns",
    "stall": "interrupted",
    "subagent": "",
    "unknown-model": "",
}
OWN: dict[tuple[str, str], str] = {
    ("codex", "max-tokens"): "crash",
    ("codex", "max-turns"): "",  # it has no such bound
    ("gemini", "midstream"): "network",
    ("goose", "denied"): "crash",  # a mode that needs a person; Ralph never asks for it
    ("goose", "429-short"): "",  # waits by itself
    ("opencode", "429-short"): "",
    ("copilot", "429-short"): "",
    ("copilot", "midstream"): "network",
    ("qwen", "429-short"): "",
    ("droid", "429-short"): "",
    ("acp-gemini", "midstream"): "hollow",  # it ends its turn as if that were all, with no tokens counted
    ("acp-goose", "max-tokens"): "turns",  # its stop reason says so
}


@pytest.mark.sample(check=40)
@pytest.mark.parametrize(("cli", "case"), cases())
def test_every_ending_has_its_name(cli: str, case: str) -> None:
    """What went wrong in a recorded call is told by its structured signs, and nothing is called a success."""
    exit_code, how = ended(cli, case)
    facts = read(cli, recorded(cli, case), exit_code, how, files=left(cli, case))[1]
    wanted = OWN.get((cli, case), USUAL[case])
    kind = facts.fault.kind if facts.fault else ""
    if cli in ("aider", "mini") and wanted in ("overload", "network") and kind == "server":
        kind = wanted  # the classes of their client library tell these apart no better
    assert kind in ({wanted} if how == "exited" else {wanted, "interrupted"})  # some sat there until killed
    assert facts.fault is not None or exit_code == 0


@pytest.mark.sample(check=40)
@pytest.mark.parametrize(("cli", "case"), cases())
def test_every_line_ever_seen_is_understood(cli: str, case: str) -> None:
    """No event of a recorded stream is unknown: those are the ones that tell of a new version."""
    data = b"".join(line for line in recorded(cli, case).splitlines(keepends=True) if line.startswith(b"{"))
    assert [fact.line for fact in read(cli, data)[0] if isinstance(fact, Raw)] == []


@pytest.mark.sample(check=40)
@pytest.mark.parametrize(("cli", "case"), cases())
def test_in_bulk_it_comes_to_the_same(cli: str, case: str) -> None:
    """What is accounted for after the call is what streamed by, however the bytes were cut."""
    data, (exit_code, how) = recorded(cli, case), ended(cli, case)
    live = read(cli, data, exit_code, how, files=left(cli, case))[1]
    assert read(cli, data, exit_code, how, files=left(cli, case), absorb=True)[1] == live


@pytest.mark.parametrize(
    ("cli", "tokens", "cost"),
    [
        ("claude", 550, 0.003),
        ("codex", 550, None),
        ("gemini", 550, None),
        ("goose", 550, None),
        ("opencode", 550, 0.0006),
        ("acp-gemini", 550, None),
    ],
)
def test_what_a_call_used(cli: str, tokens: int, cost: float | None) -> None:
    """Tokens are those the provider charged; cost is the CLI's own figure, or unknown."""
    usage = read(cli, recorded(cli, "success"))[1].usage
    assert usage.tokens == tokens
    assert usage.cost == (pytest.approx(cost) if cost is not None else None)
    assert (usage.fresh, usage.written) == (500, 50)


@pytest.mark.parametrize("cli", ["claude", "codex", "goose"])
def test_a_resumed_conversation_is_not_counted_twice(cli: str) -> None:
    """Of totals that go on growing, a second call counts only what it added."""
    first, second = _two_calls(cli)
    before = read(cli, first)[1]
    assert before.usage.tokens == 220
    assert before.session is not None
    after = read(cli, second, session=before.session)[1]
    assert after.usage.tokens == 110
    assert after.session is not None
    assert after.session.tokens == 330


def _two_calls(cli: str) -> tuple[bytes, bytes]:
    last = {"claude": b'"result"', "codex": b'"turn.completed"', "goose": b'"complete"'}[cli]
    lines = recorded(cli, "resume").splitlines(keepends=True)
    end = next(number for number, line in enumerate(lines) if b'"type":' + last in line) + 1
    return b"".join(lines[:end]), b"".join(lines[end:])


@pytest.mark.parametrize(
    "cli", ["claude", "codex", "gemini", "goose", "opencode", "copilot", "qwen", "acp-goose", "acp-gemini"]
)
def test_the_final_message_is_the_agents(cli: str) -> None:
    """The last words of a call are the agent's own last message, not those before it and not a tool's."""
    assert read(cli, recorded(cli, "success"), files=left(cli, "success"))[1].said == "The test passes now."


def test_a_usage_limit_names_its_reset() -> None:
    """Where a limit's end is told, the loop waits until then."""
    fault = read("claude", recorded("claude", "usage-limit"), 1)[1].fault
    assert fault is not None
    assert fault.reset_at == 2_000_000_000
    codex = read("codex", recorded("codex", "usage-limit"), 1)[1]
    assert codex.fault is not None
    assert (codex.fault.kind, codex.clock) == ("limit", TimeOfDay(3, 33, year=2033, month=5, day=18))
    assert read("gemini", recorded("gemini", "429-long"), 173)[1].after == 3600


def test_denied_permissions_are_listed() -> None:
    """A call that was refused a permission says so, although it ended well."""
    facts = read("claude", recorded("claude", "denied"))[1]
    assert facts.denials == ("Write /home/user/project/hello.txt",)


def test_a_refused_login_ends_the_call() -> None:
    """What the CLI would try again for minutes, or for ever, is marked to be stopped at once."""
    retry = b'{"type":"system","subtype":"api_retry","error_status":401,"error":"authentication_failed"}\n'
    assert any(getattr(fact, "stop", False) for fact in read("claude", retry)[0])
    assert any(getattr(fact, "stop", False) for fact in read("codex", recorded("codex", "refused"))[0])
    hour = b'{"type":"system","subtype":"api_retry","error_status":429,"retry_delay_ms":3.6e6}\n'
    limit = next(fact for fact in read("claude", hour)[0])
    assert (getattr(limit, "after", 0), getattr(limit, "stop", False)) == (3600, True)


def test_all_clis_are_recorded_or_said_to_be_missing() -> None:
    """The adapters whose streams are not recorded are known by name."""
    assert set(STREAMS) >= {cli for cli, _ in cases()}
    assert {"claude", "codex", "gemini", "goose"} <= {cli for cli, _ in cases()}


def test_a_stream_without_its_last_word_is_no_success() -> None:
    """Exit code 0 alone means nothing: without the last event a call has not worked."""
    for cli in ("claude", "codex", "gemini", "goose", "opencode", "acp-goose", "acp-gemini"):
        lines = [line for line in recorded(cli, "success").splitlines(keepends=True) if line[:1] == b"{"]
        fault = read(cli, b"".join(lines[:-1]))[1].fault
        assert fault is not None
        assert fault.kind == "protocol"


def test_pieces_of_any_size_come_to_the_same() -> None:
    """Chunks as a pipe gives them change nothing."""
    from streamkit import order

    from ralph.agents import load

    data = recorded("claude", "success")
    whole = read("claude", data)[1]
    for size in (1, 7, 4096):
        intake = Intake(load("claude").stream(order()))
        for at in range(0, len(data), size):
            intake.feed(data[at : at + size])
        assert intake.finish(0, "exited") == whole
