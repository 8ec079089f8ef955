// Bundlers and tracers find the addon: what they make runs in a folder where nothing is installed.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { nodeFileTrace } from "@vercel/nft";
import esbuild from "esbuild";
import { build as vite } from "vite";
import webpack from "webpack";
import { root } from "./support.mjs";

const nodeLoader = createRequire(import.meta.url).resolve("node-loader");
const use = `
  const shop = new Paddlegate("memory://").points("shop", 1000, 20);
  shop.withinLimit({ estimate: 200 }, (permit) => permit.pointsUsed(50)).then(console.log);`;
const made = [];
const emptyFolder = () => {
  made.push(mkdtempSync(join(tmpdir(), "paddlegate-")));
  return made.at(-1);
};
test.after(() => {
  for (const folder of made) rmSync(folder, { recursive: true });
});

/** Runs a program that a bundler made. */
const output = (...path) =>
  execFileSync(process.execPath, [join(...path)], { encoding: "utf8" }).trim();
const addons = (folder) => readdirSync(folder).filter((name) => name.endsWith(".node"));

/** An application as npm would install it. */
const app = emptyFolder();
const { files } = JSON.parse(readFileSync(join(root, "package.json")));
for (const path of ["package.json", ...files.filter((path) => !path.includes("*"))]) {
  cpSync(join(root, path), join(app, "node_modules/paddlegate", path), { recursive: true });
}
cpSync(join(root, "npm"), join(app, "node_modules/@paddlegate"), { recursive: true });
writeFileSync(join(app, "app.mjs"), `import { Paddlegate } from "paddlegate";${use}`);
writeFileSync(join(app, "app.cjs"), `const { Paddlegate } = require("paddlegate");${use}`);

/** A bundle of ESM has no `require` for the addon but this one. */
const js = `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`;
const formats = {
  cjs: {},
  esm: { banner: { js } },
};
for (const [format, options] of Object.entries(formats)) {
  test(`esbuild, ${format}`, async () => {
    const outdir = emptyFolder();
    const entry = format === "esm" ? "app.mjs" : "app.cjs";
    await esbuild.build({
      absWorkingDir: app,
      entryPoints: [entry],
      bundle: true,
      platform: "node",
      format,
      outdir,
      outExtension: { ".js": `.${entry.slice(-3)}` },
      loader: { ".node": "copy" },
      logLevel: "silent",
      ...options,
    });
    assert.equal(addons(outdir).length, 1);
    assert.equal(output(outdir, entry), "settled");
  });
}

test("esbuild bundles for a platform whose addon is not installed here", async () => {
  const lean = emptyFolder();
  cpSync(join(app, "app.cjs"), join(lean, "app.cjs"));
  cpSync(join(app, "node_modules/paddlegate"), join(lean, "node_modules/paddlegate"), {
    recursive: true,
  });
  const { errors } = await esbuild.build({
    absWorkingDir: lean,
    entryPoints: ["app.cjs"],
    bundle: true,
    platform: "node",
    outfile: "out.cjs",
    logLevel: "silent",
  });
  assert.deepEqual(errors, []);
  // As it would be shipped.
  cpSync(join(app, "node_modules/@paddlegate"), join(lean, "node_modules/@paddlegate"), {
    recursive: true,
  });
  assert.equal(output(lean, "out.cjs"), "settled");
});

for (const entry of ["app.cjs", "app.mjs"]) {
  test(`webpack, ${entry}`, async () => {
    const path = emptyFolder();
    const compiler = webpack({
      context: app,
      entry: `./${entry}`,
      target: "node",
      mode: "production",
      optimization: { minimize: false },
      module: { rules: [{ test: /\.node$/, loader: nodeLoader }] },
      output: { path, filename: "out.cjs" },
    });
    const stats = await new Promise((resolve, reject) =>
      compiler.run((error, stats) => (error ? reject(error) : resolve(stats))),
    );
    const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
    assert.deepEqual([...errors, ...warnings], []);
    assert.equal(addons(path).length, 1);
    assert.equal(output(path, "out.cjs"), "settled");
  });
}

test("vite, for a server", async () => {
  const ssr = { root: app, configFile: false, logLevel: "silent" };
  // By default it leaves packages where they are.
  await vite({ ...ssr, build: { ssr: "app.mjs", outDir: "left" } });
  assert.equal(output(app, "left/app.mjs"), "settled");
  const shipped = emptyFolder();
  const rolldownOptions = { external: [/^@paddlegate\//] };
  const build = { ssr: "app.mjs", outDir: shipped, rolldownOptions };
  await vite({ ...ssr, build, ssr: { noExternal: true } });
  cpSync(join(app, "node_modules/@paddlegate"), join(shipped, "node_modules/@paddlegate"), {
    recursive: true,
  });
  assert.equal(output(shipped, "app.mjs"), "settled");
});

test("@vercel/nft", async () => {
  for (const entry of ["app.mjs", "app.cjs"]) {
    const { fileList, warnings } = await nodeFileTrace([join(app, entry)], {
      base: app,
      processCwd: app,
    });
    assert.deepEqual([...warnings], []);
    const traced = emptyFolder();
    for (const path of fileList) {
      mkdirSync(dirname(join(traced, path)), { recursive: true });
      cpSync(join(app, path), join(traced, path));
    }
    assert.equal(output(traced, entry), "settled");
  }
});

test("@vercel/nft finds the addon that was built in the work tree", async () => {
  const { fileList } = await nodeFileTrace([join(root, "index.mjs")], {
    base: root,
    processCwd: root,
  });
  assert.ok(fileList.has("npm/linux-x64-gnu/paddlegate.node"), [...fileList].join());
});
