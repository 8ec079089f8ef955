// A bot of @discordjs/rest in a process of its own; it prints how its requests ended. Twin of discord_app.py.
import { REST } from "@discordjs/rest";
import { limited } from "../discord.mjs";
import { OverLimitError, Paddlegate } from "../index.mjs";

const given = JSON.parse(process.argv[2]);
const pg = new Paddlegate(given.url, { timeoutMs: 20_000 });
const options = limited(pg, { name: given.name, ...given.options });
const rest = new REST({ api: `http://127.0.0.1:${given.port}/api`, retries: 0, ...options });
rest.setToken("a.token.of-a-bot");

const ends = {};
const count = (end) => {
  ends[end] = (ends[end] ?? 0) + 1;
};
const send = (channel, number) =>
  rest.post(`/channels/${channel}/messages`, { body: { content: `message ${number}` } }).then(
    () => count("sent"),
    (error) => {
      if (error instanceof OverLimitError) count("held");
      else if (error.status) count(String(error.status));
      else throw error;
    },
  );
const sending = [];
for (const channel of given.channels) {
  for (let i = 0; i < given.messages; i += 1) sending.push(send(channel, i));
  for (let i = 0; i < (given.typing ?? 0); i += 1) {
    sending.push(rest.post(`/channels/${channel}/typing`).then(() => count("typed")));
  }
}
await Promise.all(sending);
await pg.close();
console.log(JSON.stringify(ends));
