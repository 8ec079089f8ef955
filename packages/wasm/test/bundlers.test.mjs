// What esbuild makes of the package runs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";
import { isSoak } from "./vectors.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
const { files } = JSON.parse(readFileSync(join(root, "package.json")));

// Each module and each loader once; all pairs in `make soak`.
const isQuick = (folder, loader) => (folder === "") === (loader === "binary");
for (const folder of ["", "/full"]) {
  for (const loader of ["binary", "file"]) {
    if (!isSoak && !isQuick(folder, loader)) continue;
    test(`esbuild takes in paddlegate-wasm${folder} as ${loader}`, async (t) => {
      const app = mkdtempSync(join(tmpdir(), "paddlegate-"));
      t.after(() => rmSync(app, { recursive: true }));
      const installed = join(app, "node_modules/paddlegate-wasm");
      for (const path of ["package.json", ...files.filter((path) => !path.includes("*"))]) {
        cpSync(join(root, path), join(installed, path), { recursive: true });
      }
      for (const path of readdirSync(root).filter((path) => path.endsWith(".mjs"))) {
        cpSync(join(root, path), join(installed, path));
      }
      // A page fetches the file; here it is read.
      const read =
        loader === "file" ? `(await import("node:fs")).readFileSync("out/" + wasm)` : "wasm";
      writeFileSync(
        join(app, "app.mjs"),
        `import init, { Paddlegate } from "paddlegate-wasm${folder}/web";
        import wasm from "paddlegate-wasm${folder}/paddlegate.wasm";
        await init(${read});
        console.log(new Paddlegate().window("x", 3, 60).tryAcquire().remaining);`,
      );
      await esbuild.build({
        absWorkingDir: app,
        entryPoints: ["app.mjs"],
        bundle: true,
        format: "esm",
        target: "node18",
        outdir: "out",
        outExtension: { ".js": ".mjs" },
        loader: { ".wasm": loader },
        external: ["node:fs"],
        logLevel: "silent",
      });
      rmSync(join(app, "node_modules"), { recursive: true });
      const printed = execFileSync(process.execPath, ["out/app.mjs"], {
        cwd: app,
        encoding: "utf8",
      });
      assert.equal(printed.trim(), "2");
    });
  }
}
