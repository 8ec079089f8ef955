// Messages to a Discord channel: a limit per route that is learned from the headers, and one for the bot.
// Guide: docs/src/guides/discord.md
import { createServer } from "node:http";
import { Paddlegate } from "paddlegate";

// A Discord route with 2 messages in each second.
let [left, windowEnd, refusals] = [2, 0, 0];
const server = createServer((_request, response) => {
  const now = Date.now();
  if (now >= windowEnd) [left, windowEnd] = [2, now + 1000];
  const isRefused = left === 0;
  if (isRefused) refusals += 1;
  else left -= 1;
  const wait = (windowEnd - now) / 1000;
  response.writeHead(isRefused ? 429 : 200, {
    "X-RateLimit-Limit": "2",
    "X-RateLimit-Remaining": String(left),
    "X-RateLimit-Reset-After": wait.toFixed(3),
    "X-RateLimit-Bucket": "abcd1234",
    ...(isRefused && { "X-RateLimit-Scope": "user" }),
  });
  response.end(isRefused ? JSON.stringify({ retry_after: wait, global: false }) : "{}");
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}/channels/1/messages`;

const pg = new Paddlegate(); // PADDLEGATE_URL, or this process
const bot = pg.window("discord:bot", 50, "second");
const route = pg.bucket("discord:POST/channels/1/messages", 5, "second"); // 5 is a guess
const limits = pg.together([bot, route]);

async function send(content) {
  return await limits.withinLimit(async () => {
    const response = await fetch(url, { method: "POST", body: JSON.stringify({ content }) });
    const { status, headers } = response;
    const body = await response.text();
    const answer = await route.learnFromResponse(
      { status, headers, body },
      { provider: "discord" },
    );
    if (answer.scope === "global") await bot.pause({ forMs: answer.pauseMs });
    return status;
  });
}

const statuses = [];
for (let i = 0; i < 5; i++) statuses.push(await send(`message ${i}`));
console.log(statuses.join(" "));
console.log((await route.runtimeState()).learned.bucket.limit); // 2
console.log(refusals <= 1); // -> true

await pg.close();
server.closeAllConnections?.();
server.close();
