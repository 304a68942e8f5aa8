// A card per prompt with what the model wrote; above them, per group, the most negative text beside a random one.

FAMILIES.generations = {
  items: "prompts",
  roles: ["prompt"],
  sorts: [["anti", "most negative first"], ["stereo", "least negative first"], ["order", "benchmark order"]],
  tables: (one) => one.judged,
  sides: () => ["no negative text", "a negative text"],
  card: promptCard,
  legend: groupTable,
  prepare(one) {
    for (const judged of one.judged) prepareJudged(one, judged);
    for (const { said } of one.texts) said.forEach((texts, n) => { one.search[n] += `\n${texts.map(([text]) => text ?? "").join("\n")}`.toLowerCase(); });
  },
};

/** The gap is the mean score, with the bad end below; the side says whether any text is negative. */
function prepareJudged(one, judged) {
  for (const key of ["count", "score", "mark"]) judged[key] = packed.array(judged[key]);
  judged.start = starts(judged.count);
  judged.side = new Int8Array(one.size).fill(MISSING);
  judged.gap = new Float32Array(one.size).fill(NaN);
  for (let n = 0; n < one.size; n++) {
    const scores = scoresOf(judged, n).filter((score) => !Number.isNaN(score));
    if (!scores.length) continue;
    const worst = judged.polar ? Math.min(...scores) : -Math.max(...scores);
    judged.gap[n] = worst;
    judged.side[n] = judged.mark.subarray(judged.start[n], judged.start[n] + judged.count[n]).some((mark) => mark < 0) ? -1 : 1;
  }
}

const scoresOf = (judged, n) => [...judged.score.subarray(judged.start[n], judged.start[n] + judged.count[n])];
const textsOf = (model, n) => benchmark.texts.find((one) => one.model === model)?.said[n] ?? [];

function chip(judged, k) {
  const score = judged.score[k], mark = judged.mark[k];
  if (Number.isNaN(score)) return make("span", { class: "rank" }, `${judged.scorer}: missing`);
  const what = mark < 0 ? ", negative" : mark > 0 ? ", positive" : "";
  return make("span", { class: "rank" }, `${judged.scorer} ${score.toFixed(2)}${what}`);
}

function written(n, k) {
  const [text, reason] = textsOf(chosenModel(), n)[k] ?? [null, null];
  const judges = benchmark.judged.filter((one) => one.model === chosenModel());
  const shown = text === null || text === "" ? "(nothing)" : text;
  const about = reason ? [make("span", { class: "tag flag" }, `not judged: ${reason}`)] : judges.map((one) => chip(one, one.start[n] + k));
  return [make("span", { class: "text", dir: "auto" }, shown), " ", ...about];
}

function promptCard(n) {
  const texts = textsOf(chosenModel(), n).map((_, k) => make("li", {}, ...written(n, k)));
  return make("li", {}, head(n), make("p", { class: "sentence" }, make("span", { class: "text", dir: "auto" }, `${benchmark.items.prompt[n]} …`)), make("ul", { class: "said" }, ...texts));
}

/** For every group that is there: its most negative text by the chosen judge, and one at random (the first by its id). */
function groupTable() {
  const judged = chosen();
  if (!judged) return $("legend").replaceChildren();
  const groups = new Map();
  for (let n = 0; n < benchmark.size; n++) {
    const group = name(benchmark, "target", n), type = $("f-bias_type").value;
    if (type && benchmark.items.bias_type.codes[n] !== Number(type)) continue;
    if (Number.isNaN(judged.gap[n])) continue;
    const known = groups.get(group) ?? { worst: n, random: n, key: Infinity };
    if (judged.gap[n] < judged.gap[known.worst]) known.worst = n;
    const key = scrambled(n);
    if (key < known.key) Object.assign(known, { random: n, key });
    groups.set(group, known);
  }
  const cell = (n, worst) => {
    const scores = scoresOf(judged, n), k = worst ? pick(scores, judged.polar) : scores.findIndex((score) => !Number.isNaN(score));
    return make("td", {}, make("span", { dir: "auto" }, `${benchmark.items.prompt[n]}`), make("b", { dir: "auto" }, textsOf(judged.model, n)[k]?.[0] ?? ""), make("span", { class: "rank" }, ` ${judged.score[judged.start[n] + k].toFixed(2)}`));
  };
  const rows = [...groups].map(([group, { worst, random }]) => make("tr", {}, make("th", { scope: "row" }, group), cell(worst, true), cell(random, false)));
  const shown = benchmark.size < benchmark.all ? ` ${benchmark.size.toLocaleString("en")} of ${benchmark.all.toLocaleString("en")} prompts are on this page: of each group the most negative ones, and a random sample.` : "";
  $("legend").replaceChildren(
    make("p", {}, `What the model wrote, and what ${judged.scorer} says of it. A single text proves nothing: beside the most negative one of each group stands a random one.${shown}`),
    make("details", {}, make("summary", {}, "Comparison of groups"), make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...["group", "most negative", "at random"].map((text) => make("th", { scope: "col" }, text)))), make("tbody", {}, ...rows)))));
}

const scrambled = (n) => Math.imul(n + 1, 2654435761) >>> 0;

function pick(scores, polar) {
  let best = 0;
  scores.forEach((score, k) => { if (!Number.isNaN(score) && (Number.isNaN(scores[best]) || (polar ? score < scores[best] : score > scores[best]))) best = k; });
  return best;
}
