"""The one table of options: key, kind, default, flag, environment variable, what a project may do with it.

Everything else is derived from it: what files may hold, which variables and flags are read, the policy
for repositories, the help texts and the table in docs/config.md. No parsing and no I/O here.
"""

from __future__ import annotations

from ralph.core.text import units
from ralph.shell.config.judge import JUDGE
from ralph.shell.config.settings import Option, Value

_LIMITS = (
    Option(
        "limits.iterations",
        "iterations",
        'Maximum number of agent calls. "unlimited" works only as a flag, with a time or cost limit.',
        15,
        "--max-iterations",
        project="tighten",
    ),
    Option(
        "limits.time",
        "duration",
        "Maximum duration of a loop, including waits but not pauses.",
        None,
        "--max-time",
        project="tighten",
    ),
    Option(
        "limits.iteration_time",
        "duration",
        "Maximum duration of one agent call.",
        1800.0,
        "--iteration-timeout",
        project="tighten",
    ),
    Option(
        "limits.idle",
        "duration",
        "Stop an agent that prints nothing for this long.",
        None,
        "--idle-timeout",
        project="tighten",
    ),
    Option("limits.cost", "money", "Maximum cost of a loop.", None, "--max-cost", project="tighten"),
    Option("limits.tokens", "count", "Maximum number of tokens.", None, "--max-tokens", project="tighten"),
    Option(
        "limits.calls_per_hour",
        "count",
        "Maximum agent calls per hour; further calls wait.",
        None,
        "--calls-per-hour",
        project="tighten",
    ),
)
_PLAIN = (
    Option(
        "agent",
        "names",
        "Agent to use: a name from `ralph agents list` or from [agents.NAME].",
        "",
        "--agent",
        project="approve",
    ),
    Option(
        "model",
        "word",
        "Model for the agent (empty: the agent's own default).",
        "",
        "--model",
    ),
    Option(
        "profile",
        "names",
        "Named bundle of agent, model, environment and limits: claude, glm5, minimax, or [profiles.NAME].",
        "",
        "--profile",
        project="approve",
    ),
    Option(
        "keep_session",
        "switch",
        "Continue the agent's conversation across iterations instead of starting fresh each time.",
        False,
        "--keep-session",
    ),
    *_LIMITS,
    Option(
        "on_fail",
        "choice",
        "What to do with failed work: keep it, revert it, or (auto) revert it if worse twice in a row.",
        "auto",
        "--on-fail",
        choices=("auto", "keep", "revert"),
    ),
    Option(
        "min_grade",
        "grades",
        'Weakest proof that counts as verified, also by class of task: "B, regression=C"; '
        "green work with less ends as DONE_UNPROVEN.",
        "B",
        "--min-grade",
        project="tighten",
    ),
    Option(
        "confirm",
        "choice",
        "How many times the final checks must pass, each in a fresh sandbox; 1 also checks the base once.",
        "3",
        "--confirm",
        choices=("1", "2", "3", "4", "5"),
        project="tighten",
    ),
    Option(
        "sandbox",
        "choice",
        "Sandbox agents and checks.",
        "auto",
        "--sandbox",
        choices=("none", "auto", "require"),
        project="tighten",
    ),
    Option(
        "net",
        "choice",
        "Network access for the agent (checks have none unless their table enables it).",
        "on",
        "--net",
        choices=("on", "off"),
        project="tighten",
    ),
    Option(
        "share",
        "inners",
        "Ignored folders and files to share with workspaces and checkouts, such as .venv.",
        (),
        project="approve",
    ),
    Option(
        "setup",
        "text",
        "Command that installs dependencies, run once per lockfile.",
        "",
        project="approve",
    ),
    Option(
        "history",
        "choice",
        "History the agent can read: shared = every branch, base = only the base's history.",
        "shared",
        choices=("shared", "base"),
        project="tighten",
    ),
    Option("branch_prefix", "prefix", "Prefix of result branches: PREFIX/NAME.", "ralph"),
    Option("max_loops", "count", "Maximum number of active loops.", 4, project="tighten"),
    Option(
        "display",
        "choice",
        "How progress is shown.",
        "auto",
        "--display",
        choices=("auto", "live", "plain", "none"),
    ),
    Option(
        "report.copy_to",
        "inner",
        "Folder in the repository to copy each report to.",
        "",
        project="approve",
    ),
    Option(
        "guards.allow",
        "waivers",
        "Waive a guard's finding: its id and your reason. Repeatable as a flag.",
        {},
        "--allow",
        project="waive",
        union=True,
    ),
    Option(
        "guards.allow_asked",
        "kinds",
        "Waive findings of these kinds (comma-separated) when the agent asks; never integrity findings.",
        "",
        "--allow-asked",
        project="user",
    ),
    Option(
        "guards.quarantine",
        "quarantine",
        'Flaky tests that neither block nor prove: id = "OWNER until YYYY-MM-DD: reason".',
        {},
        project="waive",
        union=True,
    ),
    Option(
        "protect.paths",
        "inners",
        "Additional paths that the agent must not change.",
        (),
        union=True,
    ),
    Option("retention.keep_days", "days", "Days to keep ended loops.", 30, project="user"),
    Option(
        "retention.min_free",
        "size",
        "Free disk space required to start a loop.",
        1_000_000_000,
        project="user",
    ),
)
_GATES = (
    Option("gates.*.run", "text", "Command to run.", project="approve"),
    Option("gates.*.read", "reader", "How to read the output.", "auto", project="approve"),
    Option("gates.*.required", "switch", "false = advisory: shown, never blocks.", True, project="approve"),
    Option(
        "gates.*.proof",
        "switch",
        "Proves the task: must fail before and pass after.",
        False,
        project="approve",
    ),
    Option(
        "gates.*.timeout",
        "duration",
        "Time limit; a check that exceeds it does not pass.",
        600.0,
        project="approve",
    ),
    Option("gates.*.network", "switch", "Allow network access.", False, project="approve"),
    Option("gates.*.cwd", "inner", "Working folder, relative to the config file.", ".", project="approve"),
    Option("gates.*.env", "env", "Environment variables to set.", {}, project="approve"),
    Option("gates.*.path", "dirs", "Folders to prepend to PATH.", (), project="approve"),
    Option(
        "gates.*.exclusive", "switch", "Never run in parallel with another check.", False, project="approve"
    ),
    Option(
        "gates.*.fail_on",
        "choice",
        "Least severe finding that fails the check.",
        "P1",
        choices=("P0", "P1", "P2"),
        project="approve",
    ),
    Option(
        "gates.*.minimum", "percent", 'Lowest percentage, with read = "coverage".', None, project="approve"
    ),
    Option("gates.*.hidden", "switch", "true = never shown to the agent.", False, project="user"),
)
_AGENTS = (
    Option("agents.*.command", "text", "Command of a custom agent.", "", project="approve"),
    Option("agents.*.env", "env", "Environment variables to set.", {}, project="approve"),
    Option("agents.*.write", "texts", "Additional paths it may write to.", (), project="approve"),
    Option("agents.*.settings", "table", "Settings for its adapter.", {}, project="approve"),
)
_PROFILES = (
    Option("profiles.*.agent", "names", "The agent.", "", project="approve"),
    Option("profiles.*.model", "word", "The model.", "", project="approve"),
    Option("profiles.*.env", "env", "Environment variables the agent gets; no keys.", {}, project="approve"),
    Option("profiles.*.key_from", "word", "Environment variable that holds the key.", "", project="approve"),
    Option("profiles.*.key_command", "text", "Command that prints the key.", "", project="approve"),
    Option("profiles.*.key_as", "word", "Variable that passes the key to the agent.", "", project="approve"),
    Option("profiles.*.price_input", "money", "USD per million input tokens.", None, project="approve"),
    Option("profiles.*.price_output", "money", "USD per million output tokens.", None, project="approve"),
    Option("profiles.*.price_cached", "money", "USD per million cached tokens.", None, project="approve"),
    *(Option(f"profiles.*.{limit.key}", limit.kind, limit.doc, None, project="approve") for limit in _LIMITS),
)

OPTIONS: tuple[Option, ...] = (*_PLAIN, *JUDGE, *_GATES, *_AGENTS, *_PROFILES)
BY_KEY: dict[str, Option] = {option.key: option for option in OPTIONS}
LIMIT_KEYS: tuple[str, ...] = tuple(option.key for option in _LIMITS)
NAMED: frozenset[str] = frozenset({"gates", "agents", "profiles"})
PREFIXES: frozenset[str] = frozenset(
    ".".join(option.key.split(".")[:depth])
    for option in OPTIONS
    for depth in range(1, option.key.count(".") + 1)
)
ENV: dict[str, Option] = {option.env: option for option in OPTIONS if option.env}
FLAGS: dict[str, Option] = {option.flag: option for option in OPTIONS if option.flag}


def pattern(path: tuple[str, ...]) -> str:
    """The key under which the table knows a concrete path: gates.tests.run is gates.*.run."""
    if len(path) > 1 and path[0] in NAMED:
        path = (path[0], "*", *path[2:])
    return ".".join(path)


def option_of(key: str) -> Option:
    return BY_KEY[pattern(tuple(key.split(".")))]


def format_value(option: Option, value: Value) -> str:
    """A value as one would write it."""
    if value is None:
        return "unlimited" if option.kind == "iterations" else ""
    if option.kind == "duration" and isinstance(value, int | float):
        return units.duration_words(value)
    if option.kind == "money" and isinstance(value, int | float):
        return units.money_words(value)
    if option.kind == "size" and isinstance(value, int):
        return units.size_words(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if option.kind == "dimensions" and isinstance(value, tuple):
        return "[" + ", ".join(escape_invisible(part) for part in value) + "]"
    if isinstance(value, tuple):
        return "[" + ", ".join(quote_text(part) for part in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quote_text(k)} = {quote_text(v)}" for k, v in sorted(value.items())) + "}"
    return value if isinstance(value, str) and value.isprintable() else escape_invisible(str(value))


def quote_text(text: str) -> str:
    return '"' + escape_invisible(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def escape_invisible(text: str) -> str:
    """Nothing invisible: control, bidirectional and other unprintable characters become escapes."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


_RULE_WORDS = {
    "free": "yes",
    "tighten": "only stricter",
    "approve": "once approved",
    "waive": "once approved",
    "user": "no",
}
_KIND_WORDS = {
    "names": "text", "word": "text", "switch": "true or false", "count": "number", "iterations": "number",
    "kinds": "text",
    "days": "number", "inner": "path", "inners": "paths", "dirs": "paths", "texts": "paths", "env": "table",
    "waivers": "table", "prefix": "text", "quarantine": "table", "score": "number", "dimensions": "tables",
    "grades": "D, C, B or A, also by class",
}  # fmt: skip


def markdown() -> str:
    """The table of docs/config.md; a test keeps the two in step."""
    from ralph.gates.readers import read_choices

    rows = [
        "| key | kind | default | flag | variable | in a project | what |",
        "|---|---|---|---|---|---|---|",
    ]
    for option in OPTIONS:
        choices = read_choices() if option.kind == "reader" else option.choices
        kind = " \\| ".join(choices) or _KIND_WORDS.get(option.kind, option.kind)
        default = "" if option.default in (None, "", (), {}) else f"`{format_value(option, option.default)}`"
        flag, env = (f"`{name}`" if name else "" for name in (option.flag, option.env))
        key, rule = option.key.replace("*", "NAME"), _RULE_WORDS[option.project]
        rows.append(f"| `{key}` | {kind} | {default} | {flag} | {env} | {rule} | {option.doc} |")
    return "\n".join(rows) + "\n"
