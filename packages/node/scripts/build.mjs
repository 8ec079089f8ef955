// Builds the addon for this machine into the package of its platform, and links that to where the loader finds it.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const { platform, arch } = process;
const toolchain = { linux: "-gnu", win32: "-msvc" }[platform] ?? "";
const name = `${platform}-${arch}${toolchain}`;
const folder = fileURLToPath(new URL(`../npm/${name}/`, import.meta.url));
if (!existsSync(join(folder, "package.json"))) {
  throw new Error(
    `there is no package for this platform yet: add ${folder} and load it in lib/native.js`,
  );
}
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

const link = fileURLToPath(new URL(`../node_modules/@paddlegate/${name}`, import.meta.url));
mkdirSync(dirname(link), { recursive: true });
rmSync(link, { recursive: true, force: true });
symlinkSync(relative(dirname(link), folder), link, "junction");
