// The additions of the full module: documents, jobs, responses of upstream APIs, the cost of queries and the simulator.
// The build also converts this file to CommonJS: keep the imports and the export at the start of their lines.
import { flag, InvalidError, only, place, request, wholeMilliseconds } from "../arguments.mjs";
import simulation from "./simulation.mjs";

// Adds methods to the classes; `inside` gives access to their private members.
export default function more(module, host, { Paddlegate, Limiter, Permit, inside, idOf }) {
  // The handling of refused work in the document of each limiter; those of its keys have the same one.
  const onLimitByInner = new WeakMap();

  // More functions that WebAssembly calls, as in the host of the small module.
  host.admission = (action, afterUs, decision) => ({
    action,
    afterMs: wholeMilliseconds(afterUs),
    decision,
  });
  host.policy = (name, limits, waitTimeout, onLimit) => ({
    name,
    limits,
    waitTimeout: waitTimeout ?? null,
    onLimit,
  });
  // Without the members that a kind does not have.
  host.policyLimit = (kind, label, interval, limit, offset, refund, per, timezone, starts) => ({
    kind,
    label,
    ...(interval !== undefined && { interval }),
    ...(limit !== undefined && { limit }),
    ...(offset !== undefined && { offset }),
    ...(refund !== undefined && { refund }),
    ...(per !== undefined && { per, timezone, starts }),
  });
  host.gateDecision = (allowed, delayUs, slot, level, retryAfterUs, reason) =>
    Object.freeze({
      allowed,
      delayMs: wholeMilliseconds(delayUs),
      slot: slot ?? null,
      level: level ?? null,
      retryAfterMs: wholeMilliseconds(retryAfterUs),
      reason: reason ?? null,
    });

  extend(Paddlegate, {
    load(document, options) {
      const { lockTimeoutMs, tenant, group } = only(["lockTimeoutMs", "tenant", "group"], options);
      const text = written("document", document);
      const flat = inside.store(this).load(text, lockTimeoutMs, tenant, group);
      const limiters = Array.from({ length: flat.length / 3 }, (_, i) =>
        loaded(this, ...flat.slice(3 * i, 3 * i + 3)),
      );
      return new Map(limiters.map((limiter) => [limiter.name, limiter]));
    },

    conductorLimiter(definition, run, options) {
      const { lockTimeoutMs } = only(["lockTimeoutMs"], options);
      const texts = [written("definition", definition), written("run", run)];
      return loaded(this, ...inside.store(this).conductorLimiter(...texts, lockTimeoutMs));
    },

    invantiveGate(document) {
      return new Gate(inside.store(this).invantiveGate(written("document", document)));
    },
  });

  extend(Limiter, {
    get onLimit() {
      return onLimitByInner.get(inside.inner(this)) ?? null;
    },

    learnFromResponse(response, options) {
      const { provider, maxPauseMs, defaultPauseMs, maxLearned, permit, key } = only(
        ["provider", "maxPauseMs", "defaultPauseMs", "maxLearned", "permit", "key"],
        options,
      );
      if (typeof response !== "object" || response === null) {
        throw new InvalidError("must be an object such as { status, headers, body }", "response");
      }
      // Responses of Node's own client have `statusCode`.
      const status = response.status ?? response.statusCode;
      const answer = [status, pairs(response.headers), textOf(response.body)];
      const own = permit === undefined || permit === null ? permit : idOf(permit);
      return inside.run(inside.with(this, key), (inner) =>
        inner.learnFromResponse(provider, maxPauseMs, defaultPauseMs, maxLearned, ...answer, own),
      );
    },

    admit(job, options) {
      const { onLimit, claimTimeoutMs, key, ...asked } = only(ADMISSION, options);
      const limiter = inside.with(this, key);
      const units = request(asked);
      const began = performance.now();
      const admission = inside.run(limiter, (inner) =>
        inner.admit(job, ...units, place(asked), onLimit ?? this.onLimit ?? "wait", claimTimeoutMs),
      );
      return granted(limiter, began, (asked.estimate ?? null) !== null)(admission);
    },

    admitAll(jobs, options) {
      const { onLimit, partial, key } = only(["onLimit", "partial", "key"], options);
      if (!Array.isArray(jobs)) throw new InvalidError("must be a list of ids", "jobs");
      const isPartial = flag("partial", partial, false);
      const limiter = inside.with(this, key);
      const ids = [...jobs];
      const began = performance.now();
      const admissions = inside.run(limiter, (inner) =>
        inner.admitAll(ids, onLimit ?? this.onLimit ?? "wait", isPartial),
      );
      // Without `partial` every cost is a correctable estimate.
      return admissions.map(granted(limiter, began, !isPartial));
    },

    applyOjsOverride(document, options) {
      const text = written("document", document);
      const limiter = inside.with(this, only(["key"], options).key);
      return inside.run(limiter, (inner) => inner.applyOjsOverride(text));
    },

    applyOjsSignal(document, options) {
      const text = written("document", document);
      const limiter = inside.with(this, only(["key"], options).key);
      return inside.run(limiter, (inner) => inner.applyOjsSignal(text));
    },
  });

  extend(Permit, {
    learnFromResponse(response, options) {
      const bounds = only(["provider", "maxPauseMs", "defaultPauseMs", "maxLearned"], options);
      return inside.limiterOf(this).learnFromResponse(response, { ...bounds, permit: this.id });
    },
  });

  // Finds the usage in a body that is read in chunks.
  class StreamUsage {
    #inner = new module.StreamUsage();

    feed(chunk) {
      this.#inner.feed(bytesOf(chunk));
    }

    get body() {
      return this.#inner.body();
    }

    get ignored() {
      return this.#inner.ignored();
    }
  }

  // Selects the slot of a document that limits a request, and counts the request there.
  class Gate {
    #inner;

    constructor(inner) {
      this.#inner = inner;
    }

    admit(attributes) {
      const known = only(ATTRIBUTES, attributes);
      return this.#inner.admit(ATTRIBUTES.map((name) => known[name]));
    }
  }

  function loaded(pg, inner, waitTimeoutMs, onLimit) {
    const limiter = inside.limiter(
      pg,
      inner,
      waitTimeoutMs,
      onLimit === "ignore" ? onLimit : "raise",
    );
    onLimitByInner.set(inner, onLimit);
    return limiter;
  }

  // Returns a function that completes an admission of `limiter` with the permit of a job that runs.
  function granted(limiter, began, isEstimated) {
    return ({ decision, ...admission }) => {
      const permit = decision.allowed ? new Permit(limiter, decision, began, isEstimated) : null;
      return Object.freeze({ ...admission, decision, permit });
    };
  }

  // Returns names and values alternately, from `Headers`, a `Map`, a list of pairs or a plain object. A value may be a
  // list.
  function pairs(headers) {
    if (headers === undefined || headers === null) return [];
    const isObject = typeof headers === "object";
    const isIterable = isObject && typeof headers[Symbol.iterator] === "function";
    const list = isIterable ? [...headers] : Object.entries(headers);
    if (!isObject || !list.every((pair) => Array.isArray(pair) && pair.length === 2)) {
      throw new InvalidError("must be Headers, an object, a Map or a list of pairs", "headers");
    }
    const single = list.flatMap(([name, values]) => [values].flat().map((value) => [name, value]));
    const sent = single.filter(([, value]) => value !== undefined && value !== null);
    return sent.flat().map(String);
  }

  // Returns the text of a body; empty for a stream, which cannot be read here.
  function textOf(body) {
    if (body === undefined || body === null) return "";
    if (body instanceof StreamUsage) return body.body;
    if (ArrayBuffer.isView(body) || body instanceof ArrayBuffer) {
      return new TextDecoder().decode(body);
    }
    const isStream = typeof body.getReader === "function" || typeof body.pipe === "function";
    return isStream ? "" : written("body", body);
  }

  function bytesOf(chunk) {
    if (typeof chunk === "string") return new TextEncoder().encode(chunk);
    if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
    if (!ArrayBuffer.isView(chunk)) throw new InvalidError("must be bytes or text", "chunk");
    return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }

  // Returns a text as it is and an object as JSON.
  function written(argument, value) {
    if (typeof value === "string") return value;
    if (typeof value === "object" && value !== null) {
      try {
        const text = JSON.stringify(value);
        if (text !== undefined) return text;
      } catch {
        // The value has a circular reference or a bigint.
      }
    }
    throw new InvalidError("must be a text or an object that JSON can hold", argument);
  }

  return {
    Simulation: simulation(module, host),
    StreamUsage,
    limitersFromDocument: (text) => {
      if (typeof text !== "string")
        throw host.invalid("must be the text of a document", "document");
      const [format, ...policies] = module.policies(host, text);
      return { format, policies };
    },
    graphqlCost: (query, variables, options) => {
      const { rules, operation } = only(["rules", "operation"], options);
      const known = (variables ?? null) === null ? "" : written("variables", variables);
      return module.graphqlCost(host, query, known, rules, operation);
    },
  };
}

const ADMISSION = [
  "onLimit",
  "claimTimeoutMs",
  "cost",
  "estimate",
  "settleWithinMs",
  "priority",
  "share",
  "weight",
  "key",
];

// In the order in which the WebAssembly function reads them.
const ATTRIBUTES = ["context", "url", "logOnCode", "dataContainerId", "ip"];

// Adds methods that are not enumerable, like those of a class.
function extend(type, methods) {
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(methods))) {
    Object.defineProperty(type.prototype, name, { ...property, enumerable: false });
  }
}
