// A Discord that answers as its documentation of rate limits says, and counts by itself what breaks its limits.
//   node tests/discord/server.mjs '{"limit": 5, "intervalMs": 1000}'
// Prints its port. GET /report returns the counts, POST /set changes the numbers.
//
// After https://docs.discord.com/developers/topics/rate-limits: a limit for each bucket and major parameter, in windows that
// begin with their first request; one for the bot, of which webhooks and interactions are free; a ban after too many
// requests that were answered 401, 403 or 429, without those of the scope "shared".
import { createServer } from "node:http";

const numbers = {
  limit: 5,
  intervalMs: 1000,
  global: 50,
  globalMs: 1000,
  banAfter: 10_000,
  forbid: false,
  sharedMs: 0,
  delayMs: 0,
  ...JSON.parse(process.argv[2] ?? "{}"),
};
const windows = new Map();
const report = { requests: 0, granted: {}, user: 0, global: 0, shared: 0, banned: 0, invalid: 0 };
const arrivals = [];

/** Counts a request in its window, which begins with the first one. Returns whether the limit allows it. */
function count(key, limit, intervalMs) {
  const now = performance.now();
  let window = windows.get(key);
  if (window === undefined || now >= window.end) {
    window = { end: now + intervalMs, used: 0 };
    windows.set(key, window);
  }
  const isAllowed = window.used < limit;
  if (isAllowed) window.used += 1;
  return { isAllowed, remaining: limit - window.used, resetAfter: (window.end - now) / 1000 };
}

/** The bucket of a request: two routes of messages share one, with each channel on its own. */
function bucketOf(method, parts) {
  const [kind, id, token] = parts;
  const rest = parts
    .slice(kind === "webhooks" ? 3 : 2)
    .map((part) => (/^\d+$/.test(part) ? "" : part));
  const isMessage = kind === "channels" && rest[0] === "messages";
  const hash = isMessage ? "messages" : `${method}${kind}${rest.join("")}`;
  return { hash, key: `${hash}:${id}:${kind === "webhooks" ? token : ""}` };
}

function send(response, status, headers, body) {
  if ([401, 403, 429].includes(status) && headers["X-RateLimit-Scope"] !== "shared")
    report.invalid += 1;
  response.writeHead(status, { "Content-Type": "application/json", Via: "1.1 google", ...headers });
  response.end(JSON.stringify(body));
}

function refuse(response, scope, wait, headers = {}) {
  report[scope] += 1;
  send(
    response,
    429,
    {
      "Retry-After": String(Math.ceil(wait)),
      "X-RateLimit-Scope": scope,
      ...(scope === "global" && { "X-RateLimit-Global": "true" }),
      ...headers,
    },
    { message: "You are being rate limited.", retry_after: wait, global: scope === "global" },
  );
}

function answer(request, response, path) {
  report.requests += 1;
  const parts = path.slice(1).split("/");
  const isFree = parts[0] === "interactions" || (parts[0] === "webhooks" && parts[2] !== undefined);
  if (report.invalid >= numbers.banAfter) {
    report.banned += 1;
    return send(response, 429, { Via: "" }, { message: "banned" });
  }
  if (numbers.forbid && parts[0] === "channels")
    return send(response, 403, {}, { message: "Missing Access", code: 50001 });
  if (!isFree) {
    const { isAllowed, resetAfter } = count("global", numbers.global, numbers.globalMs);
    if (!isAllowed) return refuse(response, "global", resetAfter);
  }
  if (numbers.sharedMs > 0 && parts[1] === "100000000000000009") {
    const wait = numbers.sharedMs / 1000;
    numbers.sharedMs = 0;
    return refuse(response, "shared", wait);
  }
  if (parts[0] === "interactions" || parts[0] === "gateway") return send(response, 200, {}, {});
  const { hash, key } = bucketOf(request.method, parts);
  const { isAllowed, remaining, resetAfter } = count(key, numbers.limit, numbers.intervalMs);
  const headers = {
    "X-RateLimit-Limit": String(numbers.limit),
    "X-RateLimit-Remaining": String(remaining),
    "X-RateLimit-Reset": (Date.now() / 1000 + resetAfter).toFixed(3),
    "X-RateLimit-Reset-After": resetAfter.toFixed(3),
    "X-RateLimit-Bucket": hash,
  };
  if (!isAllowed) return refuse(response, "user", resetAfter, headers);
  report.granted[key] = (report.granted[key] ?? 0) + 1;
  arrivals.push({ key, at: Date.now() });
  send(response, 200, headers, { id: "1", username: "bot", discriminator: "0000", avatar: null });
}

const server = createServer((request, response) => {
  let body = "";
  request.on("data", (data) => {
    body += data;
  });
  request.on("end", () => {
    if (request.url === "/report") return send(response, 200, {}, { ...report, arrivals });
    if (request.url === "/set") {
      Object.assign(numbers, JSON.parse(body));
      return send(response, 200, {}, {});
    }
    const path = new URL(request.url, "http://x").pathname.replace(/^\/api(\/v\d+)?/, "");
    setTimeout(() => answer(request, response, path), numbers.delayMs);
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit()).resume();
