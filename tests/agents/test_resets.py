"""The end of a limit, in every form in which a CLI or a provider has been seen to tell it."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from streamkit import read as read_stream

from ralph.agents import FaultSeen, LimitHit, Reset, TimeOfDay
from ralph.agents._kit.faults import fault_fact, is_limit
from ralph.agents._kit.resets import GRACE, LONGEST, moment_of, read

BERLIN, CHICAGO = ZoneInfo("Europe/Berlin"), ZoneInfo("America/Chicago")
SAID = datetime(2025, 10, 3, 14, 30, tzinfo=BERLIN)  # a Friday, 12:30 UTC
DAY = 86_400.0


@pytest.fixture
def berlin():
    """A machine in Berlin: where no zone is told, it is this one."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def day(month, number, hour, minute=0, zone=BERLIN, year=2025) -> float:
    return datetime(year, month, number, hour, minute, tzinfo=zone).timestamp()


def later(**parts) -> float:
    sizes = {"days": DAY, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
    return SAID.timestamp() + sum(sizes[name] * count for name, count in parts.items())


CODEX = "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or "
FORMS: list[tuple[str, float]] = [
    # Claude Code
    ("Claude AI usage limit reached|1759500000", 1_759_500_000),
    ("Claude AI usage limit reached|1759500000000", 1_759_500_000),
    ("Claude usage limit reached. Your limit will reset at 5pm (Europe/Warsaw).", day(10, 3, 17)),
    (
        "Claude usage limit reached. Your limit will reset at 9am (America/Chicago).",
        day(10, 3, 9, 0, CHICAGO),
    ),
    ("Claude usage limit reached. Your limit will reset at 1pm (Etc/GMT+5).", later(hours=5, minutes=30)),
    ("5-hour limit reached ∙ resets 2am", day(10, 4, 2)),
    ("5-hour limit reached ∙ resets 3pm (Europe/Berlin)", day(10, 3, 15)),
    ("You've hit your session limit · resets 10:30pm (Europe/Berlin)", day(10, 3, 22, 30)),
    ("You've hit your session limit · resets 12:50am (America/Los_Angeles)", day(10, 4, 9, 50)),
    ("You've hit your session limit · resets 1:20pm (Asia/Calcutta)", day(10, 4, 9, 50)),
    ("Weekly limit reached ∙ resets Oct 5, 9am", day(10, 5, 9)),
    ("Weekly limit reached ∙ resets Oct 6 at 5:59pm (America/Chicago)", day(10, 6, 17, 59, CHICAGO)),
    ("Opus weekly limit reached ∙ resets Monday 9am", day(10, 6, 9)),
    (
        "You\u2019ve hit your limit for Claude messages. Limits will reset at 9:30 AM. View your usage.",
        day(10, 4, 9, 30),
    ),
    # Codex
    (CODEX + "try again at 5:17 PM.", day(10, 3, 17, 17)),
    (CODEX + "try again at 5:17\u202fPM.", day(10, 3, 17, 17)),
    (CODEX + "try again at 2:17 PM.", day(10, 4, 14, 17)),
    (CODEX + "try again at Oct 9th, 2025 2:14 PM.", day(10, 9, 14, 14)),
    (CODEX + "try again at Oct 20, 2025, 7:38 AM", day(10, 20, 7, 38)),
    (CODEX + "try again in 3 days 2 hours 5 minutes.", later(days=3, hours=2, minutes=5)),
    (CODEX + "try again in 5 days 22 hours 11\nminutes.", later(days=5, hours=22, minutes=11)),
    (CODEX + "try again in less than a minute.", later(minutes=1)),
    ("You've hit your usage limit. Try again in 1 day 1 hour 1 minute.", later(days=1, hours=1, minutes=1)),
    ('{"error":{"type":"usage_limit_reached","resets_at":1759500000}}', 1_759_500_000),
    ('{"type":"usage_limit_reached","resets_in_seconds":13872}', later(seconds=13_872)),
    # Gemini CLI
    (
        "You have exhausted your capacity on this model. Your quota will reset after 17h23m.",
        later(hours=17, minutes=23),
    ),
    ("Your quota will reset after 8h44m7s.", later(hours=8, minutes=44, seconds=7)),
    ("Your quota will reset after 0s.", later()),
    ("Quota exceeded for metric x. Please retry in 37.5s.", later(seconds=37.5)),
    ('[{"error":{"code":429,"details":[{"@type":"RetryInfo","retryDelay":"41s"}]}}]', later(seconds=41)),
    ("quota will reset after 2025-10-04T07:00:00Z", day(10, 4, 7, 0, UTC)),
    # Copilot CLI
    (
        "Sorry, you've hit a rate limit (…). Please try again in 58 hours. Please review our Terms",
        later(hours=58),
    ),
    (
        "Sorry, you have been rate-limited. Please wait 2 minutes before trying again or consider",
        later(minutes=2),
    ),
    ("Please wait 587 hours 33 minutes before trying again.", later(hours=587, minutes=33)),
    ("Please wait for your limit to reset on October 6, 2025 at 2:00 AM or switch to auto", day(10, 6, 2)),
    # OpenAI and others behind Qwen Code, OpenCode, goose, aider, mini
    ("Rate limit reached for gpt-5 in organization x. Please try again in 6m0s.", later(minutes=6)),
    ("Rate limit reached. Please try again in 20ms.", later(seconds=0.02)),
    ("Please try again in 2m59.56s.", later(minutes=2, seconds=59.56)),
    ("Rate limited. Retry-After: 30", later(seconds=30)),
    ("Request failed with status 429, retry after 3600s", later(hours=1)),
    ("Try again in an hour.", later(hours=1)),
    ("try again at 2025-10-03 18:00:00 UTC", day(10, 3, 18, 0, UTC)),
    ("resets at 18:45", day(10, 3, 18, 45)),
    ("resets tomorrow at 8am", day(10, 4, 8)),
    ("resets 6 Oct 2025 at 09:00 UTC", day(10, 6, 9, 0, UTC)),
]


@pytest.mark.parametrize(("words", "expected"), FORMS, ids=[words[-44:] for words, _ in FORMS])
def test_the_end_of_a_limit_is_read(berlin, words, expected):
    """Each form gives the moment that it means, told on a Friday afternoon in Berlin."""
    assert moment_of(read(words), SAID.timestamp()) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "rate limit reached",
        "usage limit reached, resets soon",
        "resets at 99:99",
        "resets 13pm",
        "resets 3",
        "resets Feb 31, 9am",
        "resets 3pm (Mars/Olympus_Mons)",
        "resets 3pm PST",  # not a zone of the database: better unknown than hours off
        "Claude AI usage limit reached|1",
        "Claude AI usage limit reached|99999999999999999999",
        "try again at Oct 9th, 2035 2:14 PM.",
        "resets Sep 3, 9am",  # eleven months away
        "usage limit reached|1791036600",  # a year away
        "usage limit reached|1759400000",  # long over when it was told
        "try again in 400 days",
        "try again in 99999999 hours",
        "it took 3 hours at 5pm",
    ],
)
def test_what_cannot_be_believed_is_unknown(berlin, words):
    """No form, no such time, no such zone, or further away than any plan: unknown, never a guess."""
    assert moment_of(read(words), SAID.timestamp()) is None


def test_a_time_that_passed_just_now_is_not_tomorrow(berlin):
    """A reset is told in round numbers: minutes later the next try is soon, then it is tomorrow's."""
    reset = read("resets 2:25pm (Europe/Berlin)")
    assert moment_of(reset, SAID.timestamp()) == SAID.timestamp() + 60
    assert moment_of(reset, SAID.timestamp() + GRACE) == day(10, 4, 14, 25)


def test_days_without_a_year_and_of_the_week_roll_over(berlin):
    """Around New Year, over the change of the clocks, and on the day itself."""
    december = datetime(2025, 12, 30, 20, tzinfo=BERLIN).timestamp()
    assert moment_of(read("resets Jan 2, 9am"), december) == day(1, 2, 9, year=2026)
    before_change = datetime(2025, 10, 25, 22, tzinfo=BERLIN).timestamp()
    assert moment_of(read("resets 9am"), before_change) == before_change + 12 * 3600
    friday = SAID.timestamp()
    assert moment_of(read("resets Fri 6pm"), friday) == day(10, 3, 18)
    assert moment_of(read("resets Fri 6am"), friday) == day(10, 10, 6)
    assert moment_of(Reset(after=LONGEST), friday) == friday + LONGEST


@pytest.mark.parametrize(
    ("message", "kind"),
    [(words, "limit") for words, _ in FORMS if "limit" in words.lower() and not words.startswith("{")]
    + [
        ("You have exhausted your daily quota on this model.", "limit"),
        ("Too many requests", "limit"),
        ("something broke", "crash"),
        ("the file has a limit of 3 lines", "crash"),
        ("context window exceeded", "crash"),
        ("you have reached the maximum output token limit", "crash"),
        ("the agent reached the turn limit", "crash"),
    ],
)
def test_a_marked_error_without_status_or_code_is_told_apart_by_its_words(message, kind):
    """An error that a CLI reports of itself is a limit when its words say so, and else what it was."""
    found = fault_fact(None, message)
    assert found.kind == kind if isinstance(found, FaultSeen) else kind == "limit"
    assert is_limit(message) == (kind == "limit")


def test_a_status_or_a_code_says_more_than_words():
    """Words decide only where there is no other sign."""
    assert fault_fact(401, "usage limit reached|1759500000") == FaultSeen(
        "auth", "usage limit reached|1759500000"
    )
    assert fault_fact(None, "usage limit reached", code="insufficient_quota").kind == "credit"
    assert fault_fact(None, "usage limit reached", otherwise="auth").kind == "auth"
    assert fault_fact(429, "x", reset_at=5.0) == LimitHit("x", 5.0)
    assert fault_fact(429, "x", after=5.0) == LimitHit("x", after=5.0)


def lines(*records) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


OLD = "Claude AI usage limit reached|1759500000"
SYNTHETIC = {
    "type": "assistant",
    "message": {"model": "<synthetic>", "content": [{"type": "text", "text": OLD}]},
}
SPOKEN = {"type": "assistant", "message": {"model": "claude-x", "content": [{"type": "text", "text": OLD}]}}


@pytest.mark.parametrize(
    ("cli", "records", "code", "expected"),
    [
        ("claude", [{"type": "result", "is_error": True, "result": OLD}], 1, Reset(at=1_759_500_000)),
        (
            "claude",
            [
                {
                    "type": "result",
                    "subtype": "success",
                    "is_error": True,
                    "api_error_status": 429,
                    "result": "x · resets 3pm",
                }
            ],
            1,
            Reset(clock=TimeOfDay(15)),
        ),
        (
            "claude",
            [SYNTHETIC, {"type": "result", "is_error": False, "result": OLD}],
            0,
            Reset(at=1_759_500_000),
        ),
        (
            "codex",
            [{"type": "turn.failed", "error": {"message": CODEX + "try again at 5:17 PM."}}],
            1,
            Reset(clock=TimeOfDay(17, 17)),
        ),
        (
            "codex",
            [
                {
                    "type": "turn.failed",
                    "error": {"message": 'x {"error":{"type":"usage_limit_reached","resets_in_seconds":60}}'},
                }
            ],
            1,
            Reset(after=60.0),
        ),
        (
            "gemini",
            [
                {
                    "type": "result",
                    "status": "error",
                    "error": {"type": "Error", "message": "Your quota will reset after 17h23m."},
                }
            ],
            1,
            Reset(after=17 * 3600 + 23 * 60),
        ),
        (
            "copilot",
            [
                {
                    "type": "session.error",
                    "data": {"errorType": "rate_limit", "message": "Please try again in 2 hours."},
                }
            ],
            1,
            Reset(after=7200.0),
        ),
        (
            "qwen",
            [
                {
                    "type": "result",
                    "is_error": True,
                    "error": {"message": "429 Rate limit reached. Please try again in 6m0s."},
                }
            ],
            1,
            Reset(after=360.0),
        ),
        (
            "opencode",
            [
                {
                    "type": "error",
                    "error": {
                        "name": "APIError",
                        "data": {"statusCode": 429, "message": "try again at 5:17 PM"},
                    },
                }
            ],
            1,
            Reset(clock=TimeOfDay(17, 17)),
        ),
        ("command", [{"ralph": 1, "type": "limit", "message": "resets in 90s"}], 1, Reset(after=90.0)),
    ],
)
def test_each_cli_tells_its_limit(cli, records, code, expected):
    """Where a CLI reports a limit in its own channel, the call's fault is that limit, with its end."""
    facts = read_stream(cli, lines(*records), code)[1]
    assert facts.fault is not None
    assert facts.fault.kind == "limit"
    assert Reset(facts.fault.reset_at, facts.after, facts.clock) == expected


PER_DAY = {"@type": "x.rpc.QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerModel"}]}
BOUNDS: list[tuple[str, list[dict[str, object]], int, str, float | None]] = [
    ("claude", [{"type": "result", "subtype": "error_max_budget_usd", "is_error": True}], 1, "budget", None),
    (
        "claude",
        [{"type": "result", "is_error": True, "terminal_reason": "budget_exhausted"}],
        1,
        "budget",
        None,
    ),
    ("claude", [{"type": "result", "subtype": "error_max_turns", "is_error": True}], 1, "turns", None),
    ("claude", [{"type": "result", "is_error": True, "api_error_status": 529}], 1, "overload", None),
    (
        "claude",
        [
            {
                "type": "system",
                "subtype": "api_retry",
                "attempt": 1,
                "max_retries": 10,
                "retry_delay_ms": 3_600_000,
                "error_status": 429,
                "error": "rate_limit",
            }
        ],
        143,
        "limit",
        3600.0,
    ),
    (
        "codex",
        [{"type": "turn.failed", "error": {"message": "x, last status: 429 Too Many Requests"}}],
        1,
        "limit",
        None,
    ),
    (
        "codex",
        [{"type": "turn.failed", "error": {"message": "Quota exceeded: insufficient_quota"}}],
        1,
        "credit",
        None,
    ),
    (
        "gemini",
        [
            {
                "type": "result",
                "status": "error",
                "error": {
                    "type": "Error",
                    "message": json.dumps(
                        {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [PER_DAY]}}
                    ),
                },
            }
        ],
        173,
        "limit",
        None,
    ),
    ("gemini", [], 173, "limit", None),  # the status modulo 256, and not a word
    ("gemini", [], 17, "overload", None),
    ("gemini", [], 53, "turns", None),
    ("qwen", [], 53, "turns", None),
    ("qwen", [], 55, "turns", None),
]


@pytest.mark.parametrize(("cli", "records", "code", "kind", "after"), BOUNDS)
def test_each_bound_has_its_kind(cli, records, code, kind, after):
    """Limits without an end, spent credit, budgets, turns and overload are told apart; none is a crash."""
    facts = read_stream(cli, lines(*records), code)[1]
    assert facts.fault is not None
    assert (facts.fault.kind, facts.after) == (kind, after)


@pytest.mark.parametrize(
    ("cli", "records"),
    [
        ("claude", [SPOKEN, {"type": "result", "is_error": False, "result": OLD}]),
        (
            "codex",
            [
                {
                    "type": "item.completed",
                    "item": {"type": "agent_message", "text": CODEX + "try again at 5:17 PM."},
                },
                {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}},
            ],
        ),
        (
            "gemini",
            [
                {"type": "message", "role": "assistant", "content": "Your quota will reset after 17h23m."},
                {
                    "type": "tool_result",
                    "status": "error",
                    "output": "429 Please retry in 37.5s",
                    "error": {"type": "x"},
                },
                {"type": "result", "status": "success", "stats": {}},
            ],
        ),
        (
            "opencode",
            [
                {"type": "text", "part": {"text": "usage limit reached, resets 3pm"}},
                {"type": "step_finish", "part": {"reason": "stop", "tokens": {"input": 1, "output": 1}}},
            ],
        ),
    ],
)
def test_words_of_a_model_or_a_tool_are_no_limit(cli, records):
    """The same words from a model or a tool are words."""
    assert read_stream(cli, lines(*records), 0)[1].fault is None
    plain = b"Claude AI usage limit reached|1759500000\nYou've hit your usage limit, try again at 5:17 PM.\n"
    assert read_stream("command", plain, 0)[1].fault is None


def test_reading_takes_no_time():
    """Words made to be hard do not run away."""
    began = time.process_time()
    for text in (
        "try again in " + "1d " * 4000,
        "resets " * 2000,
        "retry after " + "9" * 8000,
        "resets oct " * 1000,
    ):
        moment_of(read(text), SAID.timestamp())
    assert time.process_time() - began < 20
