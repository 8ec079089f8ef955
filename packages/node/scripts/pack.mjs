// Packs what a registry would get into a folder: `pack.mjs FOLDER`. Only the packed package depends on the packages of its
// platforms: in a checkout npm would ask the registry for them.
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const platforms = readdirSync(join(root, "npm")).filter((name) =>
  existsSync(join(root, "npm", name, "package.json")),
);
manifest.optionalDependencies = Object.fromEntries(
  platforms.map((name) => [`@paddlegate/${name}`, manifest.version]),
);

const staged = mkdtempSync(join(tmpdir(), "paddlegate-"));
try {
  cpSync(root, staged, {
    recursive: true,
    filter: (path) => !/[/\\](?:node_modules|npm|test)$/.test(path),
  });
  writeFileSync(join(staged, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const folders = [staged, ...platforms.map((name) => join(root, "npm", name))];
  const pack = ["pack", "--json", "--pack-destination", resolve(process.argv[2]), ...folders];
  process.stdout.write(execFileSync("npm", pack));
} finally {
  rmSync(staged, { recursive: true });
}
