// As a user would: the packed tarballs, installed into an empty folder.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { root, soak } from "./support.mjs";

const { version, files, optionalDependencies } = JSON.parse(
  readFileSync(join(root, "package.json")),
);
const use = `
  new Paddlegate("memory://").points("shop", 1000, 20).withinLimit({ estimate: 200 }, (permit) => permit.pointsUsed(50))
    .then(console.log);`;
const imported = ["module", `import { Paddlegate } from "paddlegate";${use}`];
const required = ["commonjs", `const { Paddlegate } = require("paddlegate");${use}`];

// Of every change `make test-readme` installs the packages.
soak("npm pack, npm install, import and require", (t) => {
  const { run, pack, install, node } = emptyFolder(t);
  const main = pack(root);
  const native = pack(join(root, "npm/linux-x64-gnu"));
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

test("without the addon the error says what is missing", (t) => {
  const { folder, node } = emptyFolder(t);
  for (const path of ["package.json", ...files.filter((path) => !path.includes("*"))]) {
    cpSync(join(root, path), join(folder, "node_modules/paddlegate", path), { recursive: true });
  }
  assert.throws(
    () => node(...imported),
    /could not be loaded; install it with its optional dependencies/,
  );
});

test("the versions of the packages are one", () => {
  // Those that there are, and the loader has a literal `require` of each.
  const names = readdirSync(join(root, "npm")).map((folder) => `@paddlegate/${folder}`);
  assert.deepEqual(Object.keys(optionalDependencies), names);
  const loader = readFileSync(join(root, "lib/native.js"), "utf8");
  const loaded = [...loader.matchAll(/require\("(@paddlegate\/.*?)"\)/g)].map(([, name]) => name);
  assert.deepEqual(loaded, names);
  const workspace = readFileSync(join(root, "../../Cargo.toml"), "utf8");
  assert.equal(version, workspace.match(/^version = "(.*)"$/m)[1]);
  for (const [name, wanted] of Object.entries(optionalDependencies)) {
    const folder = join(root, "npm", name.replace("@paddlegate/", ""));
    const platform = JSON.parse(readFileSync(join(folder, "package.json")));
    assert.equal(platform.name, name);
    assert.equal(platform.version, version);
    assert.equal(wanted, version);
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
    pack: (what) => {
      const [{ filename, files }] = JSON.parse(run("npm", "pack", "--json", what));
      return {
        filename: `./${filename.replace("@", "").replace("/", "-")}`,
        files: files.map(({ path }) => path),
      };
    },
    install: (...what) => run("npm", "install", "--offline", "--no-audit", "--no-fund", ...what),
    node: (type, code) => run(process.execPath, `--input-type=${type}`, "--eval", code),
  };
}
