// As a user would: the packed tarballs, installed into an empty folder.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { root, soak } from "./support.mjs";

const { version } = JSON.parse(readFileSync(join(root, "package.json")));
const use = `
  new Paddlegate("memory://").points("shop", 1000, 20).withinLimit({ estimate: 200 }, (permit) => permit.pointsUsed(50))
    .then(console.log);`;
const imported = ["module", `import { Paddlegate } from "paddlegate";${use}`];
const required = ["commonjs", `const { Paddlegate } = require("paddlegate");${use}`];

// Of every change `make test-readme` installs the packages.
soak("npm pack, npm install, import and require", (t) => {
  const { run, pack, install, node } = emptyFolder(t);
  const [main, native] = pack();
  assert.deepEqual(
    main.files.filter((path) => /\.node$|^test|^npm|^scripts/.test(path)),
    [],
  );
  const licences = ["LICENSE-APACHE", "LICENSE-MIT", "THIRD_PARTY_LICENSES.txt"];
  assert.deepEqual(native.files, [...licences, "package.json", "paddlegate.node"]);

  // As the registry would give it: the second because the first asks for it.
  run("npm", "pkg", "set", `overrides.@paddlegate/linux-x64-gnu=file:${native.filename}`);
  install(main.filename);
  assert.equal(node(...imported), "settled");
  assert.equal(node(...required), "settled");
});

test("npm install of the folder asks no registry, also where the project has the checkout inside", async (t) => {
  const { folder, node } = emptyFolder(t);
  // As after a fresh clone, without packages of its own.
  const inside = join(folder, "checkout/packages/node");
  cpSync(root, inside, { recursive: true, filter: (path) => !path.endsWith("node_modules") });
  const asked = [];
  const registry = createServer((request, response) => {
    asked.push(request.url);
    response.writeHead(404).end();
  }).listen(0, "127.0.0.1");
  t.after(() => registry.close());
  await once(registry, "listening");
  for (const path of [root, inside]) {
    const options = [`--registry=http://127.0.0.1:${registry.address().port}/`, "--no-audit"];
    await promisify(execFile)("npm", ["install", ...options, path], { cwd: folder });
    assert.deepEqual(asked, []);
    assert.equal(node(...imported), "settled");
    assert.equal(node(...required), "settled");
  }
});

test("without the addon the error says what is missing", (t) => {
  const { pack, install, node } = emptyFolder(t);
  install("--omit=optional", pack()[0].filename);
  assert.throws(
    () => node(...imported),
    /could not be loaded; in a checkout run make build-node, elsewhere install it with its optional dependencies/,
  );
});

test("the versions of the packages are one", () => {
  // Those that there are, and the loader has a literal `require` of each.
  const names = readdirSync(join(root, "npm"));
  const loader = readFileSync(join(root, "lib/native.js"), "utf8");
  const loaded = [...loader.matchAll(/require\("@paddlegate\/(.*?)"\)/g)].map(([, name]) => name);
  assert.deepEqual(loaded, names);
  const workspace = readFileSync(join(root, "../../Cargo.toml"), "utf8");
  assert.equal(version, workspace.match(/^version = "(.*)"$/m)[1]);
  for (const name of names) {
    const platform = JSON.parse(readFileSync(join(root, "npm", name, "package.json")));
    assert.equal(platform.name, `@paddlegate/${name}`);
    assert.equal(platform.version, version);
  }
});

function emptyFolder(t) {
  const folder = mkdtempSync(join(tmpdir(), "paddlegate-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const run = (command, ...args) =>
    execFileSync(command, args, {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    }).trim();
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  return {
    folder,
    run,
    pack: () =>
      JSON.parse(run(process.execPath, join(root, "scripts/pack.mjs"), ".")).map((packed) => ({
        filename: `./${packed.filename.replace("@", "").replace("/", "-")}`,
        files: packed.files.map(({ path }) => path),
      })),
    install: (...what) => run("npm", "install", "--offline", "--no-audit", "--no-fund", ...what),
    node: (type, code) => run(process.execPath, `--input-type=${type}`, "--eval", code),
  };
}
