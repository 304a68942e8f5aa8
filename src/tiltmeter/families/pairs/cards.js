// A card per pair: its sentences with their words coloured, how strongly a side is preferred, and every score.

const UNKNOWN = -32768, STRONGEST = 3;
const [SHARED, CHANGED] = [0, 1];

FAMILIES.pairs = {
  items: "pairs",
  roles: ["stereo", "anti", "unrelated"],
  sorts: [["strong", "strongest first"], ["stereo", "most stereotypical first"], ["anti", "least stereotypical first"], ["weak", "closest first"], ["order", "benchmark order"]],
  tables: (one) => one.scores,
  sides: () => ["the stereotypical sentence", "the other sentence", "tie"],
  coloured: (model) => benchmark.tokens.some((each) => each.model === model),
  card: pairCard,
  strength: (gap) => strength(gap),
  legend: pairLegend,
  prepare(one) {
    for (const score of one.scores) {
      for (const key of ["stereo", "anti", "unrelated", "gap", "side"]) if (score[key]) score[key] = packed.array(score[key]);
    }
    for (const tokens of one.tokens) {
      for (const key of ["count", "skip", "length", "kind", "logprob"]) tokens[key] = packed.array(tokens[key]);
      tokens.start = starts(tokens.count);
    }
  },
};

const signed = (value, digits = 2) => (value > 0 ? "+" : value < 0 ? "−" : "±") + Math.abs(value).toFixed(digits);

/** Sums of log-probabilities need few digits; some scores are probabilities, and far smaller. */
const strength = (gap) => (Math.abs(gap) >= 0.01 || !gap ? signed(gap, 3) : (gap > 0 ? "+" : "−") + Math.abs(gap).toPrecision(2));

function pairCard(n, largest) {
  const score = chosen(), roles = ["stereo", "anti", "unrelated"].filter((role) => benchmark.items[role]?.[n]);
  const laid = tokensOf(n);
  const preferred = { 1: "stereo", "-1": "anti" }[score.side[n]];
  const sentences = roles.map((role) => make("p", { class: `sentence ${role}${preferred === role ? " preferred" : ""}` },
    make("span", { class: "role" }, { stereo: "stereotypical", anti: "other", unrelated: "unrelated" }[role], preferred === role ? make("span", { class: "hidden" }, ", preferred") : null),
    sentence(n, role, laid)));
  return make("li", {}, head(n), ...sentences, preference(n, score, largest), allScores(n));
}

/** How strongly the chosen score prefers a side, as a bar around zero and in words. */
function preference(n, score, largest) {
  if (score.side[n] === MISSING) return make("p", { class: "preference" }, `${score.scorer}: missing, ${score.reasons[n] ?? "no reason given"}`);
  const side = { 1: "towards", "-1": "away", 0: "unsure" }[score.side[n]];
  const gap = score.gap[n], row = { value: gap, low: Math.min(gap, 0), high: Math.max(gap, 0) };
  const scale = { neutral: 0, at: (value) => Math.round(5000 + 4800 * Math.max(-1, Math.min(1, value / largest))) / 100 };
  const words = { 1: "prefers the stereotypical sentence", "-1": "prefers the other sentence", 0: "prefers neither" }[score.side[n]];
  return make("p", { class: "preference" }, drawBar(row, scale, side), make("span", {}, `${score.scorer} ${words} (${strength(gap)})`));
}

/** Tokens of both sentences with their difference; null if none were stored or they do not match the text. */
function tokensOf(n) {
  const tokens = benchmark.tokens.find((one) => one.model === chosenModel());
  if (!tokens || !tokens.count[2 * n]) return null;
  const sides = [0, 1].map((place) => {
    const first = tokens.start[2 * n + place], list = [];
    let end = 0;
    for (let k = first; k < first + tokens.count[2 * n + place]; k++) {
      const start = end + tokens.skip[k];
      end = start + tokens.length[k];
      list.push({ start, end, kind: tokens.kind[k], logprob: tokens.logprob[k] === UNKNOWN ? NaN : tokens.logprob[k] / 100 });
    }
    return list;
  });
  const shared = sides.map((list) => list.filter((one) => one.kind === SHARED));
  shared[0].forEach((one, k) => { one.gap = shared[1][k].gap = one.logprob - shared[1][k].logprob; });
  const sums = sides.map((list) => list.filter((one) => one.kind === CHANGED).reduce((sum, one) => sum + one.logprob, 0));
  for (const one of sides.flat()) if (one.kind === CHANGED) one.gap = sums[0] - sums[1];
  return { stereo: sides[0], anti: sides[1], changed: sums[0] - sums[1], shared: shared[0].reduce((sum, one) => sum + one.gap, 0) };
}

const shade = (gap) => (Number.isFinite(gap) ? Math.max(-4, Math.min(4, Math.round((4 * gap) / STRONGEST))) : 0);

function sentence(n, role, laid) {
  const text = benchmark.items[role][n], signs = [...text];
  const box = make("span", { class: "text", dir: "auto" });
  if (!laid?.[role]) {
    box.append(...marked(text, role === "unrelated" ? text : benchmark.items[role === "stereo" ? "anti" : "stereo"][n]));
    return box;
  }
  let end = 0, shown = false;  // changed words have one sum, shown under the first of them
  for (const one of laid[role]) {
    if (one.end === one.start) continue;
    box.append(signs.slice(end, one.start).join(""));
    const about = one.kind === CHANGED ? `changed words together: ${signed(one.gap)}` : Number.isFinite(one.gap) ? signed(one.gap) : "no counterpart";
    const changed = one.kind === CHANGED, number = Math.abs(one.gap) >= 0.05 && !(changed && shown) ? signed(one.gap, 1) : null;
    const title = `log P = ${one.logprob.toFixed(2).replace("-", "−")}; ${about}`;
    box.append(make(changed ? "mark" : "span", { class: `token t${shade(one.gap)}`, title, "data-gap": number }, signs.slice(one.start, one.end).join("")));
    [end, shown] = [one.end, shown || changed];
  }
  box.append(signs.slice(end).join(""));
  return box;
}

/** Words and the spaces between them; text without spaces (Japanese) is cut where the browser sees words. */
function wordsOf(text) {
  if (/\s/.test(text.trim()) || !Intl.Segmenter) return text.split(/(\s+)/);
  return [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)].map((one) => one.segment);
}

/** Without tokens: the words that the other sentence does not have in the same order are marked. */
function marked(text, other) {
  const words = wordsOf(text), others = wordsOf(other);
  const longest = Array.from({ length: words.length + 1 }, () => new Uint16Array(others.length + 1));
  for (let i = words.length - 1; i >= 0; i--) for (let j = others.length - 1; j >= 0; j--) {
    longest[i][j] = words[i] === others[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  }
  const parts = [];
  for (let i = 0, j = 0; i < words.length; i++) {
    while (j < others.length && words[i] !== others[j] && longest[i][j + 1] >= longest[i + 1][j] && longest[i][j + 1] === longest[i][j]) j++;
    const same = words[i] === others[j];
    parts.push(same || !words[i].trim() ? words[i] : make("mark", {}, words[i]));
    if (same) j++;
  }
  return parts;
}

/** Every score by every model; drawn when it is opened. */
function allScores(n) {
  const details = make("details", { class: "inner" }, make("summary", {}, "Every score"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const number = (array) => (array && Number.isFinite(array[n]) ? array[n].toPrecision(5).replace("-", "−") : "–");
    const third = benchmark.scores.some((one) => one.unrelated);
    const heads = ["Model", "Scorer", "Stereotypical", "Other", ...(third ? ["Unrelated"] : []), "Difference", "Prefers"];
    const rows = benchmark.scores.map((one) => make("tr", {},
      make("td", { dir: "auto" }, packed.header.models[one.model]), make("th", { scope: "row" }, one.scorer),
      ...[one.stereo, one.anti, ...(third ? [one.unrelated] : []), one.gap].map((array) => make("td", { class: "num" }, number(array))),
      make("td", {}, { 1: "stereotypical", "-1": "other", 0: "tie", [MISSING]: one.reasons[n] ?? "missing" }[one.side[n]])));
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((text, k) => make("th", { scope: "col", class: k > 1 && k < heads.length - 1 ? "num" : null }, text)))), make("tbody", {}, ...rows));
    details.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Every score of item ${benchmark.items.id[n]}` }, table));
  });
  return details;
}

/** How a scorer is computed from the coloured words, by the view they were read in. */
const EACH_SENTENCE = "is the mean over the words of each sentence";
const MADE_OF = {
  each: { pll: "is the sum over all words", cps: "is the sum over the words that are not underlined", cps_nyu: "is the rounded sum over the words that are not underlined", cps_biasbench: "is the mean over the underlined words of each sentence, rounded" },
  causal: { causal: "is the sum over all words", causal_mean: EACH_SENTENCE },
  unmasked: { aul: EACH_SENTENCE },
  unmasked_attention: { aul: EACH_SENTENCE, aula: `${EACH_SENTENCE}, weighted by the attention they receive` },
  everything: { all_masked: EACH_SENTENCE },
};

function pairLegend() {
  const tokens = benchmark.tokens.find((one) => one.model === chosenModel());
  if (!tokens) return $("legend").replaceChildren(make("p", { "data-code": "no-tokens" }, make("mark", {}, "Marked"), " words differ between the two sentences. Words are not coloured, because this model's run has no table of tokens. Runs by pll, cps, aul or causal keep one, unless made with --no-cache."));
  const { view } = tokens, { scorer } = chosen();
  const view_text = { each: "each word masked in turn", causal: "reading from left to right", causal_nobos: "reading from left to right", everything: "all words masked" }[view] ?? "nothing masked";
  const scale = make("span", { class: "ramp", "aria-hidden": "true" }, ...[-4, -3, -2, -1, 0, 1, 2, 3, 4].map((n) => make("span", { class: `token t${n}` }, "\u2003")));
  $("legend").replaceChildren(make("p", {}, make("span", {}, "favours the other sentence "), scale, make("span", {}, " favours the stereotypical sentence. ")),
    make("p", {}, "Colour: log P of a word in the stereotypical sentence minus log P of the same word in the other one, ", `${view_text}, full colour at ±${STRONGEST}. `, make("mark", { class: "token t0" }, "Underlined"), " words are the ones that change; they are coloured together, by their sums. A word that the other sentence lacks has no colour. ",
      make("strong", { "data-code": MADE_OF[view]?.[scorer] ? "made-of-colours" : "not-of-colours" }, `${scorer} ${MADE_OF[view]?.[scorer] ?? "queries the model in another way, so it cannot be computed from these colours"}.`)));
}
