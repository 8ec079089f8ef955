import testing from "./testing.js";

export const { adapterKit, inMemory } = testing;
