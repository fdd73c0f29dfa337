// The steps of a question: each appears as it ends, with what was called in plain words, what it found and how long it took.

import { byId, clip, count, el, ms } from "./draw.js";
import { thumbnails } from "./photos.js";

const quoted = (text) => `“${clip(text, 120)}”`;

// A call in plain words, by its tool; arguments at their defaults are not sent.
const DONE = {
  search: (a) => [`Searched for ${[a.text && quoted(a.text), a.like && `photos like ${a.like.join(", ")}`].filter(Boolean).join(" and ")}`, a.every ? "all that fit" : a.k && `the best ${a.k}`],
  grep: (a) => [`Looked for the words ${quoted(a.words)}`, a.k && `the best ${a.k}`],
  filter: (a) => [a.where ? `Took the photos with ${clip(a.where, 200)}` : "Took the photos", a.order === "newest" ? "the newest first" : "the oldest first", a.limit && `at most ${a.limit}`],
  list: (a) => [`Counted the photos by ${a.by}`],
  metadata: (a) => [`Read time and place of ${a.ids.join(", ")}`],
  get: (a) => [`Read all that is known of ${a.id}`],
  view: (a) => [`Looked for ${quoted(a.prompt)}`, a.ids && `in ${a.ids.join(", ")}`],
  combine: (a) => [`Combined ${a.first} ${a.how} ${a.second}`],
};

const done = (tool, a) => [...(DONE[tool]?.(a) ?? [`Called ${tool}`]), a.within && `within “${a.within}”`, a.save_as && `kept as “${a.save_as}”`].filter(Boolean).join(", ");

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
    const found = step.error ? "" : count(step.found, "photo");
    byId("steps").append(el("li", {},
      el("p", { class: "thought" }, clip(step.thought, 400)),
      step.tool ? el("p", { class: "did" }, this.plain(done(step.tool, step.arguments))) : null,
      step.error ? el("p", { class: "wrong" }, clip(step.error, 300)) : null,
      step.note ? el("p", { class: "did" }, clip(step.note, 300)) : null,
      el("p", { class: "cost" }, [found, `${ms(step.ms)} ms`, step.left && `${count(step.left.calls, "call")} left`].filter(Boolean).join(" · ")),
      this.thumbnails(step.items.map((photo) => asHit(photo)), step.found)));
    byId("steps-said").append(el("p", {}, `Step ${this.number}: ${clip(step.thought, 200)} ${step.error ? clip(step.error, 200) : `${found}.`}`));
    byId("steps-total").textContent = `${count(this.number, "step")}, ${ms(this.spent)} ms`;
  }

  // The tools' names of photos are replaced by the ids that the page shows.
  plain(text) {
    return text.replace(/img_[0-9a-f]{10}/g, (ref) => (this.ids.has(ref) ? `“${clip(this.ids.get(ref), 60)}”` : ref));
  }

  thumbnails(hits, found) {
    if (!hits.length) return null;
    const box = thumbnails(hits, this.open);
    if (found > hits.length) box.append(el("span", { class: "more" }, `+${(found - hits.length).toLocaleString("en")}`));
    return box;
  }

  end() {
    const stop = byId("stop"), had = document.activeElement === stop;
    stop.hidden = true;
    if (had) byId("photos").focus(); // a hidden button cannot keep the focus
  }
}
