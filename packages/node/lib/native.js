"use strict";

const { existsSync } = require("node:fs");
const { join } = require("node:path");
const { version } = require("../package.json");

module.exports = load();

// Nothing can wait for a promise then.
process.on("exit", () => module.exports.sendCounts());

/** Loads the addon: the one that was built in this checkout, or else the package of this platform. */
function load() {
  const { platform, arch } = process;
  let reason = "there is no package for this platform";
  // Bundlers and tracers find an addon only by a literal name, and tolerate a missing one only inside `try`.
  try {
    const addon = built(`${platform}-${arch}${{ linux: "-gnu", win32: "-msvc" }[platform] ?? ""}`);
    if (addon) return checked(addon);
    if (platform === "linux" && arch === "x64") {
      return checked(require("@paddlegate/linux-x64-gnu"));
    }
  } catch (error) {
    reason = error.message.split("\n")[0];
  }
  throw new Error(
    `the addon of paddlegate ${version} could not be loaded; in a checkout run make build-node, elsewhere install it with ` +
      `its optional dependencies: platform=${platform}-${arch} reason=${reason}`,
  );
}

/** Loads what was built beside this package; undefined where nothing was, as in a bundle, which may have no `__dirname`. */
function built(name) {
  if (typeof __dirname === "undefined") return undefined;
  const file = join(__dirname, `../npm/${name}/paddlegate.node`);
  if (!existsSync(file)) return undefined;
  const addon = { exports: {} };
  process.dlopen(addon, file);
  return addon.exports;
}

function checked(addon) {
  if (addon.version() !== version) throw new Error(`it has another version: ${addon.version()}`);
  return addon;
}
