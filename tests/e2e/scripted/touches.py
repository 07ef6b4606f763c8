#!/usr/bin/env python3
"""touches blank|comment|readme|layout|code|docs: changes calc.py or README.md in that way and claims done."""

from _lib import argument, done, read, write

kind = argument(1, "blank")
path = "README.md" if kind in ("readme", "docs") else "calc.py"
text = read(path)
changed = {
    "blank": text.replace('"""\n', '"""\n\n', 1),
    "comment": "# tidied up\n" + text,
    "layout": text.replace("(a, b):", "(a,  b):"),
    "readme": "Tidied up.\n",
    "docs": "calc: sums.\n",
    "code": text.replace("def sub(a, b):\n    return a - b", "def sub(one, other):\n    return one - other"),
}[kind]
write(path, changed)
done(f"{kind} done")
