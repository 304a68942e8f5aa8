// A card per slot: what the model predicts there, and the listed terms that it ranks highest.

FAMILIES.slots = {
  items: "sentences",
  roles: ["slot"],
  sorts: [["strong", "largest gap first"], ["stereo", "first group ahead"], ["anti", "second group ahead"], ["weak", "closest first"], ["order", "benchmark order"]],
  tables: (one) => one.fills,
  sides: (one) => [...one.groups.slice(0, 2).map((text) => `${text} ranks higher`), "same rank"],
  card: slotCard,
  legend() {
    const among = chosen().among === "candidates" ? "the listed terms" : "the whole vocabulary";
    $("legend").replaceChildren(make("p", { "data-among": among }, `What this model predicts at the mask, and the listed terms that it ranks highest among ${among}; colour and label name their group.`));
  },
  prepare(one) {
    for (const fills of one.fills) prepareFills(one, fills);
  },
};

/** The side is the group whose best term ranks higher, and the gap is that of the log-probabilities. */
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

const MASK = /\[MASK\]|<mask>|\bBLANK\b|_{2,}/;

const percent = (share) => (share >= 0.001 ? `${(100 * share).toFixed(1)} %` : "< 0.1 %");

function slotCard(n) {
  const fills = chosen(), text = benchmark.items.slot[n], at = text.match(MASK);
  const shown = at ? [text.slice(0, at.index), make("mark", { class: "slot" }, "\u2002?\u2002"), text.slice(at.index + at[0].length)] : [text];
  const listed = [];
  for (let k = fills.start[n]; k < fills.start[n] + fills.count[n]; k++) {
    listed.push(make("li", { class: `term g${fills.group[k] % 4}` }, make("b", { dir: "auto" }, benchmark.terms[fills.term[k]]),
      make("span", { class: "group" }, benchmark.groups[fills.group[k]]), make("span", { class: "rank" }, `rank ${fills.rank[k].toLocaleString("en")}, ${percent(fills.probability[k])}`)));
  }
  const first = (fills.top?.[n] ?? []).map(([token, group, share]) => make("li", { class: group < 0 ? "term other" : `term g${group % 4}` },
    make(group < 0 ? "span" : "b", { class: "token-text", dir: "auto" }, token), ...(group < 0 ? [] : [make("span", { class: "group" }, benchmark.groups[group])]), make("span", { class: "rank" }, percent(share))));
  const body = listed.length ? [make("p", { class: "terms-of" }, "Listed terms, by rank"), make("ul", { class: "terms" }, ...listed)]
    : [make("p", { class: "preference" }, `Missing: ${fills.reasons[n] ?? "no term could be ranked"}`)];
  if (first.length) body.unshift(make("p", { class: "terms-of" }, "First predictions"), make("ol", { class: "terms" }, ...first));
  return make("li", {}, head(n), make("p", { class: "sentence" }, make("span", { class: "text", dir: "auto" }, ...shown)), ...body);
}
