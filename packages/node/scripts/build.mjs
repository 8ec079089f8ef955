// Builds the addon for this machine, where the loader and `npm pack` of the platform's package find it.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import platforms from "../lib/platforms.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
// The Makefile may have it built together with other packages.
const packages = (process.env.PADDLEGATE_CARGO ?? "--release -p paddlegate-node").split(" ");
execFileSync("cargo", ["build", ...packages], {
  cwd: root,
  stdio: "inherit",
});

const library = { win32: "paddlegate_node.dll", darwin: "libpaddlegate_node.dylib" };
const built = join(
  process.env.CARGO_TARGET_DIR ?? join(root, "target"),
  "release",
  library[process.platform] ?? "libpaddlegate_node.so",
);
const musl = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
const platform = platforms().at(musl ? -1 : 0);
const folder = fileURLToPath(new URL(`../npm/${platform}/`, import.meta.url));
mkdirSync(folder, { recursive: true });
// Renamed into place: a process that has the old one loaded keeps it.
copyFileSync(built, join(folder, "paddlegate.node.new"));
renameSync(join(folder, "paddlegate.node.new"), join(folder, "paddlegate.node"));
