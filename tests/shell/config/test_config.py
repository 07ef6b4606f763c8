"""Layers, origins, strictness and policy of the configuration, over real files."""

import os
import subprocess
import sys

import msgspec.structs
import pytest
from configkit import Place

from ralph.core.model.parts import flat_fields
from ralph.core.text import units
from ralph.errors import UserError
from ralph.shell import config
from ralph.shell.config.schema import BY_KEY, OPTIONS


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


LAYERS = ("user", "project", "profile", "environment", "flag")


@pytest.mark.parametrize("mask", range(2 ** len(LAYERS)))
def test_the_highest_layer_that_speaks_wins(place, mask):
    """defaults < user < project < profile < environment < flags, for every combination of layers."""
    present = {layer for bit, layer in enumerate(LAYERS) if mask >> bit & 1}
    user = 'profile = "p"\n[profiles.p]\nenv = {}\n' + ('model = "profile"\n' if "profile" in present else "")
    place.own(('model = "user"\n' if "user" in present else "") + user)
    place.project('model = "project"\n' if "project" in present else "")
    settings = place.load(
        flags={"model": "flag"} if "flag" in present else {},
        env={"RALPH_MODEL": "environment"} if "environment" in present else {},
    )
    expected = next((layer for layer in reversed(LAYERS) if layer in present), "defaults")
    assert settings.origins["model"].layer == expected
    assert settings.model == ("" if expected == "defaults" else expected)


def test_nothing_configured_gives_the_documented_defaults(place):
    """Without any file the struct's own defaults and the schema's agree, key by key."""
    settings = place.load()
    bare = config.Settings()
    for field in ("agent", "limits", "box", "net", "min_grade", "places", "paths", "people", "notify"):
        assert getattr(settings, field) == getattr(bare, field)
    assert settings.limits.iterations == 15
    assert {origin.layer for origin in settings.origins.values()} == {"defaults"}
    plain = {key for key in settings.origins if not key.startswith("profiles.")}  # some are built in
    assert plain == {option.key for option in OPTIONS if "*" not in option.key}
    assert config.digest(msgspec.structs.replace(settings, profiles={})) == config.digest(bare)


def test_gate_defaults_of_schema_and_struct_agree():
    """What the documentation says of an unset gate key is what an unset gate key is."""
    gate = config.GateSpec(run="x")
    for option in OPTIONS:
        if option.key.startswith("gates.*.") and option.key != "gates.*.run":
            assert getattr(gate, option.key.split(".")[-1]) == option.default


PROJECT = """\
# the first line is a comment
agent = "claude"
min_grade = "B"

[limits]
time = "1h30m"
iterations = 7 # few

[gates.tests]
run = '''
pytest -q
# not a comment
[not a table]'''
timeout = "5m"
env = { A = "1" }
[gates."lint"]
run = "ruff check ."
required = false
"""


def test_every_value_knows_its_line(place):
    """Origins point at the file and line where the key stands, past multi-line strings and comments."""
    place.project(PROJECT)
    settings = place.load()
    lines = {key: origin.where for key, origin in settings.origins.items() if origin.layer == "project"}
    text = PROJECT.splitlines()
    for key, where in lines.items():
        file, _, line = where.rpartition(":")
        assert file == "ralph.toml"
        assert key.split(".")[-1] in text[int(line) - 1], key
    assert settings.limits.time == 5400
    assert settings.gates["tests"].timeout == 300
    assert settings.gates["tests"].env == {"A": "1"}
    assert settings.gates["lint"].required is False


def test_rows_show_each_value_as_one_would_write_it(place):
    """`config show --origin` has one row for each value, with its layer and place."""
    place.own('[limits]\ncost = 5\n[retention]\nmin_free = "2 GB"\n')
    place.project(PROJECT)
    rows = {row.key: row for row in config.rows(place.load(flags={"limits.iterations": "3"}))}
    assert (rows["limits.cost"].value, rows["limits.cost"].layer) == ("5 USD", "user")
    assert rows["limits.cost"].where.endswith("config.toml:2")
    assert rows["limits.time"].value == "1h30m"
    assert (rows["limits.iterations"].value, rows["limits.iterations"].where) == ("3", "--max-iterations")
    assert rows["retention.min_free"].value == "2 GB"
    assert rows["gates.tests.env"].value == '{"A" = "1"}'
    assert rows["sandbox"].layer == "defaults"


def test_pyproject_table_counts_and_points_at_its_lines(place):
    """[tool.ralph] in pyproject.toml is a project file like ralph.toml."""
    place.project(
        '[project]\nname = "x"\n[tool.ralph]\nmodel = "m"\n[tool.ralph.limits]\ntime = "1h"\n',
        "pyproject.toml",
    )
    settings = place.load()
    assert settings.origins["model"].where == "pyproject.toml:4"
    assert settings.origins["limits.time"].where == "pyproject.toml:6"


def test_both_project_files_in_one_folder_are_an_error(place):
    """Two project files would leave open which one counts."""
    place.project('model = "a"\n')
    place.project('[tool.ralph]\nmodel = "b"\n', "pyproject.toml")
    assert "only one of the two" in place.refused()


def test_a_table_that_is_none_is_an_error(place):
    """tool.ralph = 3 is told, not skipped."""
    place.project("[tool]\nralph = 3\n", "pyproject.toml")
    assert place.refused() == "pyproject.toml:2: tool.ralph = 3: expected a table [tool.ralph]"


def test_a_pyproject_of_others_is_not_our_business(place):
    """A pyproject.toml without our table changes nothing."""
    place.project('[project]\nname = "ralphs-friend"\n', "pyproject.toml")
    assert place.load().project.file is None


def test_the_nearest_file_upward_counts_and_its_paths_are_its_own(place):
    """A sub-folder's file wins over the top's, and its relative paths are from its folder."""
    place.project('model = "top"\n')
    place.project(
        'share = [".venv"]\n[gates.t]\nrun = "x"\npath = ["bin", "/opt/bin"]\n'
        '[gates.u]\nrun = "y"\ncwd = "deep"\n',
        "packages/api/ralph.toml",
    )
    (place.top / "packages/api/src").mkdir()
    settings = place.load(cwd="packages/api/src")
    assert settings.model == ""
    assert settings.gates["t"].cwd == "packages/api"
    assert settings.gates["u"].cwd == "packages/api/deep"
    assert settings.gates["t"].path == ("packages/api/bin", "/opt/bin")
    assert settings.box.share == ("packages/api/.venv",)
    assert settings.origins["share"].where == "../ralph.toml:1"
    assert place.load(cwd="packages").model == "top"


def test_folder_names_are_kept_exactly(place):
    """A strange folder name stays what it is in paths, is escaped on screens, and must be UTF-8."""
    place.project('[gates.t]\nrun = "x"\n', "a\tü b/ralph.toml")
    settings = place.load(cwd="a\tü b")
    assert settings.gates["t"].cwd == "a\tü b"
    assert settings.project.file.path == "a\tü b/ralph.toml"
    (place.top / "a\tü b" / "deep").mkdir()
    assert place.load(cwd="a\tü b/deep").origins["gates.t.run"].where == "../ralph.toml:2"
    strange = os.fsdecode(b"caf\xe9")
    place.project('[gates.t]\nrun = "x"\n', f"{strange}/ralph.toml")
    assert "not valid UTF-8" in place.refused(cwd=strange)


def test_files_above_the_repository_do_not_count(place):
    """The search ends at the repository's top."""
    (place.top.parent / "ralph.toml").write_text('model = "foreign"\n')
    assert place.load().model == ""


def test_all_errors_of_all_layers_come_at_once(place):
    """One error lists every slip with its file and line, the value seen and the value expected."""
    place.own('sandbox = "bwrap"\n\nlimts = 3\n')
    place.project('[limits]\ntime = 4\n[gates.tests]\nread = "junit"\n')
    why = place.refused(env={"RALPH_MAX_COST": "5 EUR"}, flags={"--net": "maybe"})
    user = place.user / "config.toml"
    assert why.splitlines() == [
        f'{user}:1: sandbox = "bwrap": expected one of none, auto, require',
        f'{user}:3: unknown key "limts": did you mean "limits"?',
        'ralph.toml:2: limits.time = 4: expected a duration above zero such as "90s", "30m", "4h" or "1h30m"',
        'ralph.toml:3: gate "tests" has no command: expected run = "…"',
        f'RALPH_MAX_COST: "5 EUR" is not valid: expected {units.MONEY}',
        '--net: "maybe" is not valid: expected one of on, off',
    ]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("sandbx = 1", 'did you mean "sandbox"?'),
        ("iterations = 3", 'did you mean "limits.iterations"?'),
        ("max_cost = 3", 'did you mean "limits.cost"?'),
        ('[gates.t]\nrun = "x"\ntimout = "1m"', 'did you mean "gates.t.timeout"?'),
        ("[profiles.p.limits]\nitertions = 1", 'did you mean "profiles.p.limits.iterations"?'),
        ("zzz = 1", 'unknown key "zzz"'),
        ("limits = 3", "expected a table [limits]"),
        ('"limits.time" = "1h"', "unknown key"),
        ('"gates.*.run" = "x"', "unknown key"),
    ],
)
def test_unknown_keys_are_errors_with_a_hint(place, text, hint):
    """A misspelt key is never silently ignored."""
    place.project(text + "\n")
    assert hint in place.refused()


@pytest.mark.parametrize(
    "text",
    [
        'model = "--dangerously-skip-permissions"',
        'model = "a b"',
        'agent = "../evil"',
        'branch_prefix = "../heads/main"',
        'branch_prefix = "a..b"',
        'share = ["../.ssh"]',
        'share = ["/etc"]',
        'share = ["~/.aws"]',
        'report.copy_to = "/etc/cron.d"',
        'report.copy_to = ".git/hooks"',
        'report.copy_to = "x/../../y"',
        'gates.t = { run = "x", cwd = ".." }',
        'gates.t = { run = "x", env = { RALPH_LOOP_ID = "1" } }',
        'gates.t = { run = "x", env = { "A=B" = "1" } }',
        'gates.t = { run = "x", path = ["a:b"] }',
        'gates.t = { run = "x", minimum = 101 }',
        'gates.t = { run = "x", minimum = nan }',
        'gates.t = { run = "x", required = "false" }',
        'gates.t = { run = "a\\u0000b" }',
        'gates."a/b" = { run = "x" }',
        'gates."\\u001b[31m" = { run = "x" }',
        'gates = "tests"',
        "gates.t = 3",
        "limits.iterations = 0",
        "limits.iterations = true",
        'limits.iterations = "15"',
        "limits.cost = inf",
        "limits.cost = nan",
        "limits.cost = -1",
        'limits.time = "0s"',
        'limits.time = "1m1h"',
        'limits.time = "٣h"',
        "limits.tokens = 0x" + "f" * 5000,
        "limits.time = 1979-05-27",
        'guards.allow.stubs = ""',
        "guards.allow.stubs = true",
        'profile = "nowhere"',
        'setup = "' + "x" * 10_000 + '"',
    ],
)
def test_bad_values_are_refused(place, text):
    """What could become an option, a foreign path, a hidden character or no bound at all is refused."""
    place.project(text + "\n")
    why = place.refused()
    assert why.startswith("ralph.toml:1: ")
    assert why.isprintable()
    assert len(why) < 400


@pytest.mark.sample(check=4)
@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"[" * 100_000, "not valid TOML"),
        (b"a = " + b"[" * 500_000, "deeper"),
        (b"a = " + b"{a=" * 500, "deeper"),
        (b"a." * 400_000 + b"a = 1", "deeper"),
        (b"[" + b"a." * 400_000 + b"a]", "deeper"),
        (b"#" * 1_000_001, "larger"),
        (b'model = "a"\nmodel = "b"\n', "not valid TOML"),
        (b"[limits]\n[limits]\n", "not valid TOML"),
        (b"a = " + b"9" * 900_000, "not valid TOML"),
        (b'model = "\xff"\n', "UTF-8"),
        (b'a = """' + b'\\"' * 200_000, "not valid TOML"),
        (b'"' * 900_001, "not valid TOML"),
        (b"a = [\n" * 40, "deeper"),
        (b"".join(b"k%d = 1\n" % n for n in range(9_000)), "and 8980 more"),
    ],
    ids=range(14),
)
def test_bombs_are_refused_quickly(place, data, word):
    """Depth, size, duplicates, endless strings and floods of errors end in one short message."""
    place.project(data)
    why = place.refused()
    assert word in why
    assert len(why) < 3000


def test_a_broken_file_is_told_by_its_line(place):
    """A TOML slip is told with the line the parser stopped at."""
    place.project('model = "a"\n\nsandbox = \n')
    assert place.refused().startswith("ralph.toml:3: not valid TOML")


def test_links_out_of_the_repository_and_pipes_are_refused(place, tmp_path):
    """A project file must be a file of the repository: no link elsewhere, nothing that blocks."""
    secret = tmp_path / "secret.toml"
    secret.write_text('model = "x"\n')
    (place.top / "ralph.toml").symlink_to(secret)
    assert "leads out of the repository" in place.refused()
    (place.top / "ralph.toml").unlink()
    os.mkfifo(place.top / "ralph.toml")
    assert "not a regular file" in place.refused()
    (place.top / "ralph.toml").unlink()
    (place.top / "ralph.toml").mkdir()
    assert "not a regular file" in place.refused()


def test_a_user_file_that_all_may_write_is_refused(place):
    """The user's file counts as approved, so nobody else may write it."""
    place.own('model = "x"\n')
    (place.user / "config.toml").chmod(0o666)
    assert "written by everybody" in place.refused()


TIGHTEN = [
    # own value, what the project says, what holds
    ("", "limits.iterations = 5", 5),
    ("", "limits.iterations = 30", 15),
    ("", 'limits.iterations = "unlimited"', 15),
    ("limits.iterations = 30", "limits.iterations = 20", 20),
    ("", 'limits.time = "9h"', 32400.0),
    ('limits.time = "1h"', 'limits.time = "9h"', 3600.0),
    ("", 'limits.iteration_time = "1h"', 1800.0),
    ('limits.cost = "2 USD"', "limits.cost = 5", 2.0),
    ("", 'sandbox = "none"', "auto"),
    ("", 'sandbox = "require"', "require"),
    ('sandbox = "none"', 'sandbox = "auto"', "auto"),
    ('net = "off"', 'net = "on"', "off"),
    ("", 'net = "off"', "off"),
    ("", 'min_grade = "D"', "B"),
    ("", 'min_grade = "A"', "A"),
    ('min_grade = "B"', 'min_grade = "B, docs=C"', "B"),
    ('min_grade = "B, docs=C"', 'min_grade = "A, docs=B"', "A, docs=B"),
    ('min_grade = "B, docs=C"', 'min_grade = "B"', "B"),
    ('history = "base"', 'history = "shared"', "base"),
    ("", "max_loops = 9", 4),
    ("", "retention.keep_days = 0", 30),
]


@pytest.mark.parametrize(("own", "said", "held"), TIGHTEN)
def test_a_project_tightens_and_never_loosens(place, own, said, held):
    """A project's value holds only in the stricter direction, and what did not hold is said in a warning."""
    place.own(own + "\n")
    place.project(said + "\n")
    settings = place.load()
    key = said.split(" = ")[0]
    value = (
        getattr(settings.limits, key[7:])
        if key.startswith("limits.")
        else flat_fields(settings)[key.replace(".", "_")]
    )
    assert value == held
    honoured = settings.origins[key].layer == "project"
    assert honoured == (not settings.warnings)
    assert all(key in warning and "ralph.toml:1" in warning for warning in settings.warnings)


def test_grades_are_tightened_class_by_class(place):
    """What is stricter in a project's grades holds, what is looser does not, and the warning says both."""
    place.own('min_grade = "B, docs=C"\n')
    place.project('min_grade = "A, docs=D, regression=C"\n')
    settings = place.load()
    assert settings.min_grade == "A, regression=B, docs=C"
    (warning,) = settings.warnings
    assert "looser than your B, docs=C, so A, regression=B, docs=C holds" in warning
    assert warning.endswith("--min-grade 'A, regression=C, docs=D'")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("A", "A"),
        (" B ,docs = C,regression=C ", "B, regression=C, docs=C"),
        ("B, docs=B", "B"),
    ],
)
def test_grades_by_class_are_read_alike_in_every_layer(place, said, kept):
    place.own(f'min_grade = "{said}"\n')
    for given in ({}, {"flags": {"--min-grade": said}}, {"env": {"RALPH_MIN_GRADE": said}}):
        settings = place.load(**given)
        assert settings.min_grade == kept
        assert {row.key: row.value for row in config.rows(settings)}["min_grade"] == kept


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('"Z"', "a grade (D, C, B, A)"),
        ('""', "a grade (D, C, B, A)"),
        ("3", "a grade (D, C, B, A)"),
        ('"docs=C"', "a grade (D, C, B, A)"),
        ('"B, C"', "a grade (D, C, B, A)"),
        ('"B, docs=E"', "a grade (D, C, B, A)"),
        ('"B,"', "a grade (D, C, B, A)"),
        ('"B, refactoring=C"', "classes among test-pass, "),
        ('"B, docs=C, docs=D"', "one grade for docs, not two"),
        ("{ docs = 'C' }", "a grade (D, C, B, A)"),
    ],
)
def test_bad_grades_are_refused_with_what_was_expected(place, said, expected):
    place.own(f"min_grade = {said}\n")
    assert f"expected {expected}" in place.refused()


def test_what_the_user_typed_stands_over_a_project(place):
    """A flag or variable may loosen what a project or the defaults say."""
    place.project('sandbox = "require"\nlimits.iterations = 5\n')
    settings = place.load(flags={"--sandbox": "none"}, env={"RALPH_MAX_ITERATIONS": "99"})
    assert (settings.box.sandbox, settings.limits.iterations) == ("none", 99)


def test_a_profile_from_the_repository_raises_no_limit(place):
    """A user's profile may raise limits, a repository's may not."""
    table = '[profiles.p]\nmodel = "m"\nenv.BASE = "http://x"\nlimits.iterations = 30\n'
    place.own('profile = "p"\n' + table)
    settings = place.load()
    assert (settings.limits.iterations, settings.model) == (30, "m")
    assert settings.origins["limits.iterations"].layer == "profile"
    assert settings.agent_env("claude") == {"BASE": "http://x"}
    place.own("")
    place.project('profile = "p"\n' + table)
    settings = place.load()
    assert (settings.limits.iterations, settings.model) == (15, "m")
    assert "looser" in settings.warnings[0]


def test_the_users_own_agents_profiles_share_and_setup_stand(place):
    """A repository cannot redefine what the user defined, not even when it is approved."""
    place.own(
        'setup = "npm ci"\nshare = [".venv", "node_modules"]\n[agents.mine]\ncommand = "good"\n'
        '[profiles.p]\nmodel = "good"\n'
    )
    place.project(
        'setup = "evil"\nshare = [".venv", "secrets"]\n[agents.mine]\ncommand = "evil"\nenv.A = "1"\n'
        '[profiles.p]\nenv.URL = "evil"\n[agents.other]\ncommand = "new"\n'
    )
    settings = place.load()
    assert settings.box.setup == "npm ci"
    assert settings.box.share == (".venv",)
    assert settings.agents["mine"] == config.AgentSpec(command="good")
    assert settings.profiles["p"] == config.ProfileSpec(model="good")
    assert settings.agents["other"].command == "new"
    assert len(settings.warnings) == 4


def test_the_home_sign_is_the_users_home(place):
    """~ in gates' PATH and agents' writable paths is resolved, and leaves the hash to approve as it was."""
    place.project(
        '[gates.t]\nrun = "x"\npath = ["~/.cargo/bin", "b~"]\n[agents.a]\ncommand = "x"\nwrite = ["~"]\n'
    )
    settings = place.load(env={"HOME": "/home/u"})
    assert settings.gates["t"].path == ("/home/u/.cargo/bin", "b~")
    assert settings.agents["a"].write == ("/home/u",)
    assert settings.project.approval.hash == place.load(env={"HOME": "/home/v"}).project.approval.hash


def test_a_gate_is_replaced_as_a_whole(place):
    """A project's gate never inherits half of a user's gate of the same name, and replacing it is said."""
    place.own('[gates.t]\nrun = "mine"\nrequired = false\nnetwork = true\n')
    place.project('[gates.t]\nrun = "theirs"\n')
    settings = place.load()
    assert settings.gates["t"] == config.GateSpec(run="theirs")
    assert "replaces your own" in settings.warnings[0]


def test_protected_paths_and_waivers_add_up(place):
    """Every layer may protect more; waivers of the user and of flags join."""
    place.own('protect.paths = ["a"]\nguards.allow.stubs = "generated"\n')
    place.project('protect.paths = ["b/**", "a"]\n')
    settings = place.load(flags={"--allow": ("junk=is fine", "secrets=a sample")})
    assert settings.paths.protect_paths == ("a", "b/**")
    assert settings.guards.allow == {"stubs": "generated", "junk": "is fine", "secrets": "a sample"}
    assert settings.origins["guards.allow"].where == f"{place.user / 'config.toml'}:2, --allow"


@pytest.mark.parametrize(
    "option", [option for option in OPTIONS if option.env], ids=lambda option: option.key
)
def test_every_plain_key_has_a_variable_that_works(place, option):
    """Each key can be set by its variable, and by its flag where it has one; both give the same value."""
    sample = {
        "choice": option.choices[-1] if option.choices else "",
        "duration": "2h", "money": "$3", "size": "3 GB", "count": "7",
        "iterations": "3", "days": "3", "inners": "a:b", "inner": "docs", "waivers": "stubs=why",
        "prefix": "bots", "names": "p", "kinds": "inventory.deleted", "word": "m", "text": "make x",
        "switch": "false" if option.default else "true", "score": "8", "grades": "B, docs=C",
        "texts": option.choices[0] if option.choices else "a", "address": "https://hooks.example.org/x",
    }[option.kind]  # fmt: skip
    place.own("[profiles.p]\nenv = {}\n")
    by_env = place.load(env={option.env: sample})
    assert by_env.origins[option.key] == config.Origin("environment", option.env)
    by_flag = place.load(flags={option.key: sample})
    assert by_flag.origins[option.key].layer == "flag"
    assert config.digest(by_env) == config.digest(by_flag) != config.digest(place.load())


def test_misspelt_variables_are_told_and_others_left_alone(place):
    """A near miss of a variable is a warning; other RALPH_ variables are nobody's business here."""
    others = {"RALPH_STATE_DIR": "/x", "RALPH_LOOP_ID": "y", "RALPH_ITERATION": "1", "RALPH_WORKSPACE": "/z"}
    assert place.load(env=others).warnings == ()
    (warning,) = place.load(env={"RALPH_MAX_ITERATION": "3"}).warnings
    assert 'did you mean "RALPH_MAX_ITERATIONS"?' in warning


LIMIT_CASES = [
    # flags, agent reports its cost, refused because of
    ({}, True, ""),
    ({}, False, ""),
    ({"--max-iterations": "unlimited"}, True, "need a time limit or a cost limit"),
    ({"--max-iterations": "unlimited", "--max-time": "4h"}, True, ""),
    ({"--max-iterations": "unlimited", "--max-time": "4h"}, False, ""),
    ({"--max-iterations": "unlimited", "--max-cost": "5"}, True, ""),
    ({"--max-iterations": "unlimited", "--max-cost": "5"}, False, "need a time limit with this agent"),
    ({"--max-iterations": "unlimited", "--max-cost": "5", "--max-time": "1h"}, False, ""),
    (
        {"--max-iterations": "unlimited", "--max-tokens": "5k", "--idle-timeout": "1m"},
        True,
        "need a time limit",
    ),
    ({"--max-cost": "5"}, True, ""),
    ({"--max-cost": "5"}, False, "cannot be enforced"),
    ({"--max-cost": "5", "--max-iterations": "15"}, False, ""),
    ({"--max-cost": "5", "--max-time": "1h"}, False, ""),
    ({"--max-cost": "5", "--idle-timeout": "1m"}, False, "cannot be enforced"),
]


@pytest.mark.parametrize(("flags", "reports", "refusal"), LIMIT_CASES)
def test_a_loop_without_a_bound_is_refused(place, flags, reports, refusal):
    """Unlimited needs time or a visible cost; a cost limit needs an agent that tells it."""
    settings = place.load(flags=flags)
    explicit = config.explicit_limits(settings)
    if not refusal:
        config.check_limits(settings, explicit, reports)
        return
    with pytest.raises(UserError, match=refusal) as caught:
        config.check_limits(settings, explicit, reports)
    assert (caught.value.code, caught.value.exit_code) == ("E-LIMITS", 2)


def test_unlimited_counts_only_as_a_flag(place):
    """A file or variable cannot make every loop endless."""
    place.own('limits.iterations = "unlimited"\nlimits.time = "4h"\n')
    settings = place.load()
    with pytest.raises(UserError, match="only as a flag"):
        config.check_limits(settings, config.explicit_limits(settings), agent_reports_cost=True)


def test_the_digest_seals_values_not_their_places(place):
    """Comments and origins do not change the digest; any value does."""
    place.project('model = "a"\n')
    first = config.digest(place.load())
    place.project('# moved\n\nmodel = "a"\n')
    assert config.digest(place.load()) == first
    assert config.digest(place.load(flags={"model": "a"})) == first
    place.project('model = "b"\n')
    assert config.digest(place.load()) != first


def test_a_project_file_that_is_not_the_bases_is_told(place):
    """Uncommitted and changed files get a sentence; comments and line ends alone do not."""
    place.project('model = "a" # x\r\n')
    settings = place.load()
    assert "not committed" in config.project_note(settings, None)
    assert config.project_note(settings, b'model = "a"\n') == ""
    assert "differs" in config.project_note(settings, b'model = "b"\n')
    assert "differs" in config.project_note(settings, b"\xff not toml")
    (place.top / "ralph.toml").unlink()
    assert config.project_note(place.load(), None) == ""
    place.project('[tool.ralph]\nmodel = "a"\n', "pyproject.toml")
    settings = place.load()
    assert config.project_note(settings, b'[project]\nname = "x"\n[tool.ralph]\nmodel = "a"\n') == ""
    assert "differs" in config.project_note(settings, b'[project]\nname = "x"\n')


def test_outside_a_repository_only_the_users_file_counts(tmp_path):
    """Without a repository there is no project layer."""
    (tmp_path / "ralph.toml").write_text('model = "x"\n')
    settings = config.load(cwd=str(tmp_path), top=None, env={}, flags={}, user_dir=str(tmp_path / "none"))
    assert settings.model == ""


def test_importing_is_cheap():
    """No TOML parser, no difflib, no hashing is loaded before a file needs it."""
    code = (
        "import sys, ralph.shell.config as c\n"
        "c.load(cwd='/', top=None, env={}, flags={}, user_dir='/nonexistent')\n"
        "heavy = {'tomllib', 'difflib', 'hashlib', 'asyncio', 'rich', 'click', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_flags_and_variables_are_unique():
    """No two options share a flag or a variable, and every flag has a variable of its name."""
    flags = [option.flag for option in OPTIONS if option.flag]
    names = [option.env for option in OPTIONS if option.env]
    assert len(set(flags)) == len(flags)
    assert len(set(names)) == len(names)
    assert BY_KEY["limits.time"].env == "RALPH_MAX_TIME"
