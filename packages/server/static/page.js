// Live numbers in the list, over server-sent events. Without this script the page shows those of its loading.
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
