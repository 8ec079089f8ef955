"use strict";

const { createHash } = require("node:crypto");
const { DelayedError } = require("bullmq");
const { callNative } = require("./lib/call-native.js");
const {
  InvalidError,
  OverLimitError,
  PaddlegateError,
  UnavailableError,
} = require("./lib/shared/errors.js");
const { Waiter } = require("./lib/native.js");
const { renewing } = require("./lib/renewal.js");
const { numeric } = require("./lib/request.js");
const { only } = require("./lib/shared/arguments.js");
const { now } = require("./lib/timers.js");
const { ACQUIRE_JOB } = require("./lib/waiter.js");

/** The longest id of a job on a limiter, in bytes. */
const MAX_ID = 64;
/** How long a job waits in its worker for its turn. */
const PATIENCE_MS = 1_000;
/**
 * How late BullMQ gives a delayed job to a worker when workers are busy. So much earlier than its turn a job comes back, and
 * waits in its worker, because the limit would stand idle for it.
 */
const LATENESS_MS = 500;
/** When a job comes back for which no time is known. */
const UNKNOWN_MS = 5_000;

const REQUEST = ["key", "cost", "estimate", "settleWithinMs", "priority", "share", "weight"];
const OPTIONS = ["limiter", ...REQUEST, "claimTimeoutMs", "patienceMs"];

function limited(processor, options) {
  if (typeof processor !== "function") {
    throw new InvalidError("processor", "must be a function; a file cannot be limited");
  }
  const { limiter: of, claimTimeoutMs, patienceMs, ...asked } = only(OPTIONS, options);
  if (!(typeof of === "function" || typeof of?.[ACQUIRE_JOB] === "function")) {
    throw new InvalidError(
      "limiter",
      "must be a limiter, or a function that returns one for a job",
    );
  }
  const hasClaimTimeout = claimTimeoutMs !== undefined && claimTimeoutMs !== null;
  const how = {
    claimTimeoutMs: hasClaimTimeout ? numeric(claimTimeoutMs) : undefined,
    patienceMs: numeric(patienceMs ?? PATIENCE_MS),
  };
  // A wrong time is an error here, and not one of each job.
  callNative(() => Waiter.ofJob(how.claimTimeoutMs, how.patienceMs, now()));

  return async (job, token, signal) => {
    const value = (it) => (typeof it === "function" ? it(job) : it);
    const limiter = value(of);
    const request = Object.fromEntries(REQUEST.map((name) => [name, value(asked[name])]));
    // A job that started before without an end comes back for its turn, which may have moved meanwhile.
    const isBack = job.attemptsStarted > job.attemptsMade + 1;
    const patienceMs = Math.max(how.patienceMs, isBack ? 2 * LATENESS_MS : LATENESS_MS);
    const permit = await limiter[ACQUIRE_JOB](idOf(job), request, { ...how, patienceMs }).catch(
      (error) => putBack(job, token, error),
    );
    const stopRenewing = renewing(permit);
    try {
      return await processor(job, token, signal, permit);
    } finally {
      stopRenewing();
      await permit.release().catch(ignored);
    }
  };
}

/** Puts a job away until its turn; fails with the error of one that can never pass. */
async function putBack(job, token, error) {
  const isOver = error instanceof OverLimitError && error.reason !== "too_large";
  if (!(isOver || error instanceof UnavailableError)) throw error;
  await job.moveToDelayed(Date.now() + delayOf(error), token);
  throw new DelayedError(error.message);
}

/** Only a job with a ticket waits in its worker when it is early; others would be refused again. */
function delayOf({ decision, retryAfterMs = null }) {
  if (retryAfterMs === null) return UNKNOWN_MS;
  return decision.status === "queued" ? Math.max(retryAfterMs - LATENESS_MS, 0) : retryAfterMs;
}

/** The ids of two queues differ, also of one name under two prefixes, and a long one is shortened. */
function idOf({ queueQualifiedName, id }) {
  const text = `${queueQualifiedName}:${id}`;
  return Buffer.byteLength(text) > MAX_ID ? createHash("sha256").update(text).digest("hex") : text;
}

/** The lease expires then. */
function ignored(error) {
  if (!(error instanceof PaddlegateError)) throw error;
}

module.exports = { limited };
