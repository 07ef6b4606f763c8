"""How each real agent CLI is driven by hand against the scripted server: argv, environment, files.

`{url}`, `{home}`, `{exe}`, `{prompt}`, `{python}`, `{bridge}` are filled in; the prompt also comes on stdin.
This is the driver's own table, for recording streams; Ralph's adapters have theirs.
"""

import json
from dataclasses import dataclass, field
from typing import Any

BASE = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TMPDIR": "/tmp",
    "CI": "1",
    "NO_COLOR": "1",
}


@dataclass(frozen=True)
class Cli:
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """Path below the home -> content."""
    turns: tuple[str, ...] = ()
    """More arguments that allow one turn only."""
    turns_files: dict[str, str] = field(default_factory=dict)
    timid: dict[str, str] = field(default_factory=dict)
    """Argument -> replacement that takes the permission bypass away ("" removes it)."""
    resume: tuple[str, ...] = ()
    """Arguments that continue the conversation, in place of `fresh`."""
    fresh: tuple[str, ...] = ()
    limited: dict[str, str] = field(default_factory=dict)
    """Environment of a subscription, where only that has a usage limit."""
    refused: tuple[dict[str, Any], ...] = ()
    """What the model tries when permissions are missing, where the client then hides its tools."""
    timid_env: dict[str, str] = field(default_factory=dict)
    keeps: str = ""
    """A file in the home that tells what stdout does not; kept beside the stream."""
    prose: bool = False
    """Its stdout is not JSON lines."""


_UUID = "11111111-2222-4333-8444-555555555555"

_GEMINI: dict[str, Any] = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"maxAttempts": 1, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "telemetry": {"enabled": False},
}

_MOCK = (
    'name="mock"',
    'base_url="{url}/v1"',
    'env_key="MOCK_KEY"',
    'wire_api="responses"',
    "request_max_retries=0",
    "stream_max_retries=0",
)

_OPENCODE: dict[str, Any] = {
    "model": "mock/scripted",
    "small_model": "mock/scripted",
    "autoupdate": False,
    "share": "disabled",
    "provider": {
        "mock": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "mock",
            "options": {"baseURL": "{url}/v1", "apiKey": "sk-scripted"},
            "models": {
                "scripted": {
                    "name": "scripted",
                    "cost": {"input": 1, "output": 2},
                    "limit": {"context": 100000, "output": 8000},
                }
            },
        }
    },
}
_QWEN: dict[str, Any] = {
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False},
    "model": {"generationConfig": {"maxRetries": 0}},
}

_PI: dict[str, Any] = {
    "providers": {
        "mock": {
            "baseUrl": "{url}/v1",
            "api": "openai-completions",
            "apiKey": "MOCK_KEY",
            "models": [
                {
                    "id": "scripted",
                    "name": "scripted",
                    "reasoning": False,
                    "input": ["text"],
                    "contextWindow": 100000,
                    "maxTokens": 8000,
                    "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
                }
            ],
        }
    }
}
_DROID: dict[str, Any] = {
    "customModels": [
        {
            "model": "scripted",
            "id": "custom:scripted",
            "displayName": "scripted",
            "baseUrl": "{url}/v1",
            "apiKey": "sk-scripted",
            "provider": "generic-chat-completion-api",
            "maxOutputTokens": 8000,
        }
    ]
}

CLIS = {
    "claude": Cli(
        argv=(
            *("{exe}", "-p", "--output-format", "stream-json", "--verbose"),
            *("--dangerously-skip-permissions", "{session}"),
        ),
        env={
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "sk-ant-scripted",
            "IS_SANDBOX": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        },
        turns=("--max-turns", "1"),
        timid={"--dangerously-skip-permissions": ""},
        fresh=("--session-id", _UUID),
        resume=("--resume", _UUID),
        limited={"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-scripted", "ANTHROPIC_API_KEY": ""},
    ),
    "codex": Cli(
        argv=(
            *("{exe}", "exec", "{session}", "--json", "--dangerously-bypass-approvals-and-sandbox"),
            *("--skip-git-repo-check", "-m", "gpt-5.5", "-c", 'model_provider="mock"'),
            *("-c", "model_providers.mock={" + ",".join(_MOCK) + "}"),
            *("--disable", "plugins", "--disable", "apps", "--disable", "remote_plugin"),
            *("-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false", "-"),
        ),
        env={"MOCK_KEY": "sk-scripted", "CODEX_HOME": "{home}/.codex"},
        files={".codex/config.toml": ""},
        timid={"--dangerously-bypass-approvals-and-sandbox": "--sandbox=read-only"},
        resume=("resume", "--last"),
    ),
    "goose": Cli(
        argv=(
            *("{exe}", "run", "-i", "-", "--output-format", "stream-json", "--quiet", "--no-profile"),
            *("--with-builtin", "developer", "-n", "scripted", "{session}"),
        ),
        env={
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "scripted",
            "OPENAI_API_KEY": "sk-scripted",
            "OPENAI_HOST": "{url}",
            "GOOSE_MODE": "auto",
            "GOOSE_DISABLE_KEYRING": "1",
            "GOOSE_TELEMETRY_ENABLED": "false",
            "GOOSE_DISABLE_SESSION_NAMING": "true",
            "GOOSE_PROVIDER_SKIP_BACKOFF": "true",
        },
        turns=("--max-turns", "1"),
        timid_env={"GOOSE_MODE": "approve"},
        resume=("-r",),
    ),
    "gemini": Cli(
        argv=(
            "{exe}",
            "--output-format",
            "stream-json",
            "--yolo",
            "--skip-trust",
            "-m",
            "gemini-2.5-pro",
            "{session}",
        ),
        env={
            "GEMINI_API_KEY": "scripted",
            "GOOGLE_GEMINI_BASE_URL": "{url}",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        },
        files={".gemini/settings.json": json.dumps(_GEMINI)},
        turns_files={".gemini/settings.json": json.dumps({**_GEMINI, "model": {"maxSessionTurns": 1}})},
        timid={"--yolo": ""},
        refused=(
            {"tool": {"name": "write_file", "input": {"file_path": "hello.txt", "content": "hello\n"}}},
        ),
        fresh=("--session-id", _UUID),
        resume=("--resume", _UUID),
    ),
    "opencode": Cli(
        argv=("{exe}", "run", "--format", "json", "--auto", "{session}"),
        env={
            "OPENCODE_CONFIG_CONTENT": json.dumps(_OPENCODE),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        timid={"--auto": ""},
        resume=("-c",),
    ),
    "copilot": Cli(
        argv=(
            *("{exe}", "--allow-all-tools", "--output-format", "json", "--no-auto-update", "{session}"),
            *("--usage-output-file", "{home}/usage.json"),
        ),
        env={
            "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "sk-scripted",
            "COPILOT_MODEL": "gpt-4.1",
            "COPILOT_OFFLINE": "true",
        },
        timid={"--allow-all-tools": ""},
        fresh=("--session-id", _UUID),
        resume=("--session-id", _UUID),
        keeps="usage.json",
    ),
    "qwen": Cli(
        argv=(
            *("{exe}", "-o", "stream-json", "--yolo", "--auth-type", "openai", "-m", "scripted", "{session}"),
        ),
        env={"OPENAI_API_KEY": "sk-scripted", "OPENAI_BASE_URL": "{url}/v1"},
        files={".qwen/settings.json": json.dumps(_QWEN)},
        turns=("--max-session-turns", "1"),
        timid={"--yolo": ""},
        fresh=("--session-id", _UUID),
        resume=("--resume", _UUID),
    ),
    "pi": Cli(
        argv=(
            *(
                "{exe}",
                "-p",
                "--mode",
                "json",
                "--provider",
                "mock",
                "--model",
                "scripted",
                "--no-extensions",
            ),
            *("--session-dir", "{home}/sessions", "{session}"),
        ),
        env={"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "MOCK_KEY": "sk-scripted"},
        files={".pi/agent/models.json": json.dumps(_PI)},
        resume=("--continue",),
    ),
    "droid": Cli(
        argv=(
            *("{exe}", "exec", "-o", "stream-json", "--skip-permissions-unsafe", "-m", "custom:scripted"),
            "{session}",
        ),
        env={"FACTORY_API_KEY": "fk-scripted", "FACTORY_DISABLE_KEYRING": "1"},
        files={".factory/settings.json": json.dumps(_DROID)},
        timid={"--skip-permissions-unsafe": ""},
    ),
    "aider": Cli(
        argv=(
            *("{exe}", "--message-file", "{home}/prompt", "--yes-always", "--model", "openai/scripted"),
            *(
                "--no-check-update",
                "--analytics-disable",
                "--no-show-model-warnings",
                "--no-show-release-notes",
            ),
            *("--no-gitignore", "--no-pretty", "--no-auto-commits", "--edit-format", "diff", "--no-stream"),
            "calc.py",
        ),
        env={
            "OPENAI_API_BASE": "{url}/v1",
            "OPENAI_API_KEY": "sk-scripted",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        files={"prompt": "{prompt}"},
        resume=("--restore-chat-history",),
        prose=True,
    ),
    "mini": Cli(
        argv=(
            *("{exe}", "-t", "{prompt}", "-y", "--exit-immediately", "-m", "openai/scripted"),
            *("-o", "{home}/traj.json"),
        ),
        env={
            "OPENAI_API_BASE": "{url}/v1",
            "OPENAI_API_KEY": "sk-scripted",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1",
            "MSWEA_SILENT_STARTUP": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        turns=("-c", "mini.yaml", "-c", "agent.step_limit=1"),
        keeps="traj.json",
        prose=True,
    ),
}


def _over_acp(cli: Cli, *words: str) -> Cli:
    """The same program behind Ralph's bridge: what the bridge prints is the stream."""
    told = {"workspace": "{home}/project", "session": "", "allow": "all", "auth": "", "model": ""}
    order = json.dumps({**told, "version": "0", "patience": 30})
    return Cli(
        argv=("{python}", "-I", "-S", "{bridge}", "{home}/acp.json", "{exe}", *words),
        env=cli.env,
        files={**cli.files, "acp.json": order},
    )


CLIS |= {
    "acp-goose": _over_acp(CLIS["goose"], "acp", "--with-builtin", "developer"),
    "acp-gemini": _over_acp(CLIS["gemini"], "--acp", "--skip-trust", "-m", "gemini-2.5-pro"),
}
