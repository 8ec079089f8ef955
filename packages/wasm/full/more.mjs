// The additions of the full module: documents, jobs, responses of upstream APIs, the cost of queries and the simulator.
import { place, request } from "../arguments.mjs";
import { gateDecision, milliseconds, wholeMs } from "../dist/shared/answers.mjs";
import { bytes, callerArguments, flag, jobIds, only } from "../dist/shared/arguments.mjs";
import { jsonText, responseParts, variablesText } from "../dist/shared/response.mjs";
import { BodyUsage } from "../dist/shared/stream-usage.mjs";
import simulation from "./simulation.mjs";

// Adds methods to the classes; `inside` gives access to their private members.
export default function more(module, host, { Paddlegate, Limiter, Permit, inside, idOf }) {
  // The handling of refused work in the document of each limiter; the limiters of its keys share it.
  const onLimitByInner = new WeakMap();

  // More functions that WebAssembly calls, as in the host of the small module.
  host.admission = (action, afterUs, decision) => ({
    action,
    afterMs: wholeMs(milliseconds(afterUs)),
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
    gateDecision({
      allowed,
      delayMs: milliseconds(delayUs),
      slot,
      level,
      retryAfterMs: milliseconds(retryAfterUs),
      reason,
    });

  extend(Paddlegate, {
    load(document, options) {
      const { lockTimeoutMs, tenant, group } = only(["lockTimeoutMs", "tenant", "group"], options);
      const text = jsonText("document", document);
      const flat = inside.store(this).load(text, lockTimeoutMs, tenant, group);
      const limiters = Array.from({ length: flat.length / 3 }, (_, i) =>
        loaded(this, ...flat.slice(3 * i, 3 * i + 3)),
      );
      return new Map(limiters.map((limiter) => [limiter.name, limiter]));
    },

    conductorLimiter(definition, run, options) {
      const { lockTimeoutMs } = only(["lockTimeoutMs"], options);
      const texts = [jsonText("definition", definition), jsonText("run", run)];
      return loaded(this, ...inside.store(this).conductorLimiter(...texts, lockTimeoutMs));
    },

    invantiveGate(document) {
      return new Gate(inside.store(this).invantiveGate(jsonText("document", document)));
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
      const { status, headers, body } = responseParts(response);
      const own = permit === undefined || permit === null ? permit : idOf(permit);
      return inside.run(inside.with(this, key), (inner) =>
        inner.learnFromResponse(
          provider,
          maxPauseMs,
          defaultPauseMs,
          maxLearned,
          status,
          headers,
          body,
          own,
        ),
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
      const isPartial = flag("partial", partial, false);
      const limiter = inside.with(this, key);
      const ids = jobIds(jobs);
      const began = performance.now();
      const admissions = inside.run(limiter, (inner) =>
        inner.admitAll(ids, onLimit ?? this.onLimit ?? "wait", isPartial),
      );
      // Without `partial` every cost is a correctable estimate.
      return admissions.map(granted(limiter, began, !isPartial));
    },

    applyOjsOverride(document, options) {
      const text = jsonText("document", document);
      const limiter = inside.with(this, only(["key"], options).key);
      return inside.run(limiter, (inner) => inner.applyOjsOverride(text));
    },

    applyOjsSignal(document, options) {
      const text = jsonText("document", document);
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

  class StreamUsage extends BodyUsage {
    constructor() {
      super(new module.StreamUsage());
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

  return {
    Simulation: simulation(module, host),
    StreamUsage,
    limitersFromDocument: (text) => {
      if (typeof text !== "string")
        throw host.invalid("must be the text of a document", "document");
      const [format, ...policies] = module.policies(host, text);
      return { format, policies };
    },
    callerKey: (address, options) => {
      return module.callerKey(host, ...callerArguments(address, options));
    },
    plainKey: (text) => module.plainKey(bytes("text", text)),
    graphqlCost: (query, variables, options) => {
      const { rules, operation } = only(["rules", "operation"], options);
      return module.graphqlCost(host, query, variablesText(variables), rules, operation);
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
