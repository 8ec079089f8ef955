import nest from "./nest.js";

export const { PaddlegateModule, Limited, LimitedGuard } = nest;
