"""The same for Rust and JavaScript: assertions that stand unconditionally in a test's own body, with a value
written down in them; each of them must fail by itself. Pure text work with brackets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from ralph.gates.guards._parts.brackets import closing, skip, split_arguments
from ralph.gates.guards._parts.script_language import heads_of
from ralph.gates.guards._tests.both_ways import both_ways, other_numbers

_HEAD = r"(?:await\s+)?(?:\w+\.)?"  # `t.assert.equal(…)`
_CALLS = {
    "rs": re.compile(r"\bassert_eq!\s*(?=\()"),
    "js": re.compile(
        r"\bassert(?:\.strict)?\.(?:equal|strictEqual|deepEqual|deepStrictEqual)\s*(?=\()"
        r"|(?<!\.not)\.(?:toBe|toEqual|toStrictEqual|(?:to|deep)\.(?:equal|eql))\s*(?=\()"
    ),
}
# What a value of the product answers itself: whoever asks it for something else must hear no.
_ANSWER = re.compile(r"\.(?:includes|has|startsWith|endsWith|match)\s*(?=\()")
_CONTAINS = re.compile(r"\.(?:toContain|toContainEqual|to\.(?:include|contain))\s*(?=\()")
_IS_TRUE = re.compile(
    rf"{_HEAD}(?:assert(?:\.strict|!)?(?P<equal>\.ok|\.equal|\.strictEqual)?|(?P<expect>expect))\s*(?=\()"
)
_EXPECTS_TRUE = re.compile(r"\s*\.(?:(?:toBe|toEqual|toStrictEqual)\(true\)|toBeTruthy\(\)|to\.be\.true)")
_THROWS = re.compile(
    rf"{_HEAD}(?:assert(?:\.strict)?\.(?P<kind>throws|rejects)\s*(?=\()"
    r"|expect\s*(?=\()(?=.*\)\s*\.toThrow\(\s*(?P<wanted>\w+)\s*\)\Z))",
    re.DOTALL,
)
_MATCHES = re.compile(rf"{_HEAD}assert(?:\.strict)?\.match\s*(?=\()")
_STATEMENT = re.compile(rf"(?<![\w.$]){_HEAD}(?:assert|expect)\b")
_STATEMENTS = {"js": _STATEMENT, "rs": re.compile(r"\bassert(?:_eq)?!\s*(?=\()")}
_FAILS = re.compile(r"\{?\s*(?:throw\b|(?:\w+\.)?(?:assert\.)?fail\s*\(|process\.exit\(\s*[1-9])")
_STRING = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_NUMBER = r"(?<![\w.])\d+(?:\.\d+)?"
_LITERAL = re.compile(rf"(?P<string>{_STRING})|(?P<number>{_NUMBER})|\b(?P<truth>true|false)\b")
_WRITTEN = {
    "rs": re.compile(
        rf"(?:{_STRING}|{_NUMBER}(?:_?[iuf](?:\d+|size))?|true|false|Some|Ok|vec!|\.to_string\(\)|[-&\[\](),\s])+"
    ),
    "js": re.compile(
        rf"(?:{_STRING}|{_NUMBER}|true|false|null|\w+\s*:|(?:new\s+[A-Z]\w*|JSON\.stringify)\(|[-\[\]{{}}(),:\s])+"
    ),
}
_TRY = {
    "rs": ("if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| { ", " })).is_ok() { return; }"),
    "js": ("{ let $held = true; try { ", " } catch { $held = false; } if ($held) return; }"),
}
_RED = {"rs": "panic!()", "js": "throw new Error()"}
_LEAVES = {
    "rs": re.compile(r"\breturn\b|\?|\.await\b|\bOk\(\(\)\)"),
    "js": re.compile(r"\b(?:return|done)\b|^(?!\s*await\b)[^\n]*\b(?:resolves|rejects)\b", re.MULTILINE),
    "script": re.compile(""),
}
# What stands behind these in JavaScript may not be done; in Rust it is in braces.
_BRANCH = re.compile(
    r"(?<![\w.$])(?P<word>if|for|while|switch|catch|else|do|try|finally)\b(?:\s+await\b)?\s*"
    r"|(?:&&|\|\||[?:]|=>)\s*"
)
_INSIDE = {  # where a claim in a loop or in a function that is handed over begins
    "js": re.compile(r"(?:=>\s*\{?|[{;]\s|\)\s)\s*(?=(?:assert|expect)\b(?!\.fail))"),
    "rs": re.compile(r"[{;]\s*(?=assert(?:_eq)?!)"),
}
_NONE = ("undefined", "null", "NaN")
_MAYBE = re.compile(r"\b(?:if|while|match|switch|catch|try|return|throws|rejects|not|mock)\b|&&|\|\||\?")
_ENDS = re.compile(r"\breturn\b|\bprocess\.exit\b")
_Span = tuple[int, int, str]
_Claim = tuple[int, int, list[_Span]]  # where it begins and ends, and what can be put in


def alter_calls(text: str, tests: Collection[str], kind: str) -> tuple[str, frozenset[str]]:
    """The file with the named tests altered, and which of them could be. `kind`: rs or js."""
    done: set[str] = set()
    made: set[str] = set()  # titles that several tests get theirs from
    for name in sorted(tests):
        titles = {hit["title"] for hit in heads_of(text, name)} if kind == "js" and name else set()
        if titles & made:
            done.add(name)
            continue
        for begin, end in _bodies(text, name, kind):
            claims = list(_claims(text, begin, end, kind))
            inner = _inner(text, begin, end, claims, kind) if name else []
            if inner and kind == "js":
                text = _with_inner(text, begin, end, claims, inner)
            elif claims := claims or [(*inner[0], [(*inner[0], "panic!()")]) for _ in inner[:1]]:
                text = _alter_claims(text, claims, end, kind if name else "script")
            if inner or claims:
                made |= {title for title in titles if "${" in title}
                done.add(name)
                break
    return text, frozenset(done)


def _alter_claims(text: str, claims: list[_Claim], end: int, kind: str) -> str:
    """Every claim is tried; where one holds all the same, the test ends green. In doubt the first only."""
    single = len(claims) == 1 and len(claims[0][2]) == 1
    own = text[claims[0][0] : end]
    if single or _LEAVES[kind].search(own) or not all(_is_alone(text, *one) for one in claims):
        at, to, new = claims[0][2][0]
        return text[:at] + new + text[to:]
    before, after = _TRY[kind]
    text = f"{text[:end]}\n{_RED[kind]};\n{text[end:]}"
    for begin, close, ways in reversed(claims):
        tries = [f"{before}{text[begin:at]}{new}{text[to:close]};{after}" for at, to, new in ways]
        text = text[:begin] + "".join(tries) + text[close:]
    return text


def _is_alone(text: str, begin: int, end: int, _: list[_Span]) -> bool:
    line = text[text.rfind("\n", 0, begin) + 1 : begin].strip()
    return line[-1:] in ("", ";", "{", "}") and text[end : end + 1] in ("", ";", "\n", " ", "}")


def _bodies(text: str, name: str, kind: str) -> Iterator[tuple[int, int]]:
    if not name:
        yield 0, len(text)
        return
    rust = re.finditer(rf"\bfn\s+{re.escape(name)}\s*(?=\()", text)
    hits = heads_of(text, name) if kind == "js" else list(rust)
    for hit in hits if len(hits) == 1 else ():  # of two with one name it is not known which is which
        at = closing(text, hit.end(), kind) if kind == "rs" else hit.end()
        begin = text.find("{", at) if at > 0 else -1
        if begin < 0 or "}" in text[at:begin] or ";" in text[at:begin]:
            continue
        if kind == "js" and begin > closing(text, text.index("(", hit.start()), kind):
            continue  # the next test's: this one has no braces
        end = closing(text, begin, kind)
        if end > 0 and "should_panic" not in text[: hit.start()].rpartition("}")[2]:
            yield begin + 1, end - 1


def _claims(text: str, begin: int, end: int, kind: str) -> Iterator[_Claim]:
    """Where statements stand that claim something, and what can be put into each so that it must fail.

    None where the test may end before the first of them.
    """
    at, first = begin, True
    while at < end:
        branch = _BRANCH.match(text, at, end) if kind == "js" else None
        if branch is not None and branch["word"] == "if" and (failing := _failing(text, branch, end)):
            first = False
            yield failing
            at = failing[1]
            continue
        if branch is not None:
            at, to = _branch(text, branch, end)
            if at < 0 or to < 0 or (first and branch["word"] and _ENDS.search(text, at, max(to, at + 12))):
                return
            at = to
            continue
        call = _STATEMENTS[kind].match(text, at)
        if call is not None:
            close = _end_of_call(text, call.start(), end, kind)
            ways = list(_ways(text, call.start(), close, kind))
            if ways:
                first = False
                yield call.start(), close, ways
            at = max(close, call.end())
            continue
        step = skip(text, at, kind)
        if step == at and text[at] in "{[(":
            step = closing(text, at, kind)
            if step < 0 or (kind == "rs" and first and _ENDS.search(text, at, step)):
                return
        at = max(step, at + 1)


def _inner(text: str, begin: int, end: int, claims: list[_Claim], kind: str) -> list[tuple[int, int]]:
    """Claims in loops and in functions that are handed over, where nothing is conditional."""
    own = text
    for at, to, _ in claims:
        own = own[:at] + " " * (to - at) + own[to:]
    if _MAYBE.search(own, begin, end) or not all(_is_alone(text, *one) for one in claims):
        return []
    last = re.search(r"([\w$]+)\s*\)?\s*(?:=>\s*)?\{\Z", text[:begin])
    if last and kind == "js" and re.search(rf"(?<![\w.$]){re.escape(last[1])}\b(?!\.)", text[begin:end]):
        return []  # it ends when it calls what it was given, and not where its text ends
    places = (before.end() for before in _INSIDE[kind].finditer(own, begin, end))
    ends = ((at, _end_of_call(own, at, end, kind)) for at in places)
    return [(at, to) for at, to in ends if to > 0]


def _with_inner(text: str, begin: int, end: int, claims: list[_Claim], inner: list[tuple[int, int]]) -> str:
    """They must be come to, and none may fail without the test: who tries until it is right fails."""
    before, after = _TRY["js"]
    spans = [
        (
            at,
            to,
            f"{{ $came[{n}] |= 1; try {{ {text[at:to]}; }} catch ($e) {{ $came[{n}] |= 2; throw $e; }} }}",
        )
        for n, (at, to) in enumerate(inner)
    ]
    for at, to, ways in claims:
        spans.append(
            (
                at,
                to,
                "".join(f"{before}{text[at:one]}{new}{text[other:to]};{after}" for one, other, new in ways),
            )
        )
    text = f"{text[:end]}\nif ($came.some((one) => one !== 1)) return;\n{_RED['js']};\n{text[end:]}"
    for at, to, new in sorted(spans, reverse=True):
        text = text[:at] + new + text[to:]
    return f"{text[:begin]} const $came = Array({len(inner)}).fill(0);{text[begin:]}"


def _branch(text: str, hit: re.Match[str], end: int) -> tuple[int, int]:
    """Where a block or an assertion under a condition begins and ends; of others the first word is enough."""
    at = hit.end()
    if hit["word"] and text.startswith("(", at):
        at = closing(text, at, "js")
    while 0 <= at < end and text[at].isspace():
        at += 1
    if text[at : at + 1] == "{":
        return at, closing(text, at, "js")
    return at, max(_end_of_call(text, at, end, "js"), at + 1) if _STATEMENT.match(text, at) else at


def _end_of_call(text: str, at: int, end: int, kind: str) -> int:
    """Behind `assert.equal(…)`, `expect(…).toBe(…)`: names, dots and brackets."""
    last = -1
    while at < end:
        if text[at] == "(":
            at = last = closing(text, at, kind)
            if at < 0:
                return -1
        elif (
            text[at].isalnum()
            or text[at] in "._$!"
            or (text[at] in " \t\n" and (last < 0 or text[at:].lstrip()[:1] == "."))
        ):
            at += 1
        else:
            break
    return last


def _ways(text: str, begin: int, end: int, kind: str) -> Iterator[_Span]:
    if re.search(r"\.not\b", text[begin:end]):
        return
    at = begin
    while at < end:
        call, contains = _CALLS[kind].match(text, at), _CONTAINS.match(text, at)
        hit = call or contains
        if hit is None:
            at = closing(text, at, kind) if text[at] == "(" else at + 1
            continue
        at = closing(text, hit.end(), kind)
        inner = hit.end() + 1, at - 1
        found = (
            _alter_side(text, *inner, kind, one=hit[0][0] == ".") if call else _other_question(text, *inner)
        )
        if found is not None:
            yield found
        elif call and kind == "js" and hit[0][0] != ".":
            yield from _of_nothing(text, *inner)
    if kind == "js":
        yield from _other_error(text, begin, end)
        yield from _other_match(text, begin, end)
    for part in _truths(text, begin, end, kind):
        yield from _other_answer(text, *part) if kind == "js" else ()
        yield from both_ways(text, *part, kind)


def _failing(text: str, branch: re.Match[str], end: int) -> _Claim | None:
    """`if (a > b) throw …`: what is no number is not larger, and not smaller either."""
    at = branch.end()
    close = closing(text, at, "js") if text.startswith("(", at) else -1
    told = re.compile(r"\s*").match(text, close) if close > 0 else None
    if told is None or not _FAILS.match(text, told.end(), end):
        return None
    block = text[told.end()] == "{"
    to = closing(text, told.end(), "js") if block else _end_of_call(text, told.end(), end, "js")
    ways = list(both_ways(text, at + 1, close - 1, "js", join="||"))
    return (branch.start(), to, ways) if to > 0 and ways else None


def _other_match(text: str, begin: int, end: int) -> Iterator[_Span]:
    """A pattern that wants four other numbers at once."""
    hit = _MATCHES.match(text, begin, end)
    sides = list(split_arguments(text, hit.end() + 1, end - 1, "js")) if hit else []
    shown = re.fullmatch(r"\s*/([^^$\\()\[\]|]+)/", text[slice(*sides[1])]) if len(sides) > 1 else None
    others = other_numbers(shown[1]) if shown else []
    if others:
        yield *sides[1], "/" + "".join(f"(?=[^]*{one})" for one in others) + "/"


def _of_nothing(text: str, begin: int, end: int) -> Iterator[_Span]:
    """Neither side is written down: nothing must not be equal to either of them."""
    sides = list(split_arguments(text, begin, end, "js"))[:2]
    words = [text[slice(*side)].strip() for side in sides]
    if len(sides) == 2 and not any(_WRITTEN["js"].fullmatch(word) or word in _NONE for word in words):
        yield from ((*side, " undefined") for side in sides)


def _other_error(text: str, begin: int, end: int) -> Iterator[_Span]:
    """A foreign error in place of what is to throw one of a kind: whoever expects that expects all."""
    hit = _THROWS.match(text, begin, end)
    if hit is None:
        return
    sides = list(split_arguments(text, hit.end() + 1, closing(text, hit.end(), "js") - 1, "js"))
    wanted = hit["wanted"] or (text[slice(*sides[1])].strip() if len(sides) > 1 else "")
    if re.fullmatch(r"[A-Z]\w*", wanted) and wanted != "Error":
        lead = "async " if hit["kind"] == "rejects" else ""
        yield *sides[0], f"{lead}() => {{ throw new (class Foreign extends Error {{}})(); }}"


def _truths(text: str, begin: int, end: int, kind: str) -> Iterator[tuple[int, int]]:
    """What an assertion wants to be true, each part of `a && b` by itself."""
    head = _IS_TRUE.match(text, begin, end)
    if head is None:
        return
    close = closing(text, head.end(), kind)
    sides = list(split_arguments(text, head.end() + 1, close - 1, kind))
    words = [text[slice(*side)].strip() for side in sides]
    if head["expect"]:
        wanted = sides[:1] if _EXPECTS_TRUE.match(text, close) else []
    elif head["equal"] in (None, ".ok"):
        wanted = sides[:1]
    else:
        wanted = [side for side, other in zip(sides, words[1::-1], strict=False) if other == "true"]
    for at, to in wanted:
        first = at
        for cut in (*(hit.start() for hit in re.finditer("&&", text[at:to])), to - at):
            yield first, at + cut
            first = at + cut + 2


def _other_answer(text: str, begin: int, end: int) -> Iterator[_Span]:
    """`names.includes(what)`, and nothing else, asked for something else."""
    at = begin
    while at < end:
        hit, step = _ANSWER.match(text, at, end), skip(text, at, "js")
        if hit is not None:
            close = closing(text, hit.end(), "js")
            if close > 0 and not text[close:end].strip():
                found = _other_question(text, hit.end() + 1, close - 1)
                yield from () if found is None else (found,)
            at = hit.end()
        elif step > at:
            at = step
        elif text[at] in "([{":
            at = closing(text, at, "js")
            if at < 0:
                return
        elif text[at].isalnum() or text[at] in "._$ \t\n":
            at += 1
        else:
            return  # `!`, `===` and the like


def _other_question(text: str, begin: int, end: int) -> _Span | None:
    """What is looked for becomes what is nowhere; only one argument is understood."""
    if len(list(split_arguments(text, begin, end, "js"))) != 1:
        return None
    written = text[begin:end].strip()
    if not re.fullmatch(_STRING, written):
        return begin, end, "Symbol()"
    # As long, and with nothing of it: a route or a range may well match what only begins or ends like it.
    return begin, end, f"'{('~9q' * len(written))[: max(3, len(written) - 2)]}'"


def _alter_side(text: str, begin: int, end: int, kind: str, *, one: bool) -> _Span | None:
    """The side that is written down, when it is clear which one that is."""
    sides = [(begin, end)] if one else list(split_arguments(text, begin, end, kind))[:2]
    written = [side for side in sides if _WRITTEN[kind].fullmatch(text[slice(*side)])]
    if len(written) != 1 or (len(sides) != 2 and not one):
        return None
    hit = _LITERAL.search(text, *written[0])
    if hit is None:
        return None
    if hit["string"]:
        last = "y" if hit[0][-2:-1] in "xX" else "x"
        keep = hit[0][:-2] if len(hit[0]) > 2 and "\\" not in hit[0] else hit[0][:-1]
        return hit.start(), hit.end(), f"{keep}{last}{hit[0][-1]}"
    if hit["truth"]:
        return hit.start(), hit.end(), "false" if hit[0] == "true" else "true"
    other = str(int(hit[0]) + 1) if hit[0].isdigit() else f"{hit[0]}1"
    return hit.start(), hit.end(), other
