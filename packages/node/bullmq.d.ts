import type { Job } from "bullmq";
import type { Cost, Limiter, Permit } from "./index.js";

/** A value, or a function that returns it for a job. */
export type Of<J, T> = T | ((job: J) => T);

/** The limit of a processor. */
export interface LimitedOptions<J extends Job = Job> {
  /** The limiter, or one of several that decide together. */
  readonly limiter: Of<J, Limiter>;
  /** The key of a keyed limiter. */
  readonly key?: Of<J, string>;
  /** The units that a job takes, as in `acquire`. Default 1. */
  readonly cost?: Of<J, Cost>;
  /** The estimated units, corrected by the permit. */
  readonly estimate?: Of<J, Cost>;
  /** How long the estimate can be corrected, in milliseconds, from 5 minutes (default) to 7 days. */
  readonly settleWithinMs?: number;
  /** The priority in the queue of the limiter, from 0 (default) to 9, the highest first. BullMQ has its own. */
  readonly priority?: Of<J, number>;
  /** The share that the job counts for, such as a tenant: shares of one priority take turns. */
  readonly share?: Of<J, string>;
  /** How much the share gets, from 1 (default) to 1000. */
  readonly weight?: Of<J, number>;
  /** How late a job may be for its turn before others pass it by. Default 5000; its place is kept for a minute more. */
  readonly claimTimeoutMs?: number;
  /**
   * A job whose turn comes within this many milliseconds waits in its worker. Default 1000, and not less than 500, or 1000 for a
   * job that was delayed: BullMQ gives it back up to half a second late, so it comes back that much earlier.
   */
  readonly patienceMs?: number;
}

/**
 * Keeps a processor of BullMQ 5 or 6 within a limit. A job over its limit is delayed until its turn, with its place in the queue
 * of the limiter kept and its attempts untouched. With a concurrency limit the job holds a lease, which is renewed while it
 * runs and released when it ends, however it ends.
 *
 * When Redis is away, `onUnavailable` of the limiter decides; with `"raise"` the job is delayed by 5 seconds, as is one whose
 * limiter is paused without an end. A cost that can never pass fails the job. Throws `InvalidError`, argument `processor`,
 * `limiter`, `claimTimeoutMs` or `patienceMs`.
 *
 * ```js
 * import { Worker } from "bullmq";
 * import { limited } from "paddlegate/bullmq";
 *
 * const sync = limited(async (job) => syncAccount(job.data.account), { limiter: erp, share: (job) => job.data.tenant });
 * new Worker("sync", sync, { connection });
 * ```
 */
export declare function limited<J extends Job, R>(
  processor: (
    job: J,
    token: string | undefined,
    signal: AbortSignal | undefined,
    permit: Permit,
  ) => Promise<R>,
  options: LimitedOptions<J>,
): (job: J, token?: string, signal?: AbortSignal) => Promise<R>;
