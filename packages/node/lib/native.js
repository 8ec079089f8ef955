"use strict";

const { version, optionalDependencies } = require("../package.json");

module.exports = load();

// Nothing can wait for a promise then.
process.on("exit", () => module.exports.sendCounts());

/** Loads the addon from the package of this platform. A build in the work tree is linked to the same path. */
function load() {
  let reason = "none of these is for this platform";
  if (process.platform === "linux" && process.arch === "x64") {
    // Bundlers and tracers find an addon only by a literal name, and tolerate a missing one only inside `try`.
    try {
      return checked(require("@paddlegate/linux-x64-gnu"));
    } catch (error) {
      reason = error.message.split("\n")[0];
    }
  }
  throw new Error(
    `the addon of paddlegate ${version} could not be loaded; install it with its optional dependencies: ` +
      `platform=${process.platform}-${process.arch} packages=${Object.keys(optionalDependencies)} reason=${reason}`,
  );
}

function checked(addon) {
  if (addon.version() !== version) throw new Error(`it has another version: ${addon.version()}`);
  return addon;
}
