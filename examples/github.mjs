// Requests to GitHub under the hourly budget that GitHub reports, and a pause after a secondary limit.
// Guide: docs/src/guides/github.md
import { createServer } from "node:http";
import { Paddlegate } from "paddlegate";

// A GitHub that refuses the third request by a secondary limit.
let asked = 0;
const reset = Math.ceil(Date.now() / 1000) + 1800;
const server = createServer((_request, response) => {
  asked += 1;
  const isRefused = asked === 3;
  response.writeHead(isRefused ? 403 : 200, {
    "X-GitHub-Request-Id": "1",
    "X-RateLimit-Limit": "5000",
    "X-RateLimit-Remaining": String(100 - asked),
    "X-RateLimit-Reset": String(reset),
    "X-RateLimit-Resource": "core",
    ...(isRefused && { "Retry-After": "1" }),
  });
  response.end("{}");
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}/user/repos`;

const pg = new Paddlegate(); // PADDLEGATE_URL, or this process
const github = pg.limiter("github:installation-42", { concurrency: 50, bucket: [5000, "hour"] });

async function get() {
  return await github.withinLimit(async () => {
    const response = await fetch(url);
    const { status, headers } = response;
    const body = await response.text();
    const { learned } = await github.learnFromResponse(
      { status, headers, body },
      { provider: "github" },
    );
    return { status, learned: learned.join(" ") };
  });
}

console.log((await get()).status); // 200
console.log((await github.peek()).remaining <= 99); // -> true
await get();
const began = Date.now();
const refused = await get();
console.log(refused.status, refused.learned.includes("pause")); // -> 403 true
console.log((await get()).status); // 200
console.log(Date.now() - began >= 900); // -> true

await pg.close();
server.closeAllConnections?.();
server.close();
