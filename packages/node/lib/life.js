"use strict";

/**
 * How long responses live. Of each life `signal` aborts when the response has ended or its client has gone, and `status()` is
 * its status, undefined before there is one.
 */

/** A reason that is made once: one of its own for each request would take a stack trace. */
const ENDED = new Error("the response has ended");

/** Returns the life of a response of `node:http` and `node:http2`. */
function lifeOf(response) {
  const ended = new AbortController();
  const end = () => ended.abort(ENDED);
  if (response.writableEnded || response.destroyed) end();
  else response.once("finish", end).once("close", end);
  const status = () => (response.headersSent ? response.statusCode : undefined);
  return { signal: ended.signal, status };
}

/** The life of a response that is only known as an object: until its body has been read, or nobody can read it any more. */
class WebLife {
  #ended = new AbortController();
  #method;
  #status;
  signal = this.#ended.signal;
  status = () => this.#status;
  end = () => this.#ended.abort(ENDED);

  constructor({ method, signal }) {
    this.#method = method;
    if (signal?.aborted) this.end();
    else signal?.addEventListener("abort", this.end, { once: true });
  }

  /** Returns the response, with a body that is followed to its end where a lease lasts until then. */
  follow(response, permit) {
    this.#status = response.status;
    const isHeld = (permit?.expiresInMs ?? null) !== null;
    if (!isHeld || response.body === null || this.#method === "HEAD") {
      this.end();
      return response;
    }
    const reader = response.body.getReader();
    const { end } = this;
    const pull = async (controller) => {
      const { done, value } = await reader.read().catch((error) => {
        end();
        throw error;
      });
      if (!done) return controller.enqueue(value);
      end();
      controller.close();
    };
    const cancel = (reason) => {
      end();
      return reader.cancel(reason);
    };
    const body = new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
    dropped.register(body, end);
    return new Response(body, response);
  }
}

/** Ends the life of a body that was dropped unread, as by a middleware that answers 304. */
const dropped = new FinalizationRegistry((end) => end());

module.exports = { lifeOf, WebLife };
