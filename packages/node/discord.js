"use strict";

const { createHash } = require("node:crypto");

const { DefaultRestOptions } = require("@discordjs/rest");
const { InvalidError, PaddlegateError } = require("./lib/shared/errors.js");
const { discordRoute, discordWindow } = require("./lib/native.js");
const { Paddlegate } = require("./lib/paddlegate.js");
const { only } = require("./lib/shared/arguments.js");

const WINDOW = ["limit", "remaining", "reset-after"].map((it) => `x-ratelimit-${it}`);
/** Windows are longer than Discord's by this, since requests take different times to it. */
const MARGIN_MS = 50;
const INVALID_INTERVAL_MS = 600_000;
/** The limit of a route before its first response, in units and seconds. */
const UNKNOWN = [1, 1];
/**
 * The limit of a webhook's route before its first response. An interaction makes a few requests to a route that is then not
 * used again, so its numbers are stored only after some requests.
 */
const WEBHOOK = [5, 5];
const STORED_AFTER = 20;
/** The routes that one process remembers. */
const MOST_ROUTES = 10_000;
const MAX_NAME = 128;
/** Bytes of a name; longer ones are shortened by a hash. */
const LONGEST_NAME = 256;
/** The time that a request itself may take, as in @discordjs/rest. */
const REQUEST_MS = 15_000;

const OPTIONS = [
  "name",
  "perSecond",
  "invalidLimit",
  "waitTimeoutMs",
  "onUnavailable",
  "makeRequest",
];

/** The limits of a bot: take a turn before a request, and report its response. */
class Discord {
  #paddlegate;
  #name;
  #perSecond;
  waitTimeoutMs;
  #options;
  #routes = new Map();

  constructor(paddlegate, options) {
    const given = only(OPTIONS, options);
    const { name = "discord", perSecond = 50, invalidLimit = 9_500, onUnavailable } = given;
    const { waitTimeoutMs = 60_000 } = given;
    if (!(paddlegate instanceof Paddlegate)) {
      throw new InvalidError("paddlegate", "must be a Paddlegate");
    }
    if (typeof name !== "string" || name === "" || Buffer.byteLength(name) > MAX_NAME) {
      throw new InvalidError("name", `must be text of 1 to ${MAX_NAME} bytes: name=${name}`);
    }
    for (const [argument, units] of Object.entries({ perSecond, invalidLimit })) {
      if (!(Number.isInteger(units) && units >= 1 && units <= 10_000)) {
        throw new InvalidError(argument, `must be from 1 to 10000: ${argument}=${units}`);
      }
    }
    this.#paddlegate = paddlegate;
    this.#name = name;
    this.#perSecond = perSecond;
    this.waitTimeoutMs = waitTimeoutMs;
    // One group, so that all can decide together in a cluster too.
    const shared = { group: name, ...(onUnavailable !== undefined && { onUnavailable }) };
    this.#options = { ...shared, statistics: false };
    this.bot = paddlegate.window(`${name}:global`, perSecond, 1 + MARGIN_MS / 1000, shared);
    this.invalid = paddlegate.window(
      `${name}:invalid`,
      invalidLimit,
      INVALID_INTERVAL_MS / 1000,
      shared,
    );
    paddlegate.together([this.bot, this.invalid], { waitTimeoutMs });
  }

  /** Waits for the turn of a request: one decision of all limits that count it. */
  async acquire(route, signal) {
    const limiters = [this.invalid];
    if (!route.isCallback) limiters.push(...this.#known(route).limiters);
    if (route.isGlobal) limiters.push(this.bot);
    const together = this.#paddlegate.together(limiters, { waitTimeoutMs: this.waitTimeoutMs });
    // Only a response says whether the request was invalid; here the pause of the guard counts.
    await together.acquire({ cost: { [this.invalid.name]: 0 }, signal });
  }

  /** Corrects the limits of all processes by a response; `body` matters for a 429 only. */
  async learn(route, status, headers, body) {
    let scope = headers.get("x-ratelimit-scope");
    if (!route.isCallback) {
      const known = this.#known(route);
      this.#learnBucket(route, known, headers.get("x-ratelimit-bucket"));
      // A refusal by something before the route has no headers, and says nothing of it.
      if (status !== 429) {
        const without = status < 300 ? this.#perSecond : null;
        const [limit, remaining, resetAfter] = WINDOW.map((name) => headers.get(name));
        const window = discordWindow(limit, remaining, resetAfter, without);
        await this.#learnWindow(route, known, window);
      }
      const response = { status, headers, body };
      for (const limiter of known.limiters) {
        const result = await limiter.learnFromResponse(response, { provider: "discord" });
        scope = result.scope ?? scope;
        if (scope === "global" && result.pauseMs !== null) {
          await this.bot.pause({ forMs: result.pauseMs });
        }
      }
    }
    const isInvalid = status === 401 || status === 403 || (status === 429 && scope !== "shared");
    if (isInvalid) await this.#countInvalid();
  }

  #known(route) {
    const key = `${route.name}:${route.major}`;
    const known = this.#routes.get(key) ?? {
      limiters: [this.#limiter(route, route.name)],
      bucket: null,
      window: null,
      responses: 0,
    };
    // The last of the map is the one that was used last.
    this.#routes.delete(key);
    this.#routes.set(key, known);
    if (this.#routes.size > MOST_ROUTES) this.#routes.delete(this.#routes.keys().next().value);
    return known;
  }

  #limiter({ hasToken, major }, own) {
    let name = `${this.#name}:${own}:${major}`;
    if (Buffer.byteLength(name) > LONGEST_NAME) name = `${this.#name}:${digest(name)}`;
    return this.#paddlegate.window(name, ...(hasToken ? WEBHOOK : UNKNOWN), this.#options);
  }

  #learnBucket(route, known, bucket) {
    if (bucket === null || bucket === known.bucket) return;
    // The limiter of the route stays: processes that have not yet seen the bucket share it.
    known.limiters = [known.limiters[0], this.#limiter(route, `bucket:${bucket}`)];
    known.bucket = bucket;
    known.window = null;
  }

  /** Reports the window, for all processes, where it is new. */
  async #learnWindow(route, known, window) {
    known.responses += 1;
    if (window === null) return;
    const { units, intervalMs } = window;
    const isKnown = units === known.window?.units && intervalMs === known.window.intervalMs;
    if (isKnown || (route.hasToken && known.responses <= STORED_AFTER)) return;
    known.window = window;
    for (const limiter of known.limiters) {
      await limiter.reportBudget({ limit: units, intervalMs: intervalMs + MARGIN_MS });
    }
  }

  async #countInvalid() {
    if ((await this.invalid.debit(1)).remaining > 0) return;
    const full = await this.invalid.peek();
    if (full.reason === "paused") return;
    const forMs = full.retryAfterMs || INVALID_INTERVAL_MS;
    await this.invalid.pause({ forMs });
    const seconds = Math.round(forMs / 1000);
    process.emitWarning(`too many invalid requests: none is sent for ${seconds} seconds`, {
      type: "PaddlegateWarning",
    });
  }
}

function limited(paddlegate, options = {}) {
  const discord = new Discord(paddlegate, options);
  const { makeRequest = DefaultRestOptions.makeRequest } = options;
  if (typeof makeRequest !== "function") {
    throw new InvalidError("makeRequest", "must be a function");
  }
  return {
    // A request that waits for its turn has not failed.
    timeout: discord.waitTimeoutMs + REQUEST_MS,
    async makeRequest(url, init) {
      const route = discordRoute(init.method ?? "GET", new URL(url).pathname, Date.now());
      if (route === null) return makeRequest(url, init);
      await discord.acquire(route, init.signal ?? undefined);
      const response = await makeRequest(url, init);
      const { status, headers } = response;
      let body = "";
      let broken = null;
      if (status === 429) {
        // The head counts also when the body breaks.
        body = await response.text().catch((error) => {
          broken = error;
          return "";
        });
      }
      await discord.learn(route, status, headers, body).catch(ignored);
      if (broken !== null) throw broken;
      return status === 429 ? again(response, body) : response;
    },
  };
}

/** Returns a response whose body was read, with that body. */
function again({ status, statusText, headers }, body) {
  const copy = new Response(body, { status, statusText });
  // They may be the class of another undici.
  for (const [name, value] of headers) copy.headers.append(name, value);
  return copy;
}

const digest = (text) => createHash("sha256").update(text).digest("hex");

/** Discord has got the request, which must not seem to have failed; the next response is learned instead. */
function ignored(error) {
  if (!(error instanceof PaddlegateError)) throw error;
}

module.exports = { limited };
