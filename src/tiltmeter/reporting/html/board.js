// The leaderboard: sorting and filtering the table, and drawing the ranking by one column.

const table = document.getElementById("board"), body = table.tBodies[0];
const filters = ["family", "benchmark", "group"].map((name) => [name, document.getElementById(`f-${name}`)]);
const search = document.getElementById("f-model"), status = document.getElementById("status");
const chosen = document.getElementById("f-column"), ranking = document.getElementById("ranking-table");
const allPlaces = document.getElementById("all-places"), MOST_PLACES = 50;
const rows = [...body.rows].map((row) => ({ row, name: row.cells[0].textContent.trim().toLowerCase() }));

document.getElementById("filters").hidden = false;

function fits(one) {
  return filters.every(([name, select]) => !select || !select.value || one[name] === select.value);
}

/** Shows the columns and models that fit. */
function filter() {
  const shown = data.columns.map(fits);
  for (const row of table.rows) {
    for (let n = 1; n < row.cells.length; n++) row.cells[n].hidden = !shown[n - 1];
  }
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  let models = 0;
  for (const { row, name } of rows) {
    const asked = [...row.cells].some((cell, n) => n && shown[n - 1] && cell.dataset.order !== undefined);
    row.hidden = !asked || !words.every((word) => name.includes(word));
    models += row.hidden ? 0 : 1;
  }
  const columns = shown.filter(Boolean).length;
  table.style.setProperty("--columns", columns);
  status.textContent = `${models.toLocaleString("en")} of ${rows.length.toLocaleString("en")} models, ${columns} of ${data.columns.length} columns`;
  for (const option of chosen.options) option.hidden = option.disabled = !shown[option.value];
  if (!shown[chosen.value]) chosen.value = String(Math.max(0, shown.indexOf(true)));
  drawRanking();
}

/** Sorts by a column: the best first, then the worst first. Models without a value come last either way. */
function sort(number) {
  const head = table.tHead.rows[0].cells[number];
  const upwards = head.getAttribute("aria-sort") !== "ascending";
  const order = (row) => {
    const cell = row.cells[number];
    return number ? Number.parseFloat(cell.dataset.order ?? "") : cell.textContent.trim().toLowerCase();
  };
  const keyed = rows.map(({ row }) => [order(row), row]);
  const missing = ([key]) => (typeof key === "number" && Number.isNaN(key) ? 1 : 0);
  keyed.sort((a, b) => missing(a) - missing(b) || (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (upwards || missing(a) ? 1 : -1));
  for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", upwards ? "ascending" : "descending");
  body.append(...keyed.map(([, row]) => row));
}

table.tHead.addEventListener("click", (event) => {
  const head = event.target.closest("button.sort")?.closest("th");
  if (!head) return;
  sort(head.cellIndex);
  if (head.cellIndex) {
    chosen.value = String(head.cellIndex - 1);
    drawRanking();
  }
});

function rankText(rank) {
  if (!rank) return "–";
  const [place, best, worst] = rank;
  return best === worst ? `${place}` : `${place} (${best}–${worst})`;
}

function alikeText(row, total) {
  if (!row.rank) return "";
  if (!row.alike.length) return "none";
  if (row.alike.length === total - 1) return "all others";
  const names = row.alike.map((n) => data.models[n]);
  return names.length <= 4 ? names.join(", ") : `${names.slice(0, 4).join(", ")} and ${names.length - 4} more`;
}

function rankingRow(row, scale, column, total) {
  const count = (value) => (known(value) ? value.toLocaleString("en") : "–");
  return make("tr", { class: "new" },
    make("td", { class: "num rank" }, rankText(row.rank)),
    make("th", { scope: "row", dir: "auto" }, row.model),
    make("td", { class: "num value" }, scale.text(row.value)),
    make("td", { class: "num range" }, known(row.low) ? `${scale.text(row.low)} to ${scale.text(row.high)}` : "–"),
    make("td", { class: "chart" }, drawBar(row, scale, tone(row, column.measure))),
    make("td", { class: "num" }, count(row.n)),
    make("td", { class: row.n_missing ? "num some" : "num" }, count(row.n_missing)),
    make("td", { class: "alike", dir: "auto" }, alikeText(row, total)));
}

/** The ranking by the chosen column: the models that have a value, the best first; of hundreds, the first of them. */
function drawRanking(all = false) {
  const column = data.columns[chosen.value];
  const far = (row) => (!known(row.value) ? Infinity : row.rank && known(column.best) ? Math.abs(row.value - column.best) : row.value);
  const sorted = [...column.rows].sort((a, b) => far(a) - far(b) || (a.model < b.model ? -1 : 1));
  const scale = scaleOf(sorted.map((row) => ({ ...row, group: column.group })), column.measure);
  ranking.querySelector(".axis").replaceChildren(...ticks(scale));
  const total = column.rows.filter((row) => row.rank).length;
  const drawn = all ? sorted : sorted.slice(0, MOST_PLACES);
  allPlaces.hidden = drawn.length === sorted.length;
  allPlaces.textContent = `Show all ${sorted.length.toLocaleString("en")} models`;
  ranking.tBodies[0].replaceChildren(...drawn.map((row) => rankingRow(row, scale, column, total)));
  const notes = new Map();
  for (const row of sorted) if (row.note) notes.set(row.note, [...(notes.get(row.note) ?? []), row.model]);
  document.getElementById("ranking-notes").replaceChildren(...[...notes].map(([note, models]) =>
    make("p", { class: "small remark" }, `${models.slice(0, 4).join("; ")}${models.length > 4 ? ` and ${models.length - 4} more` : ""}: ${note}.`)));
  document.getElementById("unranked").hidden = total > 0;
}

data.models = rows.map(({ row }) => row.cells[0].textContent.trim());
for (const [, select] of filters) select?.addEventListener("change", filter);
search.addEventListener("input", filter);
chosen.addEventListener("change", () => drawRanking());
allPlaces.addEventListener("click", () => drawRanking(true));
filter();
sort(1);
