// An adapter by hand, for a server of node:http: what a request takes, what it is answered, and when its lease ends. The
// adapter kit sends it real requests.
//
// Guide: docs/src/guides/adapter-kit.md

import { createServer } from "node:http";
import { callerKey, OverLimitError, plainKey, UnavailableError } from "paddlegate";
import { adapterKit } from "paddlegate/testing";

function limited(chosen, options, handler) {
  const { key, cost, skip, overLimit, refundIf, trustedProxies } = options;
  const { wait = 0, fields = "draft", status = 429 } = options;

  async function acquire(request, signal) {
    const limiter = typeof chosen === "function" ? chosen(request) : chosen;
    const asked = { signal, waitTimeoutMs: wait, limits: fields !== false };
    if (skip?.(request) || limiter === undefined) return null;
    if (key !== undefined) {
      const given = key(request);
      if (given === undefined) return null;
      asked.key = plainKey(given);
    } else if (limiter.keyed) {
      const forwardedFor = request.headers["x-forwarded-for"];
      asked.key = callerKey(request.socket.remoteAddress, { forwardedFor, trustedProxies });
    }
    // Only an estimate can be given back.
    asked[refundIf ? "estimate" : "cost"] = cost?.(request) ?? 1;
    return limiter.acquire(asked);
  }

  return async (request, response) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    let permit;
    try {
      permit = await acquire(request, gone.signal);
    } catch (error) {
      if (gone.signal.aborted) return undefined;
      const isOver = error instanceof OverLimitError;
      if (!isOver && !(error instanceof UnavailableError)) return response.writeHead(500).end();
      const headers = isOver ? error.decision.headers(fields || "draft") : {};
      const seconds = headers["Retry-After"];
      const kept = fields || seconds === undefined ? headers : { "Retry-After": seconds };
      const code = isOver ? status : 503;
      const problem = { title: error.name, status: code, retry_after: Number(seconds ?? 0) };
      const body = isOver && overLimit ? overLimit(request, error) : problem;
      const type = body === problem ? "application/problem+json" : "application/json";
      return response.writeHead(code, { ...kept, "Content-Type": type }).end(JSON.stringify(body));
    }
    if (permit === null) return handler(request, response);
    if (fields)
      for (const it of Object.entries(permit.decision.headers(fields))) response.setHeader(...it);
    const renewing = setInterval(
      () => permit.renew().catch(() => {}),
      (permit.expiresInMs ?? 6e4) / 2,
    );
    response.once("close", () => {
      clearInterval(renewing);
      if (refundIf?.(response.statusCode)) permit.correct(0).catch(() => {});
      permit.release().catch(() => {});
    });
    return handler(request, response);
  };
}

export function serve({ limiter, options, stream }) {
  const routes = {
    "/": (response) => response.end("ok"),
    "/missing": (response) => response.writeHead(404).end(),
    "/fails": (response) => response.writeHead(500).end(),
    "/stream": (response) => stream().pipe(response),
  };
  const handler = (request, response) => routes[request.url](response);
  return createServer(limited(limiter, options, handler)).listen(0, "127.0.0.1");
}

export const header = (request, name) => request.headers[name];

// In the processes of the kit nothing but the server runs.
if (process.send === undefined) {
  for (const { name, run } of adapterKit(import.meta.url, { url: process.env.PADDLEGATE_URL })) {
    await run();
    console.log(`passed: ${name}`);
  }
}
