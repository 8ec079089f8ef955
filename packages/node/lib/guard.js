"use strict";

/**
 * What the adapters for web servers share: options, keys, answers, and the end of a permit. An adapter says only what a request
 * and an answer are in its server.
 */

const { createHash } = require("node:crypto");
const { STATUS_CODES } = require("node:http");
const { callNative } = require("./call-native.js");
const { waitTimeoutMs } = require("./native.js");
const { renewing } = require("./renewal.js");
const { numeric } = require("./request.js");
const { only } = require("./shared/arguments.js");
const { InvalidError, NAMES, OverLimitError, UnavailableError } = require("./shared/errors.js");
const { giveBack } = require("./waiting.js");
const { callerKey, plainKey } = require("./web.js");

const FUNCTIONS = ["overLimit", "skip", "refundIf"];
const OF_CALL = ["key", "cost", "priority", "share"];
const OPTIONS = [...OF_CALL, "wait", "fields", "status", "trustedProxies", ...FUNCTIONS];
const FIELDS = ["draft", "draft-6", "x", false];
/** The most bytes of a share. */
const MAX_SHARE = 128;
/** The answer to a client that has gone, which nobody reads. */
const GONE = Object.freeze({ status: 499, headers: {}, body: "" });

/** A limiter with the options of an adapter. */
class Guard {
  #limiter;
  #options;
  #callerOf;

  /** `callerOf` returns the address of a request and its field `X-Forwarded-For`; undefined where the server does not tell. */
  constructor(limiter, options, callerOf) {
    const { wait = 0, fields = "draft", status = 429, ...given } = only(OPTIONS, options);
    if (typeof limiter !== "function" && typeof limiter?.acquire !== "function") {
      const message = "must be a limiter, or a function that returns one for a request";
      throw new InvalidError("limiter", message);
    }
    if (!isAbsent(given.key) && typeof limiter !== "function" && !needsKey(limiter)) {
      throw new InvalidError("key", "is for a keyed limiter: give the limiter `keyed: true`");
    }
    if (!FIELDS.includes(fields)) {
      throw new InvalidError("fields", 'must be "draft", "draft-6", "x" or false');
    }
    if (!(Number.isInteger(status) && status >= 400 && status <= 599)) {
      throw new InvalidError("status", `must be from 400 to 599: status=${status}`);
    }
    for (const name of FUNCTIONS) {
      if (!isAbsent(given[name]) && typeof given[name] !== "function") {
        throw new InvalidError(name, "must be a function");
      }
    }
    callNative(() => waitTimeoutMs(numeric(wait)), { ...NAMES, wait_timeout: "wait" });
    // A wrong proxy is an error here, and not one of each request.
    callerKey("127.0.0.1", { trustedProxies: given.trustedProxies });
    this.#limiter = limiter;
    this.#options = { ...given, wait, fields, status };
    this.#callerOf = callerOf;
  }

  /**
   * Takes the turn of a request. Resolves with its `permit`, if it is limited, and the `headers` of its response; or with the
   * `answer` of a request that may not pass, without a body if `overLimit` has answered by itself.
   *
   * `life` is that of the response, `response` what `overLimit` gets.
   */
  async enter(request, life, response) {
    const { skip, wait, fields, refundIf } = this.#options;
    if (await skip?.(request)) return PASSED;
    const [limiter, ...values] = await Promise.all(
      [this.#limiter, ...OF_CALL.map((name) => this.#options[name])].map((it) =>
        typeof it === "function" ? it(request) : it,
      ),
    );
    const [given, cost, priority, share] = values;
    const isUnnamed = !isAbsent(this.#options.key) && isAbsent(given);
    if (isAbsent(limiter) || isUnnamed) return PASSED;
    const asked = { cost, priority, share: shareOf(share), waitTimeoutMs: wait };
    if (needsKey(limiter)) asked.key = this.#keyOf(request, given);
    // Only an estimate can be given back.
    if (refundIf && cost !== 0) Object.assign(asked, { cost: undefined, estimate: cost ?? 1 });
    const { signal } = life;
    try {
      const permit = await limiter.acquire({ ...asked, signal, limits: fields !== false });
      keep(permit, life, refundIf);
      return { permit, headers: fields === false ? {} : permit.decision.headers(fields) };
    } catch (error) {
      if (signal.aborted) return { answer: GONE };
      return { answer: await this.#answer(error, request, response) };
    }
  }

  #keyOf(request, given) {
    if (!isAbsent(given)) return plainKey(textOf(given));
    const caller = this.#callerOf(request);
    if (caller === undefined) {
      throw new InvalidError("key", "this server does not tell who calls: give a key");
    }
    const { address, forwardedFor } = caller;
    return callerKey(address, { forwardedFor, trustedProxies: this.#options.trustedProxies });
  }

  async #answer(error, request, response) {
    const { overLimit, fields, status } = this.#options;
    if (error instanceof UnavailableError) {
      return problem(503, {}, { code: "unavailable", detail: "the limits cannot be checked now" });
    }
    if (!(error instanceof OverLimitError)) throw error;
    const all = error.decision.headers(fields || "draft");
    const after = all["Retry-After"];
    const headers = fields ? all : after === undefined ? {} : { "Retry-After": after };
    if (overLimit) return answered(status, headers, await overLimit(request, error, response));
    const code = "over_limit";
    if (after === undefined) return problem(status, headers, { code, detail: "over the limit" });
    const detail = `over the limit; try again in ${after} s`;
    return problem(status, headers, { code, detail, retry_after: Number(after) });
  }
}

const PASSED = Object.freeze({ headers: {} });

const isAbsent = (value) => value === undefined || value === null;

/** Returns whether the calls of a limiter must name a key. */
const needsKey = ({ keyed, key }) => keyed === true && isAbsent(key);

/** A stranger may send a list or an object where a text was expected, as with `?key[]=`. */
function textOf(key) {
  if (typeof key !== "object") return String(key);
  return ArrayBuffer.isView(key) ? Buffer.from(key) : JSON.stringify(key);
}

function shareOf(share) {
  if (isAbsent(share)) return undefined;
  const text = plainKey(textOf(share));
  const isValid = Buffer.byteLength(text) <= MAX_SHARE && !/\p{Cc}/u.test(text);
  return isValid ? text : createHash("sha256").update(text).digest("hex");
}

/** Returns the answer of `overLimit`: a text, something for JSON, or what only the adapter knows, such as a `Response`. */
function answered(status, headers, body) {
  if (typeof body === "string") return typed(status, headers, "text/plain; charset=utf-8", body);
  if (body === undefined || typeof body?.arrayBuffer === "function")
    return { status, headers, body };
  return typed(status, headers, "application/json", JSON.stringify(body));
}

function problem(status, headers, more) {
  const body = JSON.stringify({ title: STATUS_CODES[status] ?? "Error", status, ...more });
  return typed(status, headers, "application/problem+json", body);
}

const typed = (status, headers, type, body) => ({
  status,
  headers: { ...headers, "Content-Type": type },
  body,
});

/** Keeps a permit while its response lives: renews its lease, and gives back what is due at the end. */
function keep(permit, { signal, status }, refundIf) {
  const stopRenewing = renewing(permit);
  const end = () => {
    stopRenewing();
    if (permit.fencingToken !== null) giveBack(() => permit.release());
    const sent = status();
    if (refundIf && sent !== undefined && permit.id !== null && refundIf(sent)) {
      giveBack(() => permit.correct(0));
    }
  };
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
}

/** Returns the caller of a request of `node:http`. */
const callerOf = ({ socket, headers }) => ({
  address: socket.remoteAddress,
  forwardedFor: headers["x-forwarded-for"],
});

module.exports = { Guard, callerOf };
