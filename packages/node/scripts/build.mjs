// Builds the addon for this machine into npm/, where the loader finds it, and which is packed for a registry.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const { platform, arch } = process;
const toolchain = { linux: "-gnu", win32: "-msvc" }[platform] ?? "";
const folder = fileURLToPath(new URL(`../npm/${platform}-${arch}${toolchain}/`, import.meta.url));
mkdirSync(folder, { recursive: true });
// The Makefile may have built it together with other packages.
if (!process.env.PADDLEGATE_BUILT) {
  execFileSync("cargo", ["build", "--release", "-p", "paddlegate-node"], {
    cwd: root,
    stdio: "inherit",
  });
}

const library = { win32: "paddlegate_node.dll", darwin: "libpaddlegate_node.dylib" };
const built = join(
  process.env.CARGO_TARGET_DIR ?? join(root, "target"),
  "release",
  library[platform] ?? "libpaddlegate_node.so",
);
// Renamed into place: a process that has the old one loaded keeps it.
copyFileSync(built, join(folder, "paddlegate.node.new"));
renameSync(join(folder, "paddlegate.node.new"), join(folder, "paddlegate.node"));
