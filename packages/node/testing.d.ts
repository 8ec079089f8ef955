import type { Readable } from "node:stream";
import type { Limiter, TestClock } from "./index.js";

/** One case of the adapter kit. */
export interface AdapterCase {
  readonly name: string;
  /** Rejects when the adapter does not pass. */
  run(): Promise<void>;
}

/** The servers of the adapter kit. */
export interface AdapterKitOptions {
  /** The URL of a Redis that two processes share. Default: the cases run in memory alone. */
  readonly url?: string;
}

/** What a module gets to serve. */
export interface Served {
  /** The limiter, or a function that returns one for a request, as the adapter takes them. */
  // biome-ignore lint/suspicious/noExplicitAny: the request is that of the host
  readonly limiter: Limiter | ((request: any) => Limiter | undefined);
  /** The options of the adapter. */
  readonly options: Record<string, unknown>;
  /** Returns a body that has begun, and ends when the kit says so. */
  stream(): Readable;
}

/** What the module of a host exports. */
export interface AdapterModule {
  /**
   * Starts the host on a free port of 127.0.0.1, with all of its routes limited: `/` answers `ok`, `/missing` has the status 404,
   * `/fails` fails with an error that the host answers with 500, and `/stream` has `stream()` as its body.
   */
  serve(served: Served): Server | Promise<Server>;
  /** Returns a field of a request. */
  // biome-ignore lint/suspicious/noExplicitAny: the request is that of the host
  header(request: any, name: string): string | string[] | undefined;
}

/** A server of `node:http`. */
export interface Server {
  readonly listening: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: as Node has it
  once(event: "listening", listener: () => void): any;
  address(): { readonly port: number } | string | null;
  close(closed: () => void): unknown;
  closeAllConnections?(): void;
}

/**
 * Returns the cases that an adapter for a web server must pass, for any runner of tests: how many pass, keys, fields, ends of
 * leases, waits, shadow, an absent Redis, and that nothing is left. They run one after the other and in this order; the server
 * runs in processes of its own. `module` is the file or the URL of an `AdapterModule`.
 *
 * ```js
 * import test from "node:test";
 * import { adapterKit } from "paddlegate/testing";
 *
 * for (const { name, run } of adapterKit(new URL("koa.mjs", import.meta.url))) test(name, run);
 * ```
 */
export declare function adapterKit(
  module: string | URL,
  options?: AdapterKitOptions,
): AdapterCase[];

/** Options of stores in memory. */
export interface InMemoryOptions {
  /** Where the clock begins, in microseconds since 1970. Default 0. */
  readonly nowUs?: number;
}

/** Stores in memory. */
export interface InMemory {
  /** The clock of all stores that have none of their own. */
  readonly clock: TestClock;
  /**
   * Empties all stores, and sets the clock back. Their limiters stay; permits and waits of before are void. Gates of `invantiveGate`
   * are not emptied.
   */
  reset(): void;
  /** Lets stores be opened as ever. Those in memory stay. */
  restore(): void;
}

/**
 * Opens every store from now on in memory, whatever its URL, and with a clock that moves only when a test moves it. A store has
 * limits of its own, even if another one has the same URL. Throws `InvalidError`, argument `inMemory`, before a `restore`.
 *
 * ```js
 * import { afterAll, beforeEach } from "vitest";
 * import { inMemory } from "paddlegate/testing";
 *
 * const { clock, reset, restore } = inMemory();
 * beforeEach(reset);
 * afterAll(restore);
 * ```
 */
export declare function inMemory(options?: InMemoryOptions): InMemory;
