// A photo in the grid: the picture, what it is, and the parts of its score; and what is said when an answer is doubtful.

import { thumbnail, whyGone } from "./api.js";
import { clip, day, el, partClass, partName, PARTS } from "./draw.js";

export function card(hit, best, first, open, light) {
  const when = day(hit.taken_at), said = hit.memory ? clip(hit.memory, 140) : "";
  const label = [hit.rank ? `${hit.rank}.` : "", hit.id, when ?? "no date", said, why(hit)].filter(Boolean).join(", ");
  const node = el("button", { type: "button", class: "card", "data-row": hit.row, "aria-label": label, tabindex: first ? 0 : -1, onclick: open,
    onfocus: () => light(hit.row), onblur: () => light(null), onpointerenter: () => light(hit.row), onpointerleave: () => light(null) },
    el("span", { class: "frame" }, picture(hit.row, first && hit.rank ? 800 : 320), hit.rank ? el("span", { class: "rank" }, String(hit.rank)) : null),
    el("span", { class: "caption" },
      el("span", { class: "line" }, el("strong", {}, clip(hit.id, 60)), el("span", { class: "when" }, when ?? "no date")),
      said ? el("span", { class: "memory" }, said) : null,
      hit.score === null ? null : score(hit, best),
      hit.matched.length ? el("span", { class: "matched" }, hit.matched.map((name) => el("span", { class: "tag" }, clip(name, 28)))) : null));
  return node;
}

// The image, or in its place the line that says why it is not there.
export function picture(row, size, alt = "") {
  const sharp = size === 320 ? `${thumbnail(row, 320)} 1x, ${thumbnail(row, 800)} 2x` : null;
  const image = el("img", { src: thumbnail(row, size), srcset: sharp, alt, loading: "lazy", decoding: "async", draggable: "false" });
  image.addEventListener("error", async () => {
    const gone = el("span", { class: "gone" }, el("span", { class: "gone-mark", "aria-hidden": "true" }, "⌀"), el("span", {}, "Looking…"));
    image.replaceWith(gone);
    gone.lastChild.textContent = clip(await whyGone(row), 180);
  }, { once: true });
  return image;
}

export const parts = (hit) => {
  const order = Object.keys(PARTS);
  const place = (name) => (order.includes(name) ? order.indexOf(name) : order.length);
  return Object.entries(hit.parts).filter(([, value]) => Math.abs(value) >= 0.0005).sort(([a], [b]) => place(a) - place(b));
};

const why = (hit) => (hit.score === null ? "" : `score ${hit.score.toFixed(2)}: ${parts(hit).map(([name, value]) => `${partName(name)} ${value.toFixed(2)}`).join(", ")}`);

function score(hit, best) {
  const bar = el("span", { class: "stack" }, parts(hit).map(([name, value]) => {
    const piece = el("i", { class: partClass(name), title: `${partName(name)} ${value.toFixed(3)}` });
    piece.style.width = `${(100 * Math.max(0, value)) / best}%`;
    return piece;
  }));
  return el("span", { class: "score" }, bar, el("span", { class: "sum" }, hit.score.toFixed(2)));
}

export function legend(hits) {
  const names = new Set(hits.flatMap((hit) => parts(hit).map(([name]) => name)));
  return [...names].map((name) => el("li", {}, el("i", { class: partClass(name) }), partName(name)));
}

export const placeholders = (n) => Array.from({ length: n }, () => el("li", { "aria-hidden": "true" }, el("div", { class: "card waiting" }, el("span", { class: "frame" }), el("span", { class: "caption" }))));

// What an honest answer says before its photos, or null.
export function notHere({ trace }) {
  if (trace.widened) return { title: "No photo fits that time and place.", text: "The cue was set aside and the whole album ranked: take these with a grain of salt." };
  return null;
}
