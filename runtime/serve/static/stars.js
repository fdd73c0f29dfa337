// Favourites: the star on a photo, and the line that takes the last marking back.

import { mark } from "./api.js";
import { byId, el } from "./draw.js";
import { t } from "./words.js";

const SHOWN = 8000; // ms that the line stays
const listeners = [];
let gone = null;

// `told(ids, favourite, edition)`: called after photos were marked, or their marks taken away.
export const onMarked = (told) => listeners.push(told);

// The button of one photo. `tabindex`: -1 where the key F does the same.
export function star(hit, tabindex = 0) {
  const node = el("button", { type: "button", class: "star", tabindex, "data-photo": hit.id, onclick: (event) => {
    event.stopPropagation();
    setFavourite([hit.id], node.getAttribute("aria-pressed") !== "true");
  } });
  draw(node, hit.favourite);
  return node;
}

function draw(node, favourite) {
  node.setAttribute("aria-pressed", Boolean(favourite));
  node.setAttribute("aria-label", t("favourite"));
  node.textContent = favourite ? "★" : "☆";
}

export async function setFavourite(ids, favourite, undone = false) {
  try {
    const changed = await mark(ids, favourite), all = new Set(changed.ids);
    for (const node of document.querySelectorAll(".star")) if (all.has(node.dataset.photo)) draw(node, favourite);
    for (const told of listeners) told(all, favourite, changed.edition);
    say(t(favourite ? "favourites.more" : "favourites.less", { n: changed.ids.length }),
      undone || !changed.ids.length ? null : () => setFavourite(changed.ids, !favourite, true));
  } catch (error) {
    say(error.message);
  }
}

// One line at the foot of the page, for a while, and how to undo what it says.
export function say(text, undo = null) {
  const line = byId("said");
  line.replaceChildren(el("span", {}, text), undo ? el("button", { type: "button", class: "small", onclick: undo }, t("undo")) : "");
  line.classList.add("up");
  clearTimeout(gone);
  gone = setTimeout(() => line.classList.remove("up"), SHOWN);
}
