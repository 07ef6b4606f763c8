"""Typical mistakes: where each is made (see `test_golden.places`), and what was typed."""

LOOP = ("loop", "make it pass")
AGENT = ("--agent-cmd", "./agent.sh")

MISTAKES: tuple[tuple[str, tuple[str, ...]], ...] = (
    # words that are no command, flag or value
    ("repo", ("lopo",)),
    ("repo", ("loop", "--no-such-flag")),
    ("repo", ("loop",)),
    ("repo", ("loop", "  ")),
    ("repo", ("resume", "--display", "loud")),
    ("repo", ("demo", "--pace", "fast")),
    ("repo", ("completions", "tcsh")),
    ("repo", (*LOOP, *AGENT, "--check")),
    ("repo", (*LOOP, *AGENT, "--check", "")),
    ("repo", (*LOOP, *AGENT, "--check", "a=true", "--check", "a=false")),
    ("repo", (*LOOP, *AGENT, "--check", "true", "--class", "magic")),
    ("repo", (*LOOP, *AGENT, "--check", "true", "--max-iterations", "many")),
    ("repo", (*LOOP, *AGENT, "--check", "true", "--max-iterations", "0")),
    ("repo", (*LOOP, *AGENT, "--check", "true", "--max-iterations", "unlimited")),
    ("repo", (*LOOP, *AGENT, "--check", "true", "--max-cost", "1")),
    ("repo", (*LOOP, *AGENT, "--check", "true", "--max-time", "soon")),
    ("repo", (*LOOP, *AGENT, "--check", "true", "--min-grade", "Z")),
    ("repo", (*LOOP, *AGENT, "--check", "true", "--allow", "canary")),
    ("repo", (*LOOP, *AGENT, "--check", "true", "--base", "no-such-branch")),
    ("repo", (*LOOP, *AGENT, "--check", "true", "--branch", "..")),
    ("repo", (*LOOP, *AGENT, "--check", "true", "--branch", "main/x")),
    ("repo", (*LOOP, *AGENT, "--check", "true", "--loop-id", "../up")),
    ("repo", (*LOOP, *AGENT, "--hidden-check", "sh check.sh")),
    # agents
    ("repo", (*LOOP, "--check", "true", "--agent", "nobody")),
    ("repo", (*LOOP, "--check", "true", "--agent-cmd", "./no-such-agent.sh")),
    ("repo", (*LOOP, "--check", "true", "--profile", "nothing")),
    # no check
    ("repo", (*LOOP, *AGENT, "--no-infer")),
    # loops that are not there
    ("repo", ("status", "no-such-loop")),
    ("repo", ("resume", "no-such-loop")),
    ("repo", ("resume", "--last")),
    ("repo", ("report", "no-such-loop")),
    ("repo", ("logs", "no-such-loop")),
    ("repo", ("diff", "no-such-loop")),
    ("repo", ("merge", "no-such-loop")),
    ("repo", ("undo", "no-such-loop")),
    ("repo", ("drop", "no-such-loop", "--yes")),
    ("repo", ("abort", "no-such-loop")),
    ("repo", ("steer", "no-such-loop", "hello")),
    ("repo", ("verify", "no-such-loop")),
    ("repo", ("verify", "no-such-loop", "--json")),
    ("repo", ("prompt", "show", "no-such-loop")),
    ("repo", ("approve", "0123456789ab")),
    ("repo", ("specs", "check")),
    ("repo", ("build", *AGENT, "--check", "true", "--display", "plain")),
    # places
    ("empty", (*LOOP, *AGENT, "--check", "true")),
    ("bare", (*LOOP, *AGENT, "--check", "true")),
    ("fresh", (*LOOP, *AGENT, "--check", "true")),
    ("merging", (*LOOP, *AGENT, "--check", "true")),
    # configuration
    ("badtoml", ("config", "show")),
    ("badvalue", ("config", "show")),
    ("badvalue", (*LOOP, *AGENT, "--check", "true")),
    ("asks", (*LOOP, *AGENT)),
)
