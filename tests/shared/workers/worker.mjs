// The Node worker.

import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Paddlegate, PaddlegateError, TestClock } from "../../../packages/node/index.mjs";

const limiters = {};
let clock;
let store;

const verbs = {
  open({ url, timeout, now_us }) {
    clock = now_us === undefined ? undefined : new TestClock(now_us);
    store = new Paddlegate(url, { timeoutMs: timeout * 1000, clock });
  },
  set_clock({ now_us }) {
    clock.nowUs = now_us;
  },
  limiter({ as, name, limits }) {
    limiters[as] = store.limiter(name, limits);
  },
  try_acquire: async ({ on, ...request }) => shown(await limiters[on].tryAcquire(options(request))),
  peek: async ({ on, ...request }) => shown(await limiters[on].peek(options(request))),
  allow: ({ on, ...request }) => limiters[on].allow(options(request)),
  acquire: async ({ on, ...request }) =>
    shown((await limiters[on].acquire(options(request))).decision),
  correct: ({ on, permit, actual }) => limiters[on].correct(permit, actual),
  reset: ({ on }) => limiters[on].reset(),

  async hammer({ until, seed, loops, plan, path }) {
    const records = new Records(path);
    const loop = async (_, number) => {
      const dice = new Dice(seed * loops + number);
      while (Date.now() < until * 1000) {
        await call(dice, plan[dice.from(0, plan.length - 1)], records);
        // In memory every answer is there at once, and the other loops would never have a turn.
        await new Promise(setImmediate);
      }
    };
    await Promise.all(Array.from({ length: loops }, loop));
    return records.write();
  },
};

async function call(dice, entry, records) {
  const units = dice.from(1, entry.most);
  const limiter = limiters[entry.on];
  const request = { [entry.verb]: units };
  let decision;
  try {
    decision = await limiter.tryAcquire(request);
  } catch (error) {
    if (!(error instanceof PaddlegateError)) throw error;
    return records.error(error);
  }
  records.decision(entry.on, units, decision);
  if (decision.permit === null || dice.from(1, 10) === 1) return;
  for (let times = dice.from(1, 10) === 1 ? 2 : 1; times > 0; times--) {
    const actual = dice.from(0, Math.floor((units * 3) / 2));
    const after = await limiter.peek({ cost: 0 });
    const answer = await limiter.correct(decision.permit, actual);
    const before = await limiter.peek({ cost: 0 });
    records.settlement(entry.on, decision.permit, actual, answer, after, before);
  }
}

// The lines that a hammering worker writes at its end.
class Records {
  #path;
  #lines = [];
  #errors = {};
  #mayHaveCounted = 0;

  constructor(path) {
    this.#path = path;
  }

  decision(key, units, decision) {
    const { allowed, atUs: at, permit, reason, retryAfterUs: retry } = decision;
    if (allowed) {
      this.#add(key, "grant", { at, units, permit });
    } else {
      this.#add(key, "refusal", { at, units, retry, reason });
    }
  }

  settlement(key, permit, actual, answer, after, before) {
    const times = { after: after.atUs, before: before.atUs };
    this.#add(key, "settlement", { permit, actual, answer, ...times });
  }

  error({ name, mayHaveCounted }) {
    this.#errors[name] = (this.#errors[name] ?? 0) + 1;
    if (mayHaveCounted) this.#mayHaveCounted += 1;
  }

  write() {
    writeFileSync(this.#path, this.#lines.join(""));
    return { errors: this.#errors, may_have_counted: this.#mayHaveCounted };
  }

  #add(limiter, is, fields) {
    this.#lines.push(`${JSON.stringify({ limiter, is, ...fields })}\n`);
  }
}

// A generator with a seed, which Math.random() has not (mulberry32).
class Dice {
  #state;

  constructor(seed) {
    this.#state = seed;
  }

  from(least, most) {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return least + (((mixed ^ (mixed >>> 14)) >>> 0) % (most - least + 1));
  }
}

const shown = (decision) => ({
  allowed: decision.allowed,
  limit: decision.limit,
  remaining: decision.remaining,
  retry_us: decision.retryAfterUs,
  reset_us: decision.resetAfterUs,
  reason: decision.reason,
  at_us: decision.atUs,
  permit: decision.permit,
});

const failed = (error) => ({
  class: error.name,
  argument: error.argument ?? null,
  may_have_counted: error.mayHaveCounted ?? null,
});

const options = ({ cost, estimate, wait_timeout }) => ({
  cost,
  estimate,
  ...(wait_timeout !== undefined && { waitTimeoutMs: wait_timeout * 1000 }),
});

for await (const line of createInterface({ input: process.stdin })) {
  const { do: verb, ...given } = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await verbs[verb](given)) ?? null };
  } catch (error) {
    if (!(error instanceof PaddlegateError)) throw error;
    answer = { error: failed(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
