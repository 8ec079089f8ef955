// Writes the JavaScript of dist/ that does not come from wasm-bindgen: dist/shared/*.{mjs,cjs}, which are
// packages/node/lib/shared for `import` and for `require`, and dist/*.cjs, which are the modules of this package for `require`.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const root = new URL("../", import.meta.url);
const shared = new URL("../node/lib/shared/", root);
const dist = new URL("dist/", root);
const OWN = ["arguments", "waiting", "limiter", "bind", "full/more", "full/simulation"];

mkdirSync(new URL("shared/", dist), { recursive: true });
for (const file of readdirSync(shared)) {
  const text = readFileSync(new URL(file, shared), "utf8");
  const name = file.replace(/\.js$/, "");
  write(`shared/${name}.mjs`, asModule(text));
  write(`shared/${name}.cjs`, text.replace(/^(const .*|\}.*)\.js"\);$/gm, '$1.cjs");'));
}
for (const name of OWN) {
  const text = readFileSync(new URL(`${name}.mjs`, root), "utf8");
  write(`${name.replace("full/", "")}.cjs`, asCommonJs(text));
}

// Each import, and the one export, stands at the start of a line; an import is a list of names or a whole file.

function asModule(text) {
  return text
    .replace('"use strict";\n\n', "")
    .replace(/^const (\{[^}]*\}) = require\("(.*)\.js"\);$/gm, 'import $1 from "$2.mjs";')
    .replace(/^const (\w+) = require\("(.*)\.js"\);$/gm, 'import * as $1 from "$2.mjs";')
    .replace(/^module\.exports = \{/m, "export {");
}

function asCommonJs(text) {
  return text
    .replace(/^import \* as (\w+) from /gm, "import $1 from ")
    .replace(
      /^import (\w+|\{[^}]*\}) from "\.\.?\/(?:dist\/)?(.*)\.mjs";$/gm,
      'const $1 = require("./$2.cjs");',
    )
    .replace(/^export (?:default |(?=\{))/m, "module.exports = ");
}

function write(path, text) {
  const wrong = path.endsWith(".mjs") ? /\brequire\(|\bmodule\.exports\b/ : /^(?:import|export)\b/m;
  if (wrong.test(text)) throw new Error(`not converted: file=${path}`);
  writeFileSync(new URL(path, dist), text);
}
