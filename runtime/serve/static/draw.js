// Elements, and how days are written. Text only ever becomes text nodes: what an album holds is not markup.

import { locale, named, number, t } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const byId = (id) => document.getElementById(id);

const DAY = new Intl.DateTimeFormat(locale, { timeZone: "UTC", day: "numeric", month: "short", year: "numeric" });
const MOMENT = new Intl.DateTimeFormat(locale, { timeZone: "UTC", dateStyle: "full", timeStyle: "short" });
const LONG_DAY = new Intl.DateTimeFormat(locale, { timeZone: "UTC", dateStyle: "long" });
const MONTH = new Intl.DateTimeFormat(locale, { timeZone: "UTC", month: "short", year: "numeric" });
const FULL_MONTH = new Intl.DateTimeFormat(locale, { timeZone: "UTC", month: "long", year: "numeric" });
const said = (format, time) => (time === null || Math.abs(time) > 8.64e15 ? null : format.format(time));

export const day = (time) => said(DAY, time);
export const longDay = (time) => said(LONG_DAY, time);
export const moment = (time) => said(MOMENT, time);
export const month = (time) => said(MONTH, time);
export const fullMonth = (time) => said(FULL_MONTH, time);
export const ms = (value) => number(value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
export const percent = (share) => (share >= 0.995 ? "> 99 %" : share < 0.01 ? "< 1 %" : `${Math.round(100 * share)} %`);
// A time in a clip, or its length: 0:12, 1:02:05.
export const clock = (seconds) => {
  const whole = Math.floor(seconds), two = (n) => String(n).padStart(2, "0");
  const minutes = Math.floor(whole / 60), hours = Math.floor(minutes / 60);
  return hours ? `${hours}:${two(minutes % 60)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
};
export const degrees = (lat, lon) => `${t(lat < 0 ? "south" : "north", { value: number(Math.abs(lat), 2) })}, ${t(lon < 0 ? "west" : "east", { value: number(Math.abs(lon), 2) })}`;
export const clip = (text, length) => (text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text);

// Hits that would cover one another share a marker, "1 2" or "1+5". `place(hit)` is [x, y] in pixels.
export function markers(hits, place, mark) {
  let groups = hits.map((hit) => ({ at: place(hit), hits: [hit] }));
  for (let before = 0; before !== groups.length; ) { // a pill grows with what it takes in, and may then touch the next
    before = groups.length;
    groups = groups.reduce((kept, group) => {
      const near = kept.find((other) => Math.abs(other.at[1] - group.at[1]) < 20 && Math.abs(other.at[0] - group.at[0]) < (wide(other.hits) + wide(group.hits)) / 2);
      if (near) near.hits.push(...group.hits);
      else kept.push(group);
      return kept;
    }, []);
  }
  for (const group of groups) group.hits.sort((a, b) => a.rank - b.rank);
  return groups.reverse().map((group) => mark(group.at, pill(group), wide(group.hits)));
}

const label = (hits) => (hits.length > 3 ? `${hits[0].rank}+${hits.length - 1}` : hits.map((hit) => hit.rank).join(" "));
const wide = (hits) => Math.max(20, 9 + label(hits).length * 7);

function pill({ at, hits }) {
  const width = wide(hits);
  return svg("g", { class: "marker", "data-rows": hits.map((hit) => hit.row).join(" "), transform: `translate(${at[0]} ${at[1]})` },
    svg("rect", { x: -width / 2, y: -10, width, height: 20, rx: 10 }), svg("text", { y: 4 }, label(hits)),
    svg("title", {}, hits.map((hit) => `${hit.rank}. ${hit.id}`).join("\n")));
}

export function light(root, row) {
  for (const node of root.querySelectorAll("[data-rows]")) node.classList.toggle("active", node.dataset.rows.split(" ").includes(String(row)));
}

// The summands of a score, in the order they are drawn. A name that is not here is shown as the engine gives it.
export const PARTS = ["text", "image", "words", "coverage", "context_words", "context_coverage", "entity", "related", "cue", "earlier", "title", "unknown", "cosine", "product"];
export const partClass = (name) => `part part-${PARTS.includes(name) ? name : "other"}`;
export const partName = (name) => named(`part.${name}`, name);
