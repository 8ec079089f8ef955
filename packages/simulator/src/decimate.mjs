// Selects the decisions to draw: a bounded number per pixel, so that a million decisions are drawn quickly.

/** Returns the first row at or after a time. */
export function rowAt(at, time) {
  let low = 0;
  let high = at.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the first row after a time. */
export function rowAfter(at, time) {
  let low = 0;
  let high = at.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns the rows between two times that preserve the shape of the lines: of each of `bins` slices the
 * first, the last, and the highest and lowest of each line, and one more row on either side. Returns all
 * rows if there are few.
 */
export function rowsOfLines(at, lines, from, to, bins) {
  const first = Math.max(0, rowAt(at, from) - 1);
  const last = Math.min(at.length, rowAfter(at, to) + 1);
  if (last - first <= bins * 2)
    return Uint32Array.from({ length: last - first }, (_, i) => first + i);
  const kept = [];
  const width = (to - from) / bins || 1;
  const marks = new Set();
  for (let row = first; row < last; ) {
    const end = Math.min(
      last,
      Math.max(row + 1, rowAt(at, from + (Math.floor((at[row] - from) / width) + 1) * width)),
    );
    marks.clear();
    marks.add(row).add(end - 1);
    for (const line of lines) {
      let low = row;
      let high = row;
      for (let i = row + 1; i < end; i++) {
        if (line[i] < line[low]) low = i;
        if (line[i] > line[high]) high = i;
      }
      marks.add(low).add(high);
    }
    kept.push(...[...marks].sort((a, b) => a - b));
    row = end;
  }
  return Uint32Array.from(kept);
}

/** Returns the row nearest to a time; -1 if there are none. */
export function nearest(at, ms) {
  const after = rowAt(at, ms);
  if (after === 0) return at.length === 0 ? -1 : 0;
  if (after === at.length) return after - 1;
  return ms - at[after - 1] <= at[after] - ms ? after - 1 : after;
}
