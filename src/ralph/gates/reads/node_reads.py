"""Who reads what in Node processes: a file of Ralph's own that Node requires first, at the base only.

It looks at `fs` and at how modules are resolved. Who asks is the innermost frame of the tree's own code; for
modules it is the one that imports. Loaders of others (jest, vitest) read files by `fs` under such a frame.
"""

from __future__ import annotations

import json

MODULE = "reads.cjs"
_TEXT = """'use strict';
const fs = require('node:fs'), path = require('node:path'), Module = require('node:module');
const { fileURLToPath } = require('node:url');
const [OUT, ROOT] = WATCHED;
const append = fs.appendFileSync, exists = fs.existsSync, noted = new Set();
let busy = false;
function note(...row) {
  const text = row.join('\\t');
  if (noted.has(text) || noted.size > 100000 || text.includes('\\n')) return;
  noted.add(text);
  busy = true;
  try { append(OUT, text + '\\n'); } catch {} finally { busy = false; }
}
function inside(name) {
  if (typeof name !== 'string' && !(name instanceof URL) && !Buffer.isBuffer(name)) return '';
  let at = String(name);
  if (at.startsWith('node:') || at.startsWith('data:')) return '';
  if (at.startsWith('file:')) { try { at = fileURLToPath(at); } catch { return ''; } }
  at = path.resolve(at);
  return at.startsWith(ROOT) && !at.includes('/node_modules/') ? at.slice(ROOT.length) : '';
}
function asker() {
  const limit = Error.stackTraceLimit, prepare = Error.prepareStackTrace;
  Error.stackTraceLimit = 60;
  Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFileName() ?? '');
  const names = new Error().stack;
  Error.stackTraceLimit = limit;
  Error.prepareStackTrace = prepare;
  if (!Array.isArray(names)) return '';
  for (const name of names) {
    const found = name && name !== __filename ? inside(name) : '';
    if (found) return found;
  }
  return '';
}
function look(name) {
  if (busy) return;
  const found = inside(name);
  if (!found) return;
  busy = true;
  const there = exists(name);
  busy = false;
  note(there ? 'read' : 'missed', found, asker());
}
for (const [owner, names] of [
  [fs, ['readFileSync', 'readFile', 'openSync', 'open', 'createReadStream', 'existsSync', 'statSync']],
  [fs.promises, ['readFile', 'open']],
]) {
  for (const name of names) {
    const real = owner[name];
    owner[name] = function (first, ...rest) { look(first); return real.call(this, first, ...rest); };
    Object.assign(owner[name], real);
  }
}
const load = Module._load;
Module._load = function (request, parent) {
  const from = parent && parent.filename ? inside(parent.filename) : '';
  if (from) {
    try {
      const at = Module._resolveFilename(request, parent);
      const found = path.isAbsolute(at) ? inside(at) : '';
      if (found) note('read', found, from);
      else note('outside', request, from);
    } catch {}
  }
  return load.apply(this, arguments);
};
Module.syncBuiltinESMExports();
if (Module.register) {
  const hook = `import { appendFileSync } from 'node:fs'; import { fileURLToPath } from 'node:url';
    const inside = (url) => {
      const at = url && url.startsWith('file:') ? fileURLToPath(url) : '';
      return at.startsWith(${JSON.stringify(ROOT)}) && !at.includes('/node_modules/')
        ? at.slice(${ROOT.length}) : '';
    };
    export async function resolve(asked, context, next) {
      const found = await next(asked, context);
      try {
        const to = inside(found.url), from = inside(context.parentURL);
        if (from) {
          const row = to ? ['read', to, from] : ['outside', asked, from];
          appendFileSync(${JSON.stringify(OUT)}, row.join('\\\\t') + '\\\\n');
        }
      } catch {}
      return found;
    }`;
  try { Module.register('data:text/javascript,' + encodeURIComponent(hook)); } catch {}
}
note('seen', 'node', '');
"""


def hook_text(root: str, out: str) -> str:
    """The file. `root`: where the tree stands for the gate; `out`: where its notes go."""
    return _TEXT.replace("WATCHED", json.dumps([out, root.rstrip("/") + "/"]))
