import type { RESTOptions } from "@discordjs/rest";
import type { OnUnavailable, Paddlegate } from "./index.js";

/** The limits of a bot. */
export interface LimitedOptions {
  /** The name of the bot's limits, the same in all its processes. Default `"discord"`. */
  readonly name?: string;
  /** The global limit of the bot, per second. Default 50. */
  readonly perSecond?: number;
  /**
   * The responses 401, 403 and 429 in ten minutes after which no process sends anything; Discord bans an address with
   * 10,000. Default 9500.
   */
  readonly invalidLimit?: number;
  /** How long a request waits for its turn at most, in milliseconds. Default a minute. */
  readonly waitTimeoutMs?: number;
  /** What happens when no store can be reached. Default: what the store does. */
  readonly onUnavailable?: OnUnavailable;
  /** What sends the requests. Default: as @discordjs/rest does. */
  readonly makeRequest?: RESTOptions["makeRequest"];
}

/**
 * Keeps a bot within Discord's limits, in all its processes: of each route, of the bot, of invalid requests. Returns options
 * of `REST`. Each request takes its turn before it is sent, and each response corrects the limits of all processes.
 *
 * A request that would have to wait for too long fails with `OverLimitError`. Throws `InvalidError`, argument `paddlegate` or
 * that of an option.
 *
 * ```js
 * import { REST } from "@discordjs/rest";
 * import { limited } from "paddlegate/discord";
 *
 * const rest = new REST(limited(pg)).setToken(token);
 * ```
 */
export declare function limited(
  paddlegate: Paddlegate,
  options?: LimitedOptions,
): Pick<RESTOptions, "makeRequest" | "timeout">;
