// Tables by group for any scorer and measure, drawn from the embedded estimates as the page drew the first one.

const estimates = data.estimates;
const column = Object.fromEntries(estimates.columns.map((name, n) => [name, n]));
const DIFFERENCE = "|difference|", MOST_NAMED = 4;

function records(where) {
  return rowsWhere(estimates, where).map((row) => Object.fromEntries(estimates.columns.map((name, n) => [name, row[n]])));
}

const known = (value) => typeof value === "number" && Number.isFinite(value);

/** The same axis as bars.py makes. */
function scaleOf(rows, measure) {
  const own = rows.filter((row) => row.group !== DIFFERENCE);
  const neutral = own.map((row) => row.neutral).find(known) ?? null;
  const values = own.flatMap((row) => [row.value, row.low, row.high]).concat(neutral).filter(known);
  const least = Math.min(...values, ...(values.length ? [] : [0])), most = Math.max(...values, ...(values.length ? [] : [0]));
  const room = 0.04 * (most - least) || 0.05 * Math.abs(most) || 1;
  let low = least - room, high = most + room;
  const bounds = data.measures[measure]?.bounds;
  if (bounds && least >= bounds[0] && most <= bounds[1]) [low, high] = [Math.max(low, bounds[0]), Math.min(high, bounds[1])];
  const at = (value) => Math.round((10000 * (value - low)) / (high - low)) / 100;
  const decimals = Math.max(1, Math.min(4, 2 - Math.floor(Math.log10(high - low || 1))));
  const text = (value) => (known(value) ? value.toFixed(decimals).replace("-", "−") : "missing");
  return { low, high, neutral, at, text };
}

function ticks({ low, high, at }) {
  const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) found.push(n * step);
  return found.map((value) => make("span", { style: `left:${at(value)}%` }, String(+value.toPrecision(10)).replace("-", "−")));
}

function tone(row, measure) {
  if (!data.measures[measure]?.leans || !known(row.neutral)) return "plain";
  const p = row.p_holm ?? row.p;
  const sure = known(p) ? p < 0.05 : known(row.low) && !(row.low <= row.neutral && row.neutral <= row.high);
  if (!sure) return "unsure";
  return row.value > row.neutral ? "towards" : "away";
}

function drawBar(row, scale, colour) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const set = (element, values) => Object.entries(values).forEach(([key, value]) => element.setAttribute(key, value));
  set(svg, { class: `bar ${colour}`, viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" });
  const path = (kind, d) => {
    const element = document.createElementNS(space, "path");
    set(element, { class: kind, d });
    svg.append(element);
  };
  if (known(scale.neutral)) path("neutral", `M${scale.at(scale.neutral)} 0V20`);
  if (known(row.low) && known(row.high)) path("interval", `M${scale.at(row.low)} 10H${scale.at(row.high)}`);
  if (known(row.value)) path("dot", `M${scale.at(row.value)} 10h0`);
  return svg;
}

function inOrder(rows) {
  const mean = new Map();
  for (const group of new Set(rows.map((row) => row.group))) {
    const values = rows.filter((row) => row.group === group).map((row) => row.value).filter(known);
    mean.set(group, values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : -Infinity);
  }
  const last = (row) => (row.group === DIFFERENCE ? 1 : 0);
  return [...rows].sort((a, b) => last(a) - last(b) || mean.get(b.group) - mean.get(a.group) || (a.group < b.group ? -1 : a.group > b.group ? 1 : 0));
}

function breakdownRow(row, previous, scale, measure) {
  const gap = row.group === DIFFERENCE, colour = gap ? "plain" : tone(row, measure);
  const p = row.p_holm ?? row.p;
  const count = (value) => (known(value) ? value.toLocaleString("en") : "–");
  const cells = [
    make("th", { scope: "row", dir: "auto" }, row.group),
    make("td", { dir: "auto" }, row.model),
    make("td", { class: "num value" }, scale.text(row.value)),
    make("td", { class: "num range" }, known(row.low) ? `${scale.text(row.low)} to ${scale.text(row.high)}` : "–"),
    make("td", { class: "chart" }, gap ? "" : drawBar(row, scale, colour)),
    make("td", { class: "num" }, count(row.n)),
    make("td", { class: row.n_missing ? "num some" : "num" }, count(row.n_missing)),
    make("td", { class: "num" }, count(row.n_ties)),
    make("td", { class: "num" }, !known(p) ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(3)),
  ];
  return make("tr", { class: `${colour} ${previous?.group === row.group ? "again" : "new"}` }, ...cells);
}

/** Each remark once, with the rows that it is about, as measures.py says it. */
function remarks(rows) {
  const about = new Map();
  for (const row of rows) if (row.note) about.set(row.note, [...(about.get(row.note) ?? []), `${row.group}, ${row.model}`]);
  return [...about].map(([note, named]) => {
    const more = named.length > MOST_NAMED ? ` and ${named.length - MOST_NAMED} more` : "";
    return make("p", { class: "small remark" }, `${named.slice(0, MOST_NAMED).join("; ")}${more}: ${note}.`);
  });
}

function redraw(section, measure, scorer) {
  const { benchmark, by } = section.dataset;
  const rows = inOrder(records({ benchmark, by, measure, scorer }));
  const scale = scaleOf(rows, measure);
  section.querySelector(".axis").replaceChildren(...ticks(scale));
  section.querySelector("tbody").replaceChildren(...rows.map((row, n) => breakdownRow(row, rows[n - 1], scale, measure)));
  section.querySelector(".remarks").replaceChildren(...remarks(rows));
}

for (const section of document.querySelectorAll(".breakdown")) {
  const { benchmark, by, first } = section.dataset;
  const pairs = new Set(rowsWhere(estimates, { benchmark, by }).map((row) => JSON.stringify([row[column.measure], row[column.scorer]])));
  if (pairs.size < 2) continue;
  const select = section.querySelector("select"), drawn = ["tbody", ".axis", ".remarks"].map((name) => section.querySelector(name));
  const before = drawn.map((element) => element.innerHTML);
  select.append(make("option", { value: "" }, first));
  for (const pair of [...pairs].sort()) select.append(make("option", { value: pair }, JSON.parse(pair).join(" by ")));
  section.querySelector(".controls").hidden = false;
  select.addEventListener("change", () => {
    if (select.value) return redraw(section, ...JSON.parse(select.value));
    drawn.forEach((element, n) => { element.innerHTML = before[n]; });
  });
}
