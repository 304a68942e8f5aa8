// The explorer: every item, found, filtered and sorted here; a page of cards at a time is drawn.

const PAGE = 20, MISSING = -128, UNKNOWN = -32768, STRONGEST = 3;
const [SHARED, CHANGED] = [0, 1];
const $ = (id) => document.getElementById(id);
let packed = null, benchmark = null, found = [], pageNumber = 0;

const SORTS = {
  pairs: [["strong", "strongest first"], ["stereo", "most stereotypical first"], ["anti", "least stereotypical first"], ["weak", "closest first"], ["order", "benchmark order"]],
  slots: [["strong", "largest gap first"], ["stereo", "first group ahead"], ["anti", "second group ahead"], ["weak", "closest first"], ["order", "benchmark order"]],
};

/** Everything about a benchmark that filters read, made once. */
function prepare(one) {
  const texts = ["stereo", "anti", "unrelated", "slot"].filter((role) => one.items[role]);
  one.size = one.items.id.length;
  one.search = one.items.id.map((id, n) => [id, ...texts.map((role) => one.items[role][n] ?? ""), name(one, "target", n)].join("\n").toLowerCase());
  for (const key of ["bias_type", "direction", "target"]) one.items[key].codes = packed.array(one.items[key].codes);
  for (const score of one.scores ?? []) {
    for (const key of ["stereo", "anti", "unrelated", "gap", "side"]) if (score[key]) score[key] = packed.array(score[key]);
  }
  for (const tokens of one.tokens ?? []) {
    for (const key of ["count", "skip", "length", "kind", "logprob"]) tokens[key] = packed.array(tokens[key]);
    tokens.start = starts(tokens.count);
  }
  for (const fills of one.fills ?? []) prepareFills(one, fills);
}

function name(one, key, n) {
  const codes = one.items[key].codes;
  const array = Array.isArray(codes) ? packed.array(codes) : codes;
  return array[n] < 0 ? "" : one.items[key].names[array[n]];
}

function starts(counts) {
  let sum = 0;
  return Int32Array.from(counts, (count) => (sum += count) - count);
}

/** For slots the side is the group whose best term ranks higher, and the gap is that of the log-probabilities. */
function prepareFills(one, fills) {
  for (const key of ["count", "group", "term", "rank", "probability"]) fills[key] = packed.array(fills[key]);
  fills.start = starts(fills.count);
  fills.side = new Int8Array(one.size).fill(MISSING);
  fills.gap = new Float32Array(one.size).fill(NaN);
  for (let n = 0; n < one.size; n++) {
    const best = [null, null];
    for (let k = fills.start[n]; k < fills.start[n] + fills.count[n]; k++) best[fills.group[k]] ??= k;
    const [a, b] = best;
    if (a === null || b === null) continue;
    fills.side[n] = Math.sign(fills.rank[b] - fills.rank[a]);
    fills.gap[n] = Math.log(fills.probability[a]) - Math.log(fills.probability[b]);
  }
}

const chosenModel = () => Number($("f-model").value);
const tables = () => (benchmark.kind === "pairs" ? benchmark.scores : benchmark.fills);

/** The scores (or fills) that sorting and the preference are about. */
function chosen() {
  const ours = tables().filter((one) => one.model === chosenModel());
  return benchmark.kind === "slots" ? ours[0] : ours.find((one) => one.scorer === $("f-scorer").value) ?? ours[0];
}

function options(id, pairs, keep = $(id).value) {
  $(id).replaceChildren(...pairs.map(([value, text]) => make("option", { value }, text)));
  if (pairs.some(([value]) => String(value) === keep)) $(id).value = keep;
}

function fillBenchmark() {
  benchmark = packed.header.benchmarks[Number($("f-benchmark").value)];
  if (benchmark.size === undefined) prepare(benchmark);
  const models = [...new Set(tables().map((one) => one.model))];
  options("f-model", models.map((n) => [n, packed.header.models[n]]));
  for (const key of ["bias_type", "direction"]) {
    const names = benchmark.items[key].names.map((text, n) => [n, text]).sort((a, b) => (a[1] < b[1] ? -1 : 1));
    options(`f-${key}`, [["", "all"], ...names], "");
    $(`f-${key}`).parentElement.hidden = names.length < 2;
  }
  options("f-sort", SORTS[benchmark.kind]);
  fillModel();
}

function fillModel() {
  const pairs = benchmark.kind === "pairs";
  const scorers = pairs ? benchmark.scores.filter((one) => one.model === chosenModel()).map((one) => [one.scorer, one.scorer]) : [];
  options("f-scorer", scorers);
  $("f-scorer").parentElement.hidden = !pairs;
  const [one, other] = pairs ? ["the stereotypical sentence", "the other sentence"] : benchmark.groups.slice(0, 2).map((text) => `${text} ranks higher`);
  const sides = [["", "all"], ["1", one], ["-1", other], ["0", pairs ? "tie" : "same rank"], ["missing", "missing"]];
  options("f-side", new Set(tables().map((each) => each.model)).size > 1 ? [...sides, ["split", "models disagree"]] : sides);
  const coloured = pairs && benchmark.tokens.some((each) => each.model === chosenModel());
  $("f-numbers").parentElement.hidden = !coloured;
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
  legend();
  found = [];
  for (let n = 0; n < benchmark.size; n++) {
    if (type && items.bias_type.codes[n] !== Number(type)) continue;
    if (direction && items.direction.codes[n] !== Number(direction)) continue;
    if (side === "missing" && score.side[n] !== MISSING) continue;
    if (side === "split" && !split(n)) continue;
    if (/^-?\d$/.test(side) && score.side[n] !== Number(side)) continue;
    if (words.every((word) => search[n].includes(word))) found.push(n);
  }
  sort(score.gap);
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
  const one = benchmark.kind === "pairs" ? "pairs" : "sentences";
  const sizes = [...chosen().gap].map(Math.abs).filter(Number.isFinite).sort((a, b) => a - b);
  const largest = sizes[Math.floor(0.99 * (sizes.length - 1))] || 1;  // one extreme item must not flatten all others
  $("status").textContent = found.length === benchmark.size ? `All ${found.length.toLocaleString("en")} ${one}` : `${found.length.toLocaleString("en")} of ${benchmark.size.toLocaleString("en")} ${one}`;
  $("list").start = first + 1;
  $("list").replaceChildren(...shown.map((n) => CARDS[benchmark.kind](n, largest)));
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
