"use strict";

/** The packages that may hold the addon for this machine, by the last part of their names. */
module.exports = function platforms() {
  const { platform, arch } = process;
  if (platform === "linux") return [`linux-${arch}-gnu`, `linux-${arch}-musl`];
  if (platform === "win32") return [`win32-${arch}-msvc`];
  return [`${platform}-${arch}`];
};
