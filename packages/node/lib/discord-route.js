"use strict";

// Which requests to Discord share a limit. Twin of packages/python/paddlegate/_discord_route.py.

const { createHash } = require("node:crypto");

const API = /^\/api(?:\/v\d+)?(\/.+)$/;
const ID = /^\d{16,20}$/;
const MAJOR = ["channels", "guilds", "webhooks"];
/** The start of the times in Discord's ids. */
const EPOCH_MS = 1_420_070_400_000;
const NEW_MS = 10_000;
const OLD_MS = 14 * 86_400_000;
/** The largest window of a limiter. */
const MOST_UNITS = 100_000;
const MOST_SECONDS = 86_400;

/** Returns the route of a request with its major parameter; `null` for one that is not to Discord's API. */
function routeOf(method, path, nowMs) {
  const match = API.exec(path);
  if (match === null) return null;
  const parts = match[1].replace(/^\/+|\/+$/g, "").split("/");
  const [kind, id, token] = parts;
  const isInteraction = kind === "interactions";
  const hasToken = kind === "webhooks" && parts.length > 2;
  let major = MAJOR.includes(kind) && ID.test(id) ? id : "";
  if (parts.length > 2 && (hasToken || isInteraction)) {
    // A token is a secret, which is not for the names of limiters.
    major = hasToken ? `${major}/${hash(token).slice(0, 16)}` : "";
    parts[2] = ":token";
  }
  const reactions = parts.indexOf("reactions");
  if (reactions >= 0) parts.length = reactions + 1;
  const names = parts.map((part) => (ID.test(part) ? ":id" : part));
  let name = `${method.toUpperCase()}/${names.join("/")}`;
  if (name === "DELETE/channels/:id/messages/:id") {
    // Discord limits the deletion of messages by their age.
    const age = nowMs - (Number(BigInt(parts[3]) >> 22n) + EPOCH_MS);
    if (age <= NEW_MS) name += ":new";
    else if (age >= OLD_MS) name += ":old";
  }
  const isCallback = isInteraction && names.at(-1) === "callback";
  return { name, major, isGlobal: !(isInteraction || hasToken), isCallback, hasToken };
}

/**
 * Returns size and length in seconds of the window of a response, if it has both, otherwise `null`.
 *
 * Only the first response of a window has its length. A route without headers has no limit of its own; then the numbers are
 * `without` in a second, or `null`.
 */
function numbersOf(headers, without) {
  const found = ["limit", "remaining", "reset-after"].map((it) => headers.get(`x-ratelimit-${it}`));
  if (found.includes(null)) {
    const isLimited = found[0] !== null || found[1] !== null;
    return isLimited || without === null ? null : [without, 1];
  }
  const [limit, remaining, resetAfter] = found.map(Number);
  const isFirst = limit >= 1 && limit <= MOST_UNITS && remaining === limit - 1;
  if (!(isFirst && resetAfter > 0 && resetAfter < MOST_SECONDS)) return null;
  // Some time has passed since the window began; below half a second windows are not whole.
  return [limit, resetAfter > 0.5 ? Math.ceil(resetAfter) : resetAfter];
}

const hash = (text) => createHash("sha256").update(text).digest("hex");

module.exports = { hash, numbersOf, routeOf };
