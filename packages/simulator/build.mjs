// Builds the page in dist by copying files; nothing is bundled. `node build.mjs`
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const uplot = join(here, "../../node_modules/uplot");
const core = join(here, "../wasm/full/web.mjs");
const IMPORT = /(?:^|\s)(?:from|import)\s*\(?\s*"(\.[^"]+)"/g;

/** Copies the page, and the core's module with its imports and its WebAssembly. Returns the target directory. */
export function build(dist = join(here, "dist")) {
  rmSync(dist, { recursive: true, force: true });
  for (const name of ["index.html", "style.css", "icon.svg", "src", "scenarios"]) {
    cpSync(join(here, name), join(dist, name), { recursive: true });
  }
  mkdirSync(join(dist, "vendor"));
  cpSync(join(uplot, "dist/uPlot.esm.js"), join(dist, "vendor/uPlot.mjs"));
  cpSync(join(uplot, "dist/uPlot.min.css"), join(dist, "vendor/uPlot.min.css"));
  cpSync(join(uplot, "LICENSE"), join(dist, "vendor/uPlot.LICENSE"));
  for (const file of withImports(core)) {
    if (!existsSync(file)) throw new Error(`${file} is missing: make build-wasm`);
    cpSync(file, join(dist, "wasm", relative(join(here, "../wasm"), file)));
  }
  return dist;
}

function withImports(entry) {
  const files = new Set([entry]);
  for (const file of files) {
    if (file.endsWith(".wasm") || !existsSync(file)) continue;
    const text = readFileSync(file, "utf8");
    for (const [, name] of text.matchAll(IMPORT)) files.add(join(dirname(file), name));
    for (const [, name] of text.matchAll(/new URL\(['"]([\w./-]+\.wasm)['"]/g)) {
      files.add(join(dirname(file), name));
    }
  }
  return files;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(`built ${relative(process.cwd(), build()) || "."}`);
}
