"""Foreign text is inert, short enough and free of secrets before anyone sees it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.core.text.clean import REDACTED, clean, one_line, redact, trim

FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
HOSTILE = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(
            [
                "\x1b",
                "\x1b[",
                "\x1b]",
                "\x1bP",
                "\x9b",
                "\x9d",
                "\x07",
                "\x1b\\",
                "\x9c",
                "\r",
                "\r\n",
                "\u202e",
                "m",
            ]
        ),
    ),
    max_size=30,
).map("".join)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain text\twith tab\n", "plain text\twith tab\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[38:2::1:2:3mdeep\x1b[m", "deep"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;cm0gLXJm\x07x", "x"),
        ("\x1bPq#0;2;0;0;0\x1b\\x", "x"),
        ("\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\x", "x"),
        ("\x9b31mred\x9b0m \x9d0;t\x9cx", "red x"),
        ("\x1b]0;no end\nthe next line stays", "\nthe next line stays"),
        ("\x1b[31", ""),
        ("a\x1b", "a"),
        ("\x1b(Ba\x1bcb\x1b#8c", "abc"),
        ("safe\rrm -rf", "safe\nrm -rf"),
        ("a\r\nb", "a\nb"),
        ("a\x08\x08b\x00c\x7fd", "abcd"),
        ("f\u202etxt.exe\u202c", "ftxt.exe"),
        ("in\u200bvis\u2060ible\ufeff", "invisible"),
        ("tag\U000e0041\U000e007f", "tag"),
        ("a\u2028b\u0085c", "a\nb\nc"),
        ("half\ud83d", "half"),
        ("naïve 日本 ✔", "naïve 日本 ✔"),
        (b"bad \xff\xfe utf", "bad \ufffd\ufffd utf"),
    ],
)
def test_clean_corpus(raw, shown):
    """Each known trick comes out as the text a reader would have seen without it."""
    assert clean(raw) == shown


@settings(deadline=None)
@given(HOSTILE)
def test_clean_leaves_nothing_that_acts(raw):
    """Whatever goes in, nothing comes out that a terminal acts on, and cleaning twice changes nothing."""
    once = clean(raw)
    assert not FORBIDDEN.search(once)
    assert clean(once) == once
    once.encode()


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_clean_takes_any_bytes(raw):
    """Any bytes give text that can be written out."""
    assert not FORBIDDEN.search(clean(raw))


@settings(deadline=None)
@given(
    st.text(
        alphabet=st.characters(min_codepoint=32, max_codepoint=126) | st.sampled_from("\n\t"), max_size=200
    )
)
def test_clean_keeps_ordinary_text(raw):
    """Ordinary text is not changed by one byte."""
    assert clean(raw) == raw


@settings(deadline=None)
@given(HOSTILE, st.integers(0, 40))
def test_one_line_is_one_line(raw, width):
    """One line stays one line, within its width."""
    line = one_line(raw, width)
    assert len(line) <= width
    assert len(line.splitlines()) <= 1


def test_one_line_folds_and_marks():
    """Line ends and runs of blanks fold, and a cut is marked."""
    assert one_line("  a\n\n b\tc ", 10) == "a b c"
    assert one_line("abcdefgh", 5) == "abcd…"


@settings(deadline=None)
@given(st.text(alphabet="ab\n", max_size=400), st.integers(1, 12), st.integers(60, 200))
def test_trim_keeps_within_bounds(text, lines, chars):
    """Short text is untouched; long text stays within both bounds and says that something was cut."""
    out = trim(text, lines, chars)
    if text.count("\n") < lines and len(text) <= chars:
        assert out == text
    else:
        assert out.count("\n") < max(lines, 3)
        assert len(out) <= chars
        assert " cut …" in out


def test_trim_keeps_both_ends():
    """The beginning and the end survive, and the lines between are counted."""
    out = trim("\n".join(f"line {n}" for n in range(100)), 10, 1000).split("\n")
    assert out[0] == "line 0"
    assert out[-1] == "line 99"
    assert out[3] == "… 91 lines cut …"


def test_trim_cuts_one_endless_line():
    """A single line of a megabyte is cut by characters."""
    out = trim("x" * 1_000_000, 10, 200)
    assert len(out) <= 200
    assert "characters cut" in out


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("key sk-" + "ant-api03-" + "Zx09" * 6, "Zx09"),
        ("key sk-proj-Ab12Cd34Ef56Gh78", "Ab12Cd34"),
        ("ghp_" + "a1B2" * 9, "a1B2"),
        ("github_pat_" + "11AAAA" * 8, "11AAAA"),
        ("id AKIAIOSFODNN7EXAMPLE.", "IOSFODNN7"),
        ("xoxb-123456789012-abcdefghij", "123456789012"),
        ("AIza" + "Sy0_" * 9, "Sy0_"),
        ("glpat-abcdefghij0123456789", "abcdefghij"),
        ("npm_" + "x9Y8" * 9, "x9Y8"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP", "dBjftJeZ4CVP"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES,0\n\nMIIEow\n-----END RSA PRIVATE KEY-----",
            "MIIEow",
        ),
        ("-----BEGIN PRIVATE KEY-----\n" + "Q2xl" * 16 + "\ntorn", "Q2xl"),
        ("Authorization: Basic dXNlcjpw", "dXNlcjpw"),
        ("curl -H 'authorization: Bearer abc.def'", "abc.def"),
        ("got bearer abcdefghijklmnop1234", "abcdefghij"),
        ("PASSWORD=hunter2", "hunter2"),
        ("?token=abcdef&x=1", "abcdef"),
        ('{"api_key": "correct-horse"}', "correct-horse"),
        ("password: hunter2", "hunter2"),
        ("DB_PASSWORD = 'pa55word'", "pa55word"),
        ("https://user:s3cret@host/path", "s3cret"),
    ],
)
def test_redact_finds_what_looks_secret(text, secret):
    """The shape of a key is enough to take it out."""
    out = redact(text)
    assert secret not in out
    assert REDACTED in out


@pytest.mark.parametrize(
    "text",
    [
        "SyntaxError: Unexpected token: identifier",
        "a task-management-system-for-everyone",
        "token = get_token(request)",
        "the bearer of the message",
        "git@host:owner/repo.git and http://host:8080/path",
        "tests/test_password.py::test_password_reset FAILED",
        "secret sauce, key question",
    ],
)
def test_redact_leaves_ordinary_text(text):
    """Words about secrets are not secrets."""
    assert redact(text) == text


def test_redact_known_values():
    """Known values go, the longer first; values under eight characters stay, for they are words."""
    out = redact(
        "open sesame-now-please, sesame-now, short", ["sesame-now", "sesame-now-please\n", "short", ""]
    )
    assert out == f"open {REDACTED}, {REDACTED}, short"


@settings(deadline=None)
@given(st.text(max_size=60), st.text(min_size=8, max_size=20), st.text(max_size=60))
def test_redact_never_leaves_a_known_value(before, secret, after):
    """A known value is gone, wherever it stood."""
    value = secret.strip()
    if len(value) < 8 or value in REDACTED or any(c in value for c in "[]"):
        return
    out = redact(before + secret + after, [secret])
    assert value not in out.replace(REDACTED, "\0")


@pytest.mark.sample(check=4)
@pytest.mark.parametrize(
    "piece",
    [
        "\x1b]",
        "\x9d\n",
        "\x1b[0;",
        "eyJ",
        "sk-",
        "sk-a ",
        "-----BEGIN PRIVATE KEY-----\n",
        "://a:",
        "token: a",
        "bearer ",
    ],
)
def test_hostile_repeats_take_linear_time(piece):
    """Ten times the hostile input takes about ten times as long, not a hundred."""
    from time import process_time

    def took(times):
        text = piece * times
        best = 9e9
        for _ in range(3):
            start = process_time()
            redact(clean(text))
            redact(text)
            best = min(best, process_time() - start)
        return best

    assert took(20_000) < 60 * took(2_000) + 0.05
