// The scenarios of the page: each with two sentences and the moment at which it opens.

const S = 1000;
const DAY = 86_400 * S;

/** `{ name, text, at, moment }`: the moment is `[from, to]` in ms, and `at` its name on a button. */
export const PRESETS = {
  "boundary-burst": {
    name: "The boundary burst of fixed windows",
    text: "A bucket counts each minute by itself: 100 calls at 59 s and 100 at 61 s are 200 within two seconds, and both minutes keep their limit of 100. A window counts the last 60 seconds at every moment, so it refuses the second hundred.",
    at: "59 to 61 s: 200 pass a limit of 100",
    moment: [56 * S, 64 * S],
  },
  "shopify-points": {
    name: "Shopify: points that are given back",
    text: "Each query asks for an estimate of 100 to 252 points and costs 5 to 60 in the end. With corrections the bucket gets the difference back at once; without them it is empty from the first minute on, and calls wait for points that nobody used.",
    at: "The first minute",
    moment: [0, 60 * S],
  },
  "github-requests": {
    name: "GitHub: an hour and a minute",
    text: "GitHub allows 5,000 requests an hour, and besides 900 points a minute. A client that counts the hour only sends 2,000 requests at once and is throttled again and again; one that counts both sends each request once.",
    at: "The first minutes",
    moment: [0, 180 * S],
  },
  "openai-tokens": {
    name: "OpenAI: requests and tokens",
    text: "The limit of 500 requests a minute is never reached, but 30,000 tokens a minute are. A client that counts requests only is throttled; one that counts both waits until the tokens are there.",
    at: "When the tokens run out",
    moment: [0, 120 * S],
  },
  "discord-messages": {
    name: "Discord: 50 requests a second",
    text: "Discord counts 50 requests in each of its seconds, and your seconds begin at another moment. A bucket sends up to 50 as soon as its own second begins; a throttle sends one every 20 ms, which fits into every second.",
    at: "The first seconds",
    moment: [0, 5 * S],
  },
  "fair-tenants": {
    name: "Fair tenants",
    text: "Acme sends 60 calls every 20 seconds, and Globex one every five. With one limit for all, Acme takes every call of a minute and Globex is refused; with a limit for each tenant, every call of Globex passes.",
    at: "The first two minutes",
    moment: [0, 130 * S],
  },
  "monthly-quota": {
    name: "A monthly quota",
    text: "A plan has 1,000 calls a month, and a program makes 50 a day: on the 21st nothing is left for the rest of the month. With 32 calls a day beside it, every day has its calls.",
    at: "Days 18 to 24",
    moment: [17 * DAY, 24 * DAY],
  },
  "ten-thousand-jobs": {
    name: "10,000 jobs at 10 per minute",
    text: "Ten thousand jobs come at once for a limit of ten a minute. Retries with a linear backoff give up or ask a hundred thousand times; tickets let each job return when its turn has come.",
    at: "The first hour",
    moment: [0, 3600 * S],
  },
  "three-workers": {
    name: "Three workers, a concurrency limit, a crash",
    text: "Three workers share two slots, and one of them crashes at 20 s with a slot in its hand. The slot comes back when its lease ends: after 30 s, or after 5 s with shorter leases.",
    at: "The crash at 20 s",
    moment: [15 * S, 60 * S],
  },
};

export async function loadPreset(name) {
  const response = await fetch(new URL(`../scenarios/${name}.json`, import.meta.url));
  if (!response.ok) throw new Error(`the scenario ${name} cannot be loaded: ${response.status}`);
  return response.json();
}
