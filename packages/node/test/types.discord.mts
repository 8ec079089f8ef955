// The types of paddlegate/discord.
import { DefaultRestOptions, REST } from "@discordjs/rest";
import { Paddlegate } from "paddlegate";
import { limited } from "paddlegate/discord";

const pg = new Paddlegate("memory://");
new REST({ version: "10", ...limited(pg) });
new REST(limited(pg, { name: "bot", perSecond: 100, invalidLimit: 9_000, waitTimeoutMs: 0 }));
new REST(limited(pg, { onUnavailable: "fail_open", makeRequest: DefaultRestOptions.makeRequest }));

// @ts-expect-error A store is required.
limited("redis://localhost");
// @ts-expect-error There is no such option.
limited(pg, { token: "x" });
// @ts-expect-error The makeRequest of REST.
limited(pg, { makeRequest: async () => 1 });
