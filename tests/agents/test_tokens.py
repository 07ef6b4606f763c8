"""Which login may replace the user's: newer, well-formed, of the same person; and nothing but its tokens."""

import base64
import copy
import json

import pytest

from ralph.agents import claude, codex, gemini, opencode, qwen
from ralph.agents._kit.tokens import digest, merge_newer_tokens, only

NOW = 1_800_000_000.0
MS = int(NOW * 1000)
HOUR = 3_600_000


def jwt(sub, iss="https://issuer", **more):
    body = (
        base64.urlsafe_b64encode(json.dumps({"sub": sub, "iss": iss, **more}).encode()).decode().rstrip("=")
    )
    return f"e30.{body}.c2ln"


CLAUDE = {
    "claudeAiOauth": {"accessToken": "a1", "refreshToken": "r1", "expiresAt": MS, "scopes": ["x"]},
    "mcpOAuth": {"server": {"accessToken": "m"}},
}
CODEX = {
    "OPENAI_API_KEY": None,
    "tokens": {"id_token": jwt("me"), "access_token": jwt("me"), "refresh_token": "r1", "account_id": "acc"},
    "last_refresh": "2026-11-01T00:00:00.123456789Z",
}
GEMINI = {
    "access_token": "a1",
    "refresh_token": "r1",
    "scope": "s",
    "token_type": "Bearer",
    "expiry_date": MS,
}
QWEN = {"access_token": "a1", "refresh_token": "r1", "resource_url": "portal.example", "expiry_date": MS}
OPENCODE = {
    "anthropic": {"type": "oauth", "access": "a1", "refresh": "r1", "expires": MS},
    "openai": {"type": "oauth", "access": "a1", "refresh": "r1", "expires": MS, "accountId": "acc"},
    "mistral": {"type": "api", "key": "k"},
}
LOGINS = {
    "claude": (claude.CLI.folders[0].logins[0], CLAUDE),
    "codex": (codex.CLI.folders[0].logins[0], CODEX),
    "gemini": (gemini.CLI.folders[0].logins[0], GEMINI),
    "qwen": (qwen.CLI.folders[0].logins[0], QWEN),
    "opencode": (opencode.CLI.folders[0].logins[0], OPENCODE),
}


def changed(content, values):
    """A copy with the values at dotted paths; None takes one away."""
    made = copy.deepcopy(content)
    for path, value in values.items():
        *above, last = path.split(".")
        place = made
        for key in above:
            place = place.setdefault(key, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return made


REFRESHED = {
    "claude": {
        "claudeAiOauth.accessToken": "a2",
        "claudeAiOauth.refreshToken": "r2",
        "claudeAiOauth.expiresAt": MS + HOUR,
    },
    "codex": {
        "tokens.access_token": jwt("me", exp=2),
        "tokens.refresh_token": "r2",
        "last_refresh": "2027-01-15T07:00:00Z",
    },
    "gemini": {"access_token": "a2", "id_token": jwt("me"), "expiry_date": MS + HOUR},
    "qwen": {"access_token": "a2", "refresh_token": "r2", "expiry_date": MS + HOUR},
    "opencode": {"openai.access": "a2", "openai.refresh": "r2", "openai.expires": MS + HOUR},
}


@pytest.mark.parametrize("name", LOGINS)
def test_a_refreshed_login_goes_back(name):
    """The newer tokens, and the time they are of, stand in the user's own content; all else is as it was."""
    login, theirs = LOGINS[name]
    ours = changed(theirs, REFRESHED[name])
    assert merge_newer_tokens(login, theirs, ours, NOW).content == ours
    assert digest(login, theirs) != digest(login, ours)
    assert merge_newer_tokens(login, ours, theirs, NOW).content is None, "an older login replaced a newer one"
    assert merge_newer_tokens(login, theirs, theirs, NOW) == merge_newer_tokens(login, ours, ours, NOW)


@pytest.mark.parametrize("name", LOGINS)
def test_nothing_comes_with_it(name):
    """Keys that would run something, or lead elsewhere, stay behind, wherever in the file they were put."""
    login, theirs = LOGINS[name]
    good = changed(theirs, REFRESHED[name])
    planted = {
        "apiKeyHelper": "evil",
        "mcpServers": {"x": {"command": "evil"}},
        "resource_url": "evil.example",
    }
    planted |= {"OPENAI_API_KEY": "evil", "mistral.key": "evil", "evil.type": "oauth", "evil.access": "a"}
    planted |= {"claudeAiOauth.apiKeyHelper": "evil", "tokens.command": "evil", "openai.command": "evil"}
    ours = changed(good, planted)
    made = merge_newer_tokens(login, theirs, ours, NOW)
    assert made.content == good
    assert "evil" not in json.dumps(made.content)


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("claude", {"claudeAiOauth.accessToken": "a b"}, "no token"),
        ("claude", {"claudeAiOauth.accessToken": "a\x1b[0m"}, "no token"),
        ("claude", {"claudeAiOauth.accessToken": "x" * 20_000}, "no token"),
        ("claude", {"claudeAiOauth.accessToken": {"deep": 1}}, "no token"),
        ("claude", {"claudeAiOauth.refreshToken": None}, "no token"),
        ("claude", {"claudeAiOauth.expiresAt": "soon"}, "no time"),
        ("claude", {"claudeAiOauth.expiresAt": True}, "no time"),
        ("claude", {"claudeAiOauth.expiresAt": None}, "no time"),
        ("claude", {"claudeAiOauth.expiresAt": MS + 400 * 24 * HOUR}, "too far"),
        ("claude", {"claudeAiOauth.expiresAt": 10**30}, "no time"),
        ("codex", {"last_refresh": "2027-06-01T00:00:00Z"}, "too far"),
        ("codex", {"tokens.account_id": "other"}, "another login"),
        ("codex", {"tokens.account_id": None}, "another login"),
        ("codex", {"tokens.id_token": jwt("somebody else")}, "another login"),
        ("codex", {"tokens.access_token": jwt("somebody else")}, "another login"),
        ("codex", {"tokens.access_token": jwt("me", "https://elsewhere")}, "another login"),
        ("codex", {"tokens.id_token": "opaque"}, "another login"),
        ("codex", {"tokens": ["no", "object"]}, "another login"),
        ("opencode", {"openai.accountId": "other"}, "another login"),
        ("opencode", {"openai.type": "api"}, "another login"),
    ],
)
def test_what_is_refused(name, values, why):
    """Tokens that are none, times that are none, and the login of somebody else stay out, with the reason."""
    login, theirs = LOGINS[name]
    made = merge_newer_tokens(login, theirs, changed(theirs, {**REFRESHED[name], **values}), NOW)
    assert made.content is None
    assert why in made.why


def test_a_login_that_was_not_there_does_not_appear():
    """Who was not logged in is not logged in by an agent; keys are no logins."""
    login, theirs = LOGINS["opencode"]
    ours = changed(
        theirs, {"evil.type": "oauth", "evil.access": "a", "evil.refresh": "r", "evil.expires": MS}
    )
    assert merge_newer_tokens(login, theirs, changed(ours, {"mistral.key": "evil"}), NOW).content is None
    login, theirs = LOGINS["codex"]
    bare = {"OPENAI_API_KEY": "mine"}
    assert merge_newer_tokens(login, bare, changed(theirs, REFRESHED["codex"]), NOW).content is None


def test_one_bad_entry_does_not_keep_the_others():
    """In a file of several logins each is judged for itself."""
    login, theirs = LOGINS["opencode"]
    ours = changed(theirs, REFRESHED["opencode"])
    ours = changed(ours, {"anthropic.access": "a b", "anthropic.expires": MS + HOUR})
    made = merge_newer_tokens(login, theirs, ours, NOW)
    assert made.content == changed(theirs, REFRESHED["opencode"])
    assert "no token" in made.why


def test_only_named_entries():
    """What is copied in of a file that holds more."""
    assert only(CLAUDE, ("claudeAiOauth",)) == {"claudeAiOauth": CLAUDE["claudeAiOauth"]}
    assert only(CLAUDE, ()) == CLAUDE


def test_nested_nonsense_is_only_nonsense():
    """A token that is nested as deep as JSON allows is refused like any other."""
    login, theirs = LOGINS["claude"]
    deep: object = 1
    for _ in range(900):
        deep = [deep]
    ours = changed(theirs, {**REFRESHED["claude"], "claudeAiOauth.accessToken": deep})
    assert len(digest(login, ours)) == 64
    assert "no token" in merge_newer_tokens(login, theirs, ours, NOW).why
