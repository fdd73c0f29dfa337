// The steps of a question: each appears as it ends, with what was called in plain words, what it found and how long it took.

import { byId, clip, el, ms } from "./draw.js";
import { thumbnails } from "./photos.js";
import { number, t } from "./words.js";

const quoted = (text) => `“${clip(text, 120)}”`;

// A call in plain words, by its tool; arguments at their defaults are not sent.
const DONE = {
  search: (a) => [t("did.search", { what: [a.text && quoted(a.text), a.like && t("did.like", { ids: a.like.join(", ") })].filter(Boolean).join(t("did.and")) }), a.every ? t("did.all") : a.k && t("did.best", { n: a.k })],
  grep: (a) => [t("did.grep", { words: quoted(a.words) }), a.k && t("did.best", { n: a.k })],
  filter: (a) => [a.where ? t("did.filter", { where: clip(a.where, 200) }) : t("did.filter.all"), t(a.order === "newest" ? "did.newest" : "did.oldest"), a.limit && t("did.most", { n: a.limit })],
  list: (a) => [t("did.list", { by: a.by })],
  metadata: (a) => [t("did.metadata", { ids: a.ids.join(", ") })],
  get: (a) => [t("did.get", { id: a.id })],
  view: (a) => [t("did.view", { prompt: quoted(a.prompt) }), a.ids && t("did.in", { ids: a.ids.join(", ") })],
  combine: (a) => [t("did.combine", { first: a.first, how: a.how, second: a.second })],
};

const done = (tool, a) => [...(DONE[tool]?.(a) ?? [t("did.called", { tool })]), a.within && t("did.within", { name: a.within }), a.save_as && t("did.kept", { name: a.save_as })].filter(Boolean).join(", ");

// A photo of a step or of an answer, as the grid and the viewer take a hit.
export function asHit(photo, rank = null) {
  const time = photo.taken === null ? NaN : Date.parse(`${photo.taken}Z`);
  return { ...photo, rank, taken_at: Number.isNaN(time) ? null : time, parts: {}, matched: [], score: null };
}

// `open(hits, at, within)`: shows a photo large; `within` holds the thumbnails that it was chosen from.
export class Steps {
  constructor(open) {
    this.open = open;
  }

  begin() {
    Object.assign(this, { number: 0, spent: 0, ids: new Map() });
    byId("steps").replaceChildren();
    byId("steps-said").replaceChildren();
    byId("steps-total").textContent = "";
    byId("steps-panel").hidden = byId("stop").hidden = false;
  }

  add(step) {
    this.number += 1;
    this.spent += step.ms;
    for (const photo of step.items) this.ids.set(photo.ref, photo.id);
    const found = step.error ? "" : t("photos", { n: step.found });
    byId("steps").append(el("li", {},
      el("p", { class: "thought" }, clip(step.thought, 400)),
      step.tool ? el("p", { class: "did" }, this.plain(done(step.tool, step.arguments))) : null,
      step.error ? el("p", { class: "wrong" }, clip(step.error, 300)) : null,
      step.note ? el("p", { class: "did" }, clip(step.note, 300)) : null,
      el("p", { class: "cost" }, [found, `${ms(step.ms)} ms`, step.left && t("left", { n: step.left.calls })].filter(Boolean).join(" · ")),
      this.thumbnails(step.items.map((photo) => asHit(photo)), step.found)));
    byId("steps-said").append(el("p", {}, t("step", { n: this.number, thought: clip(step.thought, 200), found: step.error ? clip(step.error, 200) : `${found}.` })));
    byId("steps-total").textContent = `${t("steps.number", { n: this.number })}, ${ms(this.spent)} ms`;
  }

  // The tools' names of photos are replaced by the ids that the page shows.
  plain(text) {
    return text.replace(/img_[0-9a-f]{10}/g, (ref) => (this.ids.has(ref) ? `“${clip(this.ids.get(ref), 60)}”` : ref));
  }

  thumbnails(hits, found) {
    if (!hits.length) return null;
    const box = thumbnails(hits, this.open);
    if (found > hits.length) box.append(el("span", { class: "more" }, `+${number(found - hits.length)}`));
    return box;
  }

  end() {
    const stop = byId("stop"), had = document.activeElement === stop;
    stop.hidden = true;
    if (had) byId("photos").focus(); // a hidden button cannot keep the focus
  }
}
