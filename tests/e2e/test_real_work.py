"""The real CLIs at work: each brings a task to VERIFIED_DONE with its own tools, inside Ralph's box."""

import json
import re
import shlex

import kit
import pytest
import realkit
from realkit import ADD, BLOCK, LOOK, MAIN, MENDING, MUL, TOKENS, WORK, World

from ralph.core.model.events import AgentStarted

pytestmark = pytest.mark.slow
LINKS = "sed -n 's/:.*/-link/p' /proc/net/dev"


@pytest.fixture
def world(tmp_path):
    """A user with these CLIs; whatever a failed test leaves is ended."""
    made = []

    def make(*names):
        made.append(World(tmp_path, *names))
        return made[-1]

    yield make
    for one in made:
        one.place.kill_all()


def tokens(played):
    return [call.usage.tokens for call in played.calls()]


@pytest.mark.parametrize("name", MAIN)
def test_solves_a_task(world, name):
    """Two iterations of one conversation: verified, figures as differences, no child left, no network."""
    it = world(name)
    child = f"setsid nohup python3 -c 'import time; time.sleep(300)' {it.top} >/dev/null 2>&1 &"
    script = [
        *(LOOK, ADD, {"bash": f"{child} echo $! > .git/child; printf 'begun-%d' 0x2a"}),
        {"bash": f"xargs kill -0 < .git/child && printf 'alive-%d' 0x2a; {LINKS}"},
        {"say": "One of the two functions is right now."},
        *(LOOK, MUL, {"say": "Both are."}),
    ]
    played = it.play({"replies": script}, it.loop("--max-iterations", "2", "--keep-session"))
    loop = it.expect(played, "verified", 0, [None, None])
    assert "VERIFIED_DONE" in played.last.out
    assert loop.work.protection in ("S2", "S3"), "this machine has no sandbox: bubblewrap is needed"
    assert tokens(played) == [5 * TOKENS, 3 * TOKENS]
    assert loop.spend.tokens == 8 * TOKENS
    assert "a + b" in it.place.result("calc.py")
    assert "a * b" in it.place.result("calc.py")
    first, second = (call.session.id for call in played.calls())
    assert first == second
    told = played.told()
    assert "begun-42" in told
    assert "alive-42" in told
    assert set(re.findall(r"(\w+)-link", told)) == {"lo"}


@pytest.mark.agents
@pytest.mark.parametrize("name", MAIN)
def test_without_a_sandbox(world, name):
    """At the lowest level the CLI's own list holds: edits and the visible check, and no child is left."""
    it = world(name)
    if name == "gemini":  # a base URL beside a key: the user has said in the settings which of them counts
        it.home.joinpath(".gemini").mkdir()
        settings = '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
        it.home.joinpath(".gemini/settings.json").write_text(settings)
    script = [*WORK[:-1], {"bash": "python3 -m unittest"}, WORK[-1]]
    played = it.play({"replies": script}, it.loop("--max-iterations", "1", "--sandbox", "none"))
    loop = it.expect(played, "verified", 0, [None], untouched=False)
    assert loop.work.protection == "S0"
    assert tokens(played) == [len(script) * TOKENS]
    assert "Ran 3 tests" in played.told()


def held(folder):
    """Every name in a folder, with its mode and content."""
    found = sorted(path for path in folder.rglob("*"))
    return [(path, path.stat().st_mode, path.read_bytes() if path.is_file() else b"") for path in found]


@pytest.mark.agents
@pytest.mark.parametrize("name", MAIN)
def test_lies_and_plants(world, name):
    """A claim changes nothing; what the user's own CLI would read later stays; other talks are not seen."""
    it = world(name)
    folder, kept, plants, talk = {
        "claude": (it.home / ".claude", "settings.json", ".config.json", "projects/-other/talk.jsonl"),
        "codex": (it.home / ".codex", "config.toml", ".env", "state_5.sqlite"),
        "goose": (it.place.config / "goose", "config.yaml", "permission.yaml", "history.txt"),
        "gemini": (it.home / ".gemini", "settings.json", ".env", "tmp/other/chats/talk.json"),
    }[name]
    (folder / talk).parent.mkdir(parents=True)
    (folder / talk).write_text("talk-of-other-work")
    (folder / kept).write_text("{}\n" if kept.endswith(".json") else "# mine\n")
    before = held(folder)
    above = (folder / talk).parent
    plant = (
        f"cat {folder}/{talk}; mkdir -p {above} {folder}/skills {folder}/hooks; mv {folder}/{kept} {folder}/x"
    )
    for path in (plants, kept, talk, "skills/x", "hooks/x", "new-file"):
        plant += f"; echo planted > {folder}/{path}"
    script = [
        {"bash": f"{plant}; printf 'tried-%d' 0x2a"},
        {"say": "All done, every test passes.\n\n" + BLOCK},
    ]
    played = it.play({"replies": script}, it.loop("--max-iterations", "1"))
    loop = it.expect(played, "exhausted", 1, [None], untouched=False)
    assert not loop.landing.result
    assert "tried-42" in played.told()
    assert "talk-of-other-work" not in played.told()
    claim = played.calls()[0].claim
    assert claim is not None
    assert claim.status == "COMPLETE"
    assert held(folder) == before


@pytest.mark.agents
def test_killed_in_a_kept_conversation(world):
    """After kill -9 in the second call a kept conversation goes on, from the loop's copy of the folder."""
    it = world("codex")
    words = shlex.join(it.loop("--max-iterations", "3", "--keep-session"))
    waits = f"until ls {it.place.state}/workspaces/*/.git/second; do sleep 0.1; done; sleep 1"
    killed = ["sh", "-c", f"{words} & {waits}; kill -9 $!; wait $!"]
    half = [LOOK, ADD, {"say": "One of the two functions is right now."}]
    script = [
        *half,
        {"bash": "touch .git/second"},
        {"say": "too late", "stall": 30},
        MUL,
        {"say": "Both are."},
    ]
    played = it.play({"replies": script}, killed, [*kit.ralph_argv(), "resume", "--display", "plain"])
    assert [done.code for done in played.done] == [137, 0], played.last.report()
    assert len({call.session.id for call in played.calls()}) == 1
    assert "One of the two functions is right now." in json.dumps(played.asked()[-1]["body"])
    assert not it.home.joinpath(".codex").exists()


@pytest.mark.agents
def test_the_login_in_its_folder(world):
    """Without a key Claude Code works by the user's login, from a copy; that one and its neighbours stay."""
    it = world("claude")
    token = {"accessToken": "sk-ant-oat01-x", "refreshToken": "sk-ant-ort01-x", "expiresAt": 4102444800000}
    it.home.joinpath(".claude").mkdir()
    login = {"claudeAiOauth": {**token, "scopes": ["user:inference"], "subscriptionType": "max"}}
    it.home.joinpath(".claude/.credentials.json").write_text(json.dumps(login))
    account = {"oauthAccount": {"accountUuid": "u", "emailAddress": "a@example.invalid"}, "projects": {}}
    it.home.joinpath(".claude.json").write_text(json.dumps(account))
    before = held(it.home)
    played = it.play({"replies": WORK}, it.loop("--max-iterations", "1"), ANTHROPIC_API_KEY=None)
    assert played.last.code == 0, played.last.report()
    assert {fact["headers"].get("authorization") for fact in played.asked(None)} == {"Bearer sk-ant-oat01-x"}
    assert held(it.home) == before


@pytest.mark.agents
@pytest.mark.parametrize("name", [name for name in MAIN if name != "codex"])
def test_its_own_bound(world, name):
    """The CLI's own bound on turns is a fault with a name, and what it did until then is judged."""
    it = world(name)
    script = {"replies": [{**MENDING, "times": "forever"}]}
    played = it.play(script, it.loop("--max-iterations", "1"), settings={"max_turns": 1})
    it.expect(played, "verified", 0, ["turns"])
    assert tokens(played) == [TOKENS]


@pytest.mark.agents
def test_another_stands_in(world):
    """While Claude Code is at its limit Codex does the work, and the record says why."""
    it = world("claude", "codex")
    limited = {"error": {"status": 429, "headers": {"retry-after": "3600"}}}
    played = it.play({"replies": [limited, *WORK]}, it.loop("--max-iterations", "2"))
    loop = it.expect(played, "verified", 0, ["limit", None])
    assert loop.iteration == 1
    assert [event.using for event in played.last.all(AgentStarted)] == [0, 1]
    assert "because claude: limit" in played.last.text
    protocols = [fact["protocol"] for fact in played.asked()]
    assert protocols[0] != protocols[1]
    assert len(set(protocols[1:])) == 1
    assert played.calls()[1].usage.tokens == len(WORK) * TOKENS


@pytest.mark.agents
def test_a_reset_is_waited_for(world):
    """A usage limit that names its reset is waited out, the iteration is not spent, and the work goes on."""
    it = world("claude")
    headers = {"retry-after": "3600", "anthropic-ratelimit-unified-representative-claim": "five_hour"}
    parts = {"status": "rejected", "reset": "{soon}", "5h-status": "rejected", "5h-reset": "{soon}"}
    headers |= {f"anthropic-ratelimit-unified-{part}": value for part, value in parts.items()}
    limited = {"error": {"status": 429, "headers": headers}}
    login = {"ANTHROPIC_API_KEY": None, "CLAUDE_CODE_OAUTH_TOKEN": realkit.KEYS["claude"][1]}
    played = it.play({"replies": [limited, *WORK]}, it.loop("--max-iterations", "1"), **login)
    loop = it.expect(played, "verified", 0, ["limit", None])
    assert loop.iteration == 1
    assert loop.spend.waited > 0
    assert played.calls()[0].fault.reset_at is not None


@pytest.mark.agents
def test_a_key_by_command(world):
    """A profile's key comes from a command, reaches the CLI, and is in no record, not even by an error."""
    it = world("codex")
    name, key = realkit.KEYS["codex"]
    (it.top / "key").write_text(f"{key}\n")
    profile = f'agent = "codex"\nkey_command = "cat {it.top}/key"\nkey_as = "{name}"\n'
    refused = {"error": {"status": 401, "message": f"Incorrect API key provided: {key}"}}
    script = {"replies": [{**refused, "times": "forever"}]}
    command = it.loop("--max-iterations", "1", "--profile", "mine")
    played = it.play(script, command, more=f"[profiles.mine]\n{profile}", **{name: None})
    loop = it.expect(played, "blocked", 3, ["auth"])
    assert "Incorrect API key" in loop.reason
    assert key not in played.last.text
    assert all(key not in repr(event) for event in played.last.record.events)
