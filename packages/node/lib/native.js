"use strict";

const { version } = require("../package.json");
const platforms = require("./platforms.js");

module.exports = load();

/** The addon: from a build in this work tree, else from the package of this platform. */
function load() {
  const tried = [];
  for (const platform of platforms()) {
    for (const place of [`../npm/${platform}/paddlegate.node`, `@paddlegate/${platform}`]) {
      try {
        const addon = require(place);
        if (addon.version() === version) return addon;
        tried.push(`${place}: version=${addon.version()}`);
      } catch (error) {
        tried.push(`${place}: ${error.message.split("\n")[0]}`);
      }
    }
  }
  throw new Error(
    `the addon of paddlegate ${version} could not be loaded; install it with its optional dependencies: ${tried.join("; ")}`,
  );
}
