"""The same for Rust and JavaScript: assertions that stand unconditionally in a test's own body, with a value
written down in them; each of them must fail by itself. Pure text work with brackets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from ralph.gates.guards._parts.brackets import closing, skip, split_arguments

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
    rf"{_HEAD}(?:assert(?:\.strict)?(?P<equal>\.ok|\.equal|\.strictEqual)?|(?P<expect>expect))\s*(?=\()"
)
_EXPECTS_TRUE = re.compile(r"\s*\.(?:(?:toBe|toEqual|toStrictEqual)\(true\)|toBeTruthy\(\)|to\.be\.true)")
_THROWS = re.compile(
    rf"{_HEAD}(?:assert(?:\.strict)?\.(?P<kind>throws|rejects)\s*(?=\()"
    r"|expect\s*(?=\()(?=.*\)\s*\.toThrow\(\s*(?P<wanted>\w+)\s*\)\Z))",
    re.DOTALL,
)
_STATEMENT = re.compile(rf"(?<![\w.$]){_HEAD}(?:assert|expect)\b")
_STRING = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_NUMBER = r"(?<![\w.])\d+(?:\.\d+)?"
_LITERAL = re.compile(rf"(?P<string>{_STRING})|(?P<number>{_NUMBER})|\b(?P<truth>true|false)\b")
_WRITTEN = {
    "rs": re.compile(
        rf"(?:{_STRING}|{_NUMBER}(?:_?[iuf](?:\d+|size))?|true|false|Some|Ok|vec!|\.to_string\(\)|[-&\[\](),\s])+"
    ),
    "js": re.compile(rf"(?:{_STRING}|{_NUMBER}|true|false|null|\w+\s*:|[-\[\]{{}},:\s])+"),
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
_INSIDE = {  # a claim in a loop or in a function that is handed over, and what is put in its place
    "js": (
        re.compile(r"(?:=>\s*\{?|[{;]\s)\s*(?=(?:assert|expect)\b(?!\.fail))"),
        "(() => { throw new Error(); })()",
    ),
    "rs": (re.compile(r"[{;]\s*(?=assert(?:_eq)?!)"), "panic!()"),
}
_MAYBE = re.compile(r"\b(?:if|while|match|switch|catch|try|return|throws|rejects|not|mock)\b|&&|\|\||\?")
_ENDS = re.compile(r"\breturn\b|\bprocess\.exit\b")
_Span = tuple[int, int, str]
_Claim = tuple[int, int, list[_Span]]  # where it begins and ends, and what can be put in


def alter_calls(text: str, tests: Collection[str], kind: str) -> tuple[str, frozenset[str]]:
    """The file with the named tests altered, and which of them could be. `kind`: rs or js."""
    done: set[str] = set()
    for name in tests:
        for begin, end in _bodies(text, name, kind):
            claims = list(_claims(text, begin, end, kind)) or _handed_over(text, begin, end, kind)
            if claims:
                text = _alter_claims(text, claims, end, kind if name else "script")
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
    word = re.escape(name)
    heads = rf"\bfn\s+{word}\s*(?=\()" if kind == "rs" else rf"\b(?:test|it)\s*\(\s*([\"'`]){word}\1"
    hits = list(re.finditer(heads, text))
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
        if branch is not None:
            at, to = _branch(text, branch, end)
            if at < 0 or to < 0 or (first and branch["word"] and _ENDS.search(text, at, max(to, at + 12))):
                return
            at = to
            continue
        call = (_STATEMENT if kind == "js" else _CALLS[kind]).match(text, at)
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


def _handed_over(text: str, begin: int, end: int, kind: str) -> list[_Claim]:
    """The claim in a loop or in a function that is handed over without condition: it has to be come to."""
    pattern, instead = _INSIDE[kind]
    for before in pattern.finditer(text, begin, end):
        close = _end_of_call(text, before.end(), end, kind)
        if close > 0 and not _MAYBE.search(text, begin, end):
            return [(before.end(), close, [(before.end(), close, instead)])]
    return []


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
        elif text[at].isalnum() or text[at] in "._$!" or (text[at] in " \t\n" and _goes_on(text, at, last)):
            at += 1
        else:
            break
    return last


def _goes_on(text: str, at: int, last: int) -> bool:
    return last < 0 or text[at:].lstrip()[:1] == "."


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
    if kind == "js":
        yield from _other_error(text, begin, end)
        for part in _truths(text, begin, end):
            yield from _other_answer(text, *part)


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


def _truths(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """What an assertion wants to be true, each part of `a && b` by itself."""
    head = _IS_TRUE.match(text, begin, end)
    if head is None:
        return
    close = closing(text, head.end(), "js")
    sides = list(split_arguments(text, head.end() + 1, close - 1, "js"))
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
