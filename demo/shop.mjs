// A small Shopify: POST /graphql has a budget in points, GET /orders one in requests. It knows nothing of Paddlegate.
import { createServer } from "node:http";

export const POINTS = { size: 1000, restorePerSecond: 100 };
export const REQUESTS = { size: 40, restorePerSecond: 20 };

/** The part of its budgets that earlier callers have left. */
export const LEFT = 0.5;

/** What is left of a budget; grows with time up to its size. */
class Budget {
  constructor({ size, restorePerSecond }) {
    Object.assign(this, { size, restorePerSecond });
  }

  begin() {
    this.left = this.size * LEFT;
    this.at = performance.now();
  }

  take(cost) {
    const now = performance.now();
    this.left = Math.min(this.size, this.left + ((now - this.at) / 1000) * this.restorePerSecond);
    this.at = now;
    if (cost > this.left) return false;
    this.left -= cost;
    return true;
  }

  giveBack(cost) {
    this.left = Math.min(this.size, this.left + cost);
  }
}

/** Starts a shop on a free port. */
export async function openShop() {
  const [points, requests] = [new Budget(POINTS), new Budget(REQUESTS)];
  const stats = {
    spent: 0,
    queries: 0,
    orders: 0,
    throttled: 0,
    openedAt: undefined,
    closedAt: undefined,
  };

  function graphql(query) {
    const first = Number(/products\(first: (\d+)\)/.exec(query)?.[1] ?? 1);
    const requested = 2 + first;
    const cost = (actual) => ({
      requestedQueryCost: requested,
      actualQueryCost: actual,
      throttleStatus: {
        maximumAvailable: points.size,
        currentlyAvailable: Math.floor(points.left),
        restoreRate: points.restorePerSecond,
      },
    });
    if (!points.take(requested)) {
      stats.throttled += 1;
      const errors = [{ message: "Throttled", extensions: { code: "THROTTLED" } }];
      return { errors, extensions: { cost: cost(null) } };
    }
    // Many searches find less than they ask for, and pay only for that.
    const found = Math.ceil(first * Math.random());
    points.giveBack(first - found);
    stats.queries += 1;
    stats.spent += 2 + found;
    return { data: { products: { count: found } }, extensions: { cost: cost(2 + found) } };
  }

  function orders(response) {
    if (requests.take(1)) {
      stats.orders += 1;
      return { orders: [] };
    }
    stats.throttled += 1;
    response.statusCode = 429;
    return { errors: "Exceeded the limit of requests" };
  }

  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    stats.closedAt = performance.now();
    const body =
      request.url === "/graphql"
        ? graphql(JSON.parse(Buffer.concat(chunks)).query)
        : orders(response);
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    stats,
    url: `http://127.0.0.1:${server.address().port}`,
    begin() {
      points.begin();
      requests.begin();
      stats.openedAt = performance.now();
    },
    close: () => server.close(),
  };
}
