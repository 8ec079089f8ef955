// The types of paddlegate/nest.
import { Paddlegate, window } from "paddlegate";
import { Limited, LimitedGuard, PaddlegateModule } from "paddlegate/nest";

const store = new Paddlegate("memory://");
PaddlegateModule.forRoot({
  url: "redis://localhost",
  limits: {
    api: window(100, "minute"),
    both: { burst: window(10, 1), concurrency: 3 },
    mine: store.window("mine", 1, 1),
  },
  options: { onUnavailable: "fail_open" },
  guard: { fields: "x", trustedProxies: ["10.0.0.0/8"] },
});
PaddlegateModule.forRootAsync({ inject: ["url"], useFactory: async (url: string) => ({ url }) });
const _decorators = [
  Limited("api"),
  Limited("api", { key: (request) => request.user.id, cost: 5 }),
  Limited(store.window("x", 1, 1)),
  Limited(false),
];
const _guard: typeof LimitedGuard = LimitedGuard;

// @ts-expect-error There is no such option.
Limited("api", { max: 3 });
// @ts-expect-error There is no such option.
PaddlegateModule.forRoot({ redis: "x" });
