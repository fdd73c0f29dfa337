// The photos similar to one, as the grid takes hits: the cosine is drawn as the part of a score that it is in a search.

import { el } from "./draw.js";
import { picture } from "./photos.js";
import { title } from "./titles.js";
import { t } from "./words.js";

export const asHits = ({ channel, photos }) =>
  photos.map((photo, i) => ({ ...photo, rank: i + 1, score: photo.cosine, probability: null, parts: { [channel]: photo.cosine }, matched: [] }));

// The photo that the others are compared with, which `open(hit)` shows large, and by what they are compared.
export function compared({ asked, channel }, open) {
  const hit = { ...asked, rank: null, score: null, parts: {}, matched: [] };
  return [
    el("span", { class: "thumbs" }, el("button", { type: "button", "data-row": asked.row, "aria-label": t("like.of", { id: title(hit) }), onclick: () => open(hit) },
      picture(asked.row, 320))),
    el("span", { class: "cue" }, t(`like.${channel}`))];
}
