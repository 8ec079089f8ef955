"use strict";

const { fork } = require("node:child_process");
const { once } = require("node:events");
const http = require("node:http");
const { join } = require("node:path");

/** How long a process may take that has nothing more to do. */
const ENDS_IN_MS = 10_000;

/** A process that serves a host, and does what the kit asks. */
class Process {
  #child;
  #asked = new Map();
  #questions = 0;
  #exited;
  #lost = null;

  /** `module` is the URL of the module that serves. A test clock is for tests alone, so the environment allows it. */
  constructor(module) {
    const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
    this.#child = fork(join(__dirname, "worker.js"), [module], {
      env: { ...environment, NODE_ENV: "test", PADDLEGATE_TEST_CLOCK: "1" },
    });
    this.#exited = once(this.#child, "exit").then(([code, signal]) => {
      const error = new Error(`the process of the host ended: code=${code} signal=${signal}`);
      this.#lost = error;
      for (const { reject } of this.#asked.values()) reject(error);
      return code ?? signal;
    });
    this.#child.on("message", ({ id, result, error }) => {
      const { resolve, reject } = this.#asked.get(id);
      this.#asked.delete(id);
      this.#hold();
      if (error === undefined) resolve(result);
      else reject(new Error(error));
    });
    this.#hold();
  }

  ask(command, given) {
    return new Promise((resolve, reject) => {
      if (this.#lost !== null) throw this.#lost;
      const id = this.#questions++;
      this.#asked.set(id, { resolve, reject });
      this.#hold();
      this.#child.send({ id, command, given });
    });
  }

  /** Ends the process, which nothing must keep alive: one that does not end is killed. Returns its exit code, or the signal. */
  async end() {
    await this.ask("end");
    this.#child.ref();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), ENDS_IN_MS);
    return this.#exited.finally(() => clearTimeout(timer));
  }

  /** Only a question keeps the process of the tests alive. */
  #hold() {
    const hold = this.#asked.size > 0 ? "ref" : "unref";
    this.#child[hold]();
    this.#child.channel?.[hold]();
  }
}

/** Sends a request, and resolves with its response when the head has come. */
function open(port, path = "/", { method = "GET", headers = {} } = {}) {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, method, headers, agent: false };
    http.request(options, resolve).on("error", reject).end();
  });
}

/** Sends a request, and resolves with status, fields and body. */
async function ask(port, path, options) {
  const response = await open(port, path, options);
  let body = "";
  for await (const part of response.setEncoding("utf8")) body += part;
  return { status: response.statusCode, headers: response.headers, body };
}

/** Sends a request, and returns a function that hangs up; the response comes to nobody. */
function leaving(port, path) {
  const request = http.get({ host: "127.0.0.1", port, path, agent: false });
  request.on("error", () => {});
  return () => request.destroy();
}

/** Waits until `isTrue` gives true. */
async function until(isTrue) {
  for (let tries = 0; !(await isTrue()); tries += 1) {
    if (tries === 2_000) throw new Error(`never came true: ${isTrue}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

module.exports = { Process, open, ask, leaving, until };
