// What a photo is called on the page: what it shows, else where it was taken, else when, else as its file is.

import { titles } from "./api.js";
import { clip, day, longDay } from "./draw.js";
import { locale, t } from "./words.js";

const MOST = 100; // rows of a request
const regions = new Intl.DisplayNames(locale, { type: "region" });

// "Vienna, AT" in words.
export const inWords = (place) => place && place.replace(/, ([A-Z]{2})$/, (_, code) => `, ${regions.of(code)}`);

// Gives photos what they are called by. Without an answer they keep their day and file.
export async function entitle(photos) {
  const known = new Map();
  for (let at = 0; at < photos.length; at += MOST)
    for (const one of await titles(photos.slice(at, at + MOST).map(({ row }) => row)).catch(() => [])) known.set(one.row, one);
  for (const photo of photos) Object.assign(photo, { shows: known.get(photo.row)?.shows ?? null, place: inWords(known.get(photo.row)?.place) ?? null });
  return photos;
}

export function title({ id, shows, place, taken_at }) {
  if (shows) return shows[0].toUpperCase() + shows.slice(1);
  return place ?? longDay(taken_at) ?? clip(id.replace(/^.*[\\/]/, ""), 60);
}

// Where and when, as far as the title does not say it.
export function whereWhen({ shows, place, taken_at }) {
  const when = day(taken_at) ?? t("date.none");
  return [shows ? place : null, shows || place || taken_at === null ? when : null].filter(Boolean).join(" · ");
}
