// The explorer: every item, found, filtered and sorted here; a page of cards at a time is drawn.

const PAGE = 20, MISSING = -128;
const $ = (id) => document.getElementById(id);
let packed = null, benchmark = null, found = [], pageNumber = 0;

/**
 * What draws the items of each family; a family registers itself in a script of its own. It has `items` (what they are
 * called), `roles` (texts that are searched), `sorts`, `tables` (one per model, or per model and scorer, with the arrays
 * `gap` and `side`), `sides` (what +1, -1 and 0 mean), `card`, `legend` and `prepare`.
 */
const FAMILIES = {};
const PLAIN = {
  items: "items", roles: [], sorts: [["order", "benchmark order"]], tables: () => [], sides: () => [], prepare() {},
  card: (n) => make("li", {}, head(n), ...texts(n).map((text) => make("p", { class: "sentence" }, make("span", { class: "text", dir: "auto" }, text)))),
  legend: () => $("legend").replaceChildren(),
};
const family = () => FAMILIES[benchmark.family] ?? PLAIN;

const GROUPS = ["bias_type", "direction", "target"];
const ABOUT = new Set(["id", "flags", "flag_names", ...GROUPS]);
const texts = (n, one = benchmark) => Object.keys(one.items).filter((key) => !ABOUT.has(key)).map((key) => one.items[key][n]).filter((text) => typeof text === "string");

/** Everything about a benchmark that filters read, made once. */
function prepare(one) {
  one.size = one.items.id.length;
  for (const key of GROUPS) if (one.items[key]) one.items[key].codes = packed.array(one.items[key].codes);
  one.search = one.items.id.map((id, n) => [id, ...texts(n, one), name(one, "target", n)].join("\n").toLowerCase());
  (FAMILIES[one.family] ?? PLAIN).prepare(one);
}

function name(one, key, n) {
  const column = one.items[key];
  return !column || column.codes[n] < 0 ? "" : column.names[column.codes[n]];
}

function starts(counts) {
  let sum = 0;
  return Int32Array.from(counts, (count) => (sum += count) - count);
}

function head(n) {
  const tags = [name(benchmark, "bias_type", n), name(benchmark, "direction", n), name(benchmark, "target", n)].filter(Boolean);
  const flags = (benchmark.items.flags?.[n] ?? []).map((at) => Object.entries(benchmark.items.flag_names ?? {})[at]);
  return make("p", { class: "meta" }, make("code", {}, benchmark.items.id[n]),
    ...[...new Set(tags)].map((text) => make("span", { class: "tag" }, text)),
    ...flags.map(([flag, text]) => make("span", { class: "tag flag", title: text }, flag.replaceAll("_", " "))));
}

const chosenModel = () => Number($("f-model").value);
const tables = () => family().tables(benchmark);

/** The scores (or fills) that sorting and the preference are about. */
function chosen() {
  const ours = tables().filter((one) => one.model === chosenModel());
  return ours.find((one) => one.scorer !== undefined && one.scorer === $("f-scorer").value) ?? ours[0];
}

function options(id, pairs, keep = $(id).value) {
  $(id).replaceChildren(...pairs.map(([value, text]) => make("option", { value }, text)));
  if (pairs.some(([value]) => String(value) === keep)) $(id).value = keep;
}

const hideLabel = (id, hidden) => { $(id).parentElement.hidden = hidden; };

function fillBenchmark() {
  benchmark = packed.header.benchmarks[Number($("f-benchmark").value)];
  if (benchmark.size === undefined) prepare(benchmark);
  const models = [...new Set(tables().map((one) => one.model))];
  options("f-model", models.map((n) => [n, packed.header.models[n]]));
  hideLabel("f-model", !models.length);
  for (const key of ["bias_type", "direction"]) {
    const names = (benchmark.items[key]?.names ?? []).map((text, n) => [n, text]).sort((a, b) => (a[1] < b[1] ? -1 : 1));
    options(`f-${key}`, [["", "all"], ...names], "");
    hideLabel(`f-${key}`, names.length < 2);
  }
  options("f-sort", family().sorts);
  hideLabel("f-sort", family().sorts.length < 2);
  fillModel();
}

function fillModel() {
  const scorers = tables().filter((one) => one.model === chosenModel() && one.scorer !== undefined).map((one) => [one.scorer, one.scorer]);
  options("f-scorer", scorers);
  hideLabel("f-scorer", !scorers.length);
  const [one, other, neither] = family().sides(benchmark);
  const sides = [["", "all"], ["1", one], ["-1", other], ["0", neither], ["missing", "missing"]];
  options("f-side", new Set(tables().map((each) => each.model)).size > 1 ? [...sides, ["split", "models disagree"]] : sides);
  hideLabel("f-side", one === undefined);
  hideLabel("f-numbers", !family().coloured?.(chosenModel()));
}

/** Whether the models decide an item differently, each by the chosen scorer or, if it lacks that one, by its first. */
function split(n) {
  const sides = packed.header.models.map((_, model) => {
    const ours = tables().filter((one) => one.model === model);
    return (ours.find((one) => one.scorer === $("f-scorer").value) ?? ours[0])?.side[n];
  });
  const decided = sides.filter((side) => side !== undefined && side !== MISSING);
  return new Set(decided).size > 1;
}

function filter() {
  const words = $("f-search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const type = $("f-bias_type").value, direction = $("f-direction").value, side = $("f-side").value;
  const score = chosen(), { items, search } = benchmark;
  family().legend();
  found = [];
  for (let n = 0; n < benchmark.size; n++) {
    if (type && items.bias_type.codes[n] !== Number(type)) continue;
    if (direction && items.direction.codes[n] !== Number(direction)) continue;
    if (side === "missing" && score.side[n] !== MISSING) continue;
    if (side === "split" && !split(n)) continue;
    if (/^-?\d$/.test(side) && score.side[n] !== Number(side)) continue;
    if (words.every((word) => search[n].includes(word))) found.push(n);
  }
  if (score) sort(score.gap);
  pageNumber = 0;
  draw();
}

function sort(gap) {
  const key = { strong: (n) => -Math.abs(gap[n]), weak: (n) => Math.abs(gap[n]), stereo: (n) => -gap[n], anti: (n) => gap[n] }[$("f-sort").value];
  if (!key) return;
  const keys = new Map(found.map((n) => [n, Number.isNaN(gap[n]) ? Infinity : key(n)]));
  found.sort((a, b) => (keys.get(a) === keys.get(b) ? a - b : keys.get(a) - keys.get(b)));
}

function draw() {
  const pages = Math.max(1, Math.ceil(found.length / PAGE)), first = pageNumber * PAGE;
  const shown = found.slice(first, first + PAGE);
  const one = family().items;
  const sizes = [...(chosen()?.gap ?? [])].map(Math.abs).filter(Number.isFinite).sort((a, b) => a - b);
  const largest = sizes[Math.floor(0.99 * (sizes.length - 1))] || 1;  // one extreme item must not flatten all others
  $("status").textContent = found.length === benchmark.size ? `All ${found.length.toLocaleString("en")} ${one}` : `${found.length.toLocaleString("en")} of ${benchmark.size.toLocaleString("en")} ${one}`;
  $("list").start = first + 1;
  $("list").replaceChildren(...shown.map((n) => family().card(n, largest)));
  $("place").textContent = `Page ${pageNumber + 1} of ${pages.toLocaleString("en")}`;
  $("previous").disabled = pageNumber === 0;
  $("next").disabled = pageNumber >= pages - 1;
}

function turn(by) {
  pageNumber += by;
  draw();
  $("status").scrollIntoView({ block: "start" });
}

async function showItems() {
  $("show-items").disabled = true;
  try {
    packed = await unpack("items");
  } catch (error) {
    $("warning").append(make("p", {}, `This browser cannot unpack the sentences (${error.message}). A current Firefox, Chrome, Edge or Safari can.`));
    return;
  }
  options("f-benchmark", packed.header.benchmarks.map((one, n) => [n, one.name]));
  $("f-benchmark").parentElement.hidden = packed.header.benchmarks.length < 2;
  fillBenchmark();
  filter();
  $("warning").hidden = true;
  $("browser").hidden = false;
  $("f-search").focus({ preventScroll: true });
}

if ($("explorer")) {
  $("show-items").addEventListener("click", showItems);
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", () => setTimeout(() => { fillBenchmark(); $("list").classList.remove("numbers"); filter(); }));
  $("f-search").addEventListener("input", filter);
  $("f-benchmark").addEventListener("change", () => { fillBenchmark(); filter(); });
  $("f-model").addEventListener("change", () => { fillModel(); filter(); });
  for (const id of ["f-scorer", "f-bias_type", "f-direction", "f-side", "f-sort"]) $(id).addEventListener("change", filter);
  $("f-numbers").addEventListener("change", (event) => $("list").classList.toggle("numbers", event.target.checked));
  $("previous").addEventListener("click", () => turn(-1));
  $("next").addEventListener("click", () => turn(1));
}
