// A photo in the grid: the picture, what it is, and the parts of its score; and what is said when an answer is doubtful.

import { thumbnail, whyGone } from "./api.js";
import { clip, clock, el, partClass, partName, PARTS, percent } from "./draw.js";
import { title, whereWhen } from "./titles.js";
import { list, number, remarked, t } from "./words.js";

const SLIGHT = 0.05; // of a part of the score: less is not worth a word
// Whether the memory to be shown is what the title was made of.
const named = (hit) => hit.shows && hit.memory.startsWith(hit.shows);

export function card(hit, best, first, open, light) {
  const said = hit.memory && !named(hit) ? clip(hit.memory, 140) : "", at = hit.clip?.second === undefined ? "" : t("clip.at", { at: clock(hit.clip.second) });
  const label = [hit.rank ? `${hit.rank}.` : "", title(hit), hit.clip ? `${t("video")} ${at}` : "", whereWhen(hit), hit.favourite ? t("favourite.key") : "", said, why(hit)].filter(Boolean).join(", ");
  const node = el("button", { type: "button", class: "card", "data-row": hit.row, "aria-label": label, tabindex: first ? 0 : -1, onclick: open,
    onfocus: () => light(hit.row), onblur: () => light(null), onpointerenter: () => light(hit.row), onpointerleave: () => light(null) },
    el("span", { class: "frame" }, hit.favourite ? el("span", { class: "loved", "aria-hidden": "true" }, "★") : null, picture(hit.row, first && hit.rank ? 800 : 320), hit.rank ? el("span", { class: "rank" }, String(hit.rank)) : null,
      hit.clip ? el("span", { class: "length" }, `▶ ${clock(hit.clip.end - hit.clip.start)}`) : null),
    el("span", { class: "caption" },
      el("span", { class: "line" }, el("strong", { title: hit.id }, title(hit)), hit.copies?.length ? el("span", { class: "tag", title: hit.copies.join(", ") }, `×${1 + hit.copies.length}`) : null, at ? el("span", { class: "tag" }, at) : null, el("span", { class: "when" }, whereWhen(hit))),
      said ? el("span", { class: "memory" }, said) : null,
      hit.score === null ? null : score(hit, best),
      hit.matched.length ? el("span", { class: "matched" }, hit.matched.map((name) => el("span", { class: "tag" }, clip(name, 28)))) : null));
  return node;
}

// What the album knows of a photo, as the viewer takes a hit.
export const glimpse = (photo) => ({ ...photo, memory: photo.memories[0]?.text ?? null, parts: {}, matched: [], score: null, rank: null });

// Small pictures, each of which `open(hits, at, within)` shows large.
export function thumbnails(hits, open) {
  const box = el("div", { class: "thumbs" });
  box.append(...hits.map((hit, i) => el("button", { type: "button", "data-row": hit.row, onclick: () => open(hits, i, box),
    "aria-label": [title(hit), whereWhen(hit), hit.memory && clip(hit.memory, 80)].filter(Boolean).join(", ") }, picture(hit.row, 320))));
  return box;
}

// The image, or in its place the line that says why it is not there.
export function picture(row, size, alt = "") {
  const sharp = size === 320 ? `${thumbnail(row, 320)} 1x, ${thumbnail(row, 800)} 2x` : null;
  const image = el("img", { src: thumbnail(row, size), srcset: sharp, alt, loading: "lazy", decoding: "async", draggable: "false" });
  // A tall picture in a wide frame would show its middle alone, which in a screenshot is blank.
  image.addEventListener("load", () => image.classList.toggle("tall", image.naturalHeight > 1.3 * image.naturalWidth));
  image.addEventListener("error", async () => {
    const gone = el("span", { class: "gone" }, el("span", { class: "gone-mark", "aria-hidden": "true" }, "⌀"), el("span", {}, t("picture.looking")));
    image.replaceWith(gone);
    gone.lastChild.textContent = clip(await whyGone(row), 180);
  }, { once: true });
  return image;
}

// A clip that plays from a second on, or in its place its frame, where the browser cannot play it.
export function film(row, address, second) {
  const video = el("video", { src: `${address}#t=${second}`, poster: thumbnail(row, 800), controls: true, playsinline: true, preload: "metadata" });
  video.addEventListener("error", () => {
    const note = el("p", { class: "unplayable" }, t("video.unplayable"));
    video.replaceWith(picture(row, 1600), note);
  }, { once: true });
  return video;
}

export const parts = (hit) => {
  const place = (name) => (PARTS.includes(name) ? PARTS.indexOf(name) : PARTS.length);
  return Object.entries(hit.parts).filter(([, value]) => Math.abs(value) >= 0.0005).sort(([a], [b]) => place(a) - place(b));
};

// How much a hit is one of those wanted: of a search a probability, of what is similar to a photo the cosine.
export const sure = (hit) => (hit.probability === null ? t("cosine", { value: number(hit.score, 2) }) : t("likely", { percent: percent(hit.probability) }));

// What speaks for a hit, and what against it, the strongest first, in words.
export function reasons(hit) {
  const strongest = parts(hit).sort(([, a], [, b]) => Math.abs(b) - Math.abs(a)).filter(([, value]) => Math.abs(value) >= SLIGHT);
  const said = (key, sign) => {
    const names = strongest.filter(([, value]) => sign * value > 0).map(([name]) => partName(name));
    return names.length ? t(key, { parts: list(names) }) : "";
  };
  return [said("why.for", 1), said("why.against", -1)].filter(Boolean).join(" ");
}

const why = (hit) => (hit.score === null ? "" : hit.probability === null ? sure(hit) : `${sure(hit)}. ${reasons(hit)}`);

// What speaks for the photo side by side, and what speaks against it laid over the end: the rest is the score.
function score(hit, best) {
  const piece = ([name, value]) => {
    const node = el("i", { class: `${partClass(name)}${value < 0 ? " against" : ""}`, title: `${partName(name)} ${number(value, 3)}` });
    const share = `${(100 * Math.abs(value)) / best}%`;
    node.style.width = share;
    if (value < 0) node.style.marginLeft = `-${share}`;
    return node;
  };
  const shown = parts(hit), order = [...shown.filter(([, value]) => value > 0), ...shown.filter(([, value]) => value < 0)];
  return el("span", { class: "score" }, el("span", { class: "stack" }, order.map(piece)),
    el("span", { class: "sum", title: t(hit.probability === null ? "cosine" : "score", { value: number(hit.score, 3) }) }, hit.probability === null ? number(hit.score, 2) : percent(hit.probability)));
}

export const reach = (hit) => Object.values(hit.parts).reduce((sum, value) => sum + Math.max(0, value), 0);

export function legend(hits) {
  const names = new Set(hits.flatMap((hit) => parts(hit).map(([name]) => name)));
  const against = hits.some((hit) => parts(hit).some(([, value]) => value < 0));
  return [...[...names].map((name) => el("li", {}, el("i", { class: partClass(name) }), partName(name))),
    ...(against ? [el("li", {}, el("i", { class: "part against" }), t("part.against"))] : [])];
}

export const placeholders = (n) => Array.from({ length: n }, () => el("li", { "aria-hidden": "true" }, el("div", { class: "card waiting" }, el("span", { class: "frame" }), el("span", { class: "caption" }))));

// What an honest answer says before its photos, or null.
export function notHere({ answer, doubtful }) {
  const likely = percent(answer.presence);
  if (!answer.hits.length) return null;
  if (answer.count !== null && !doubtful) return { title: answer.remark ? remarked(answer.remark) : t("photos.counted", { n: answer.count }), text: t("counted") };
  if (doubtful && answer.remark) return { title: `${remarked(answer.remark)}.`, text: t("near", { percent: likely }) };
  if (doubtful) return { title: t("not.here"), text: t("near", { percent: likely }) };
  if (answer.trace.widened) return { title: t("not.here.cue"), text: t("not.here.cue.why") };
  return null;
}
