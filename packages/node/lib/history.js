"use strict";

/** Reads the history of a limiter, which the addon's store holds for this ticket. Returns a frozen object. */
function history(_row, ticket, store) {
  const { minutes, hours } = store.history(ticket);
  return Object.freeze({ minutes: entries(minutes), hours: entries(hours) });
}

function entries(numbers) {
  const list = [];
  for (let i = 0; i < numbers.length; i += 5) {
    const [start, granted, refused, waited, units] = numbers.slice(i, i + 5);
    list.push(Object.freeze({ start, granted, refused, waited, units }));
  }
  return Object.freeze(list);
}

module.exports = { history };
