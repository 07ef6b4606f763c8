"""The situations each agent CLI is driven through: a task, and a script for the model."""

from typing import Any

TASK = "Make test_calc.py pass. Edit calc.py.\n"

CALC = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
WORK: list[dict[str, Any]] = [
    {"say": "I look at the file first.", "read": {"path": "calc.py"}},
    {"edit": {"path": "calc.py", "old": "    return a - b", "new": "    return a + b"}},
    {"write": {"path": "done.txt", "text": "fixed\n"}},
    {"bash": "python3 -c 'import calc; print(calc.add(2, 3))'"},
    {"say": "The test passes now."},
]
SMALL: list[dict[str, Any]] = [
    {"write": {"path": "hello.txt", "text": "hello\n"}},
    {"say": "Wrote hello.txt."},
]


# A moment far away: a reset in a recorded stream must not lie in the past of those who read it.
RESET = 2_000_000_000


def fault(**reply: Any) -> list[dict[str, Any]]:
    return [{**reply, "times": "forever"}]


CASES: dict[str, dict[str, Any]] = {
    "success": {"replies": WORK},
    "several": {
        "replies": [
            {
                "say": "Both.",
                "tools": [{"write": {"path": "a.txt", "text": "a\n"}}, {"bash": "echo b > b.txt"}],
            },
            {"say": "Done."},
        ]
    },
    "tool-fails": {"replies": [{"bash": "echo oh no >&2; exit 3"}, {"say": "It failed."}]},
    "429-short": {"replies": [{"error": {"status": 429, "headers": {"retry-after": "1"}}}, *SMALL]},
    "429-long": {"replies": fault(error={"status": 429, "headers": {"retry-after": "3600"}})},
    "401": {"replies": fault(error=401)},
    "400": {"replies": fault(error=400)},
    "403": {"replies": fault(error=403)},
    "500": {"replies": fault(error=500)},
    "503": {"replies": fault(error=503)},
    "529": {"replies": fault(error=529)},
    "refused": {"refused": True, "replies": SMALL},
    "cut": {"replies": fault(say="This will never be said to its end, for the line breaks.", cut="body")},
    "cut-connect": {"replies": fault(cut="connect")},
    "midstream": {
        "replies": fault(say="Half of it comes.", midstream={"status": 529, "message": "Overloaded"})
    },
    "max-turns": {"turns": True, "replies": WORK},
    "denied": {"timid": True, "replies": SMALL},
    "usage-limit": {
        "limited": True,
        "replies": fault(
            error={
                "status": 429,
                "type": "usage_limit_reached",
                "message": "The usage limit has been reached",
                "extra": {"plan_type": "plus", "resets_in_seconds": 3600, "resets_at": RESET},
                "headers": {
                    "retry-after": "3600",
                    "anthropic-ratelimit-unified-status": "rejected",
                    "anthropic-ratelimit-unified-reset": str(RESET),
                    "anthropic-ratelimit-unified-representative-claim": "five_hour",
                    "anthropic-ratelimit-unified-5h-status": "rejected",
                    "anthropic-ratelimit-unified-5h-reset": str(RESET),
                    "anthropic-ratelimit-unified-5h-utilization": "1.0",
                    "anthropic-ratelimit-unified-overage-status": "rejected",
                },
            }
        ),
    },
    "stall": {"replies": fault(say="Now wait.", stall=-1), "linger": 3},
    "fault-after-work": {"replies": [SMALL[0], *fault(error=529)]},
    "max-tokens": {"replies": [{"say": "I was cut off", "stop": "max_tokens"}, {"say": "Done."}]},
    "resume": {"twice": True, "replies": [*SMALL, {"say": "Nothing more to do."}]},
    "subagent": {
        "only": ["claude"],
        "replies": [
            {
                "tool": {
                    "name": "Task",
                    "input": {
                        "description": "look",
                        "prompt": "Look at calc.py",
                        "subagent_type": "general-purpose",
                    },
                }
            },
            {"say": "The helper looked."},
        ],
        "sub": [{"bash": "cat calc.py"}, {"say": "It subtracts."}],
    },
    "lying": {"replies": [{"say": "All done, every test passes."}]},
    "left-child": {"replies": [{"bash": "nohup sleep 300 >/dev/null 2>&1 & echo started"}, {"say": "Done."}]},
    "context": {
        "replies": fault(
            error={
                "status": 400,
                "code": "context_length_exceeded",
                "message": "prompt is too long: 250000 tokens > 200000 maximum",
            }
        )
    },
}
