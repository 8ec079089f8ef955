// Live numbers: in the list over server-sent events, on the page of a limiter by reading it again. Without this script a page
// shows those of its loading.
const table = document.querySelector("table[data-live]");
if (table) {
  const rows = new Map(
    [...table.querySelectorAll("[data-row]")].map((row) => [row.dataset.row, row]),
  );
  const source = new EventSource(table.dataset.live);
  source.addEventListener("rows", (event) => {
    for (const row of JSON.parse(event.data)) {
      const shown = rows.get(row.id);
      if (!shown) continue;
      for (const cell of shown.querySelectorAll("[data-cell]")) {
        const text = String(row[cell.dataset.cell]);
        if (cell.textContent !== text) cell.textContent = text;
      }
      shown.dataset.mark = row.mark;
      const bar = shown.querySelector("progress");
      if (bar && row.limit > 0) {
        bar.max = row.limit;
        bar.value = row.taken;
      }
    }
    table.dataset.updates = String(Number(table.dataset.updates ?? 0) + 1);
  });
  source.addEventListener("ordered", () => {
    // Whoever types a prefix keeps what is typed, and has the link.
    if (!document.activeElement?.matches("input")) location.reload();
  });
}

// How often the page of a limiter is read again, in ms, and how many times as long as that took it is left alone.
const PERIOD = 500;
const TIMES_IDLE = 20;

/** Puts the parts of another reading of this page in place of those that differ. */
function update(fresh) {
  for (const part of document.querySelectorAll("[data-part]")) {
    const other = fresh.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`);
    if (other && other.innerHTML !== part.innerHTML && !isUsed(part))
      part.replaceChildren(...other.childNodes);
  }
}

/** Whether somebody moves through a part by the keyboard, presses a link in it or has selected its text. */
function isUsed(part) {
  const selection = getSelection();
  const isSelected = !selection.isCollapsed && selection.containsNode(part, true);
  return isSelected || part.matches(":active") || part.contains(document.activeElement);
}

async function read(address) {
  const begun = performance.now();
  if (!document.hidden) {
    try {
      const answer = await fetch(address);
      if (answer.ok) update(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      // While the server cannot be reached, the page keeps the last numbers.
    }
  }
  const took = performance.now() - begun;
  setTimeout(() => read(address), Math.max(PERIOD, TIMES_IDLE * took));
}

const live = document.querySelector("[data-live-page]");
if (live) setTimeout(() => read(live.dataset.livePage), PERIOD);
