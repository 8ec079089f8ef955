// The types of paddlegate/express.
import express, { type Request } from "express";
import { Paddlegate } from "paddlegate";
import { rateLimit } from "paddlegate/express";

const pg = new Paddlegate("memory://");
const perUser = pg.window("user", 100, "minute", { keyed: true, onLimit: "ignore" });
const app = express();
app.use(rateLimit(perUser));
app.use(rateLimit(perUser, { key: (req) => req.headers["x-api-key"]?.toString() }));
app.use("/costly", rateLimit(perUser, { key: (req: Request) => req.get("x-api-key") }));
app.get(
  "/",
  rateLimit((req: Request) => (req.ip === "" ? undefined : perUser), { wait: 100 }),
);
app.get(
  "/all",
  rateLimit<Request, express.Response>(perUser, {
    cost: (req) => ({ tpm: req.get("x-tokens")?.length ?? 1 }),
    priority: 3,
    share: async (req) => req.hostname,
    fields: "x",
    status: 503,
    overLimit: (_req, error, res) => void res.render("slow", { after: error.retryAfterMs }),
    skip: (req) => req.path === "/health",
    refundIf: (status) => status >= 500,
    trustedProxies: ["10.0.0.0/8"],
  }),
  async (req) => void (await req.permit?.release()),
);

// @ts-expect-error A limiter is required.
rateLimit();
// @ts-expect-error There is no such option.
rateLimit(perUser, { max: 3 });
// @ts-expect-error There are no such fields.
rateLimit(perUser, { fields: "y" });
