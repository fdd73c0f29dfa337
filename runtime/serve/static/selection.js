// The selected photos, the bar that says what can be done with them, and how they are taken along as files or as a list.

import { fetched, select } from "./api.js";
import { byId, count, el } from "./draw.js";
import { say, setFavourite } from "./stars.js";

export class Selection {
  constructor() {
    this.photos = new Map(); // by id
    this.changed = () => null;
    byId("pick-clear").addEventListener("click", () => this.clear());
    byId("pick-star").addEventListener("click", () => setFavourite(this.ids, [...this.photos.values()].some((hit) => !hit.favourite)));
    byId("pick-zip").addEventListener("click", () => this.take("zip"));
    byId("pick-list").addEventListener("click", () => this.take("txt"));
    byId("take-no").addEventListener("click", () => byId("take").close());
  }

  get size() {
    return this.photos.size;
  }

  get ids() {
    return [...this.photos.keys()];
  }

  has(id) {
    return this.photos.has(id);
  }

  toggle(hit) {
    if (!this.photos.delete(hit.id)) this.photos.set(hit.id, hit);
    this.draw();
  }

  add(hits) {
    for (const hit of hits) this.photos.set(hit.id, hit);
    this.draw();
  }

  clear() {
    this.photos.clear();
    this.draw();
  }

  draw() {
    byId("picked").hidden = !this.size;
    document.body.classList.toggle("picking", this.size > 0);
    byId("pick-count").textContent = `${this.size.toLocaleString("en")} selected`;
    this.changed();
  }

  // Asks what may leave; tells of what stays before anything is saved.
  async take(kind, all = false) {
    try {
      const made = await select(this.ids, all);
      if (!made.stay && !made.gone) return save(made, kind);
      this.tell(made, kind);
    } catch (error) {
      say(error.message);
    }
  }

  tell(made, kind) {
    const stay = made.stay ? `${count(made.stay, "photo")} ${made.stay === 1 ? "is" : "are"} labelled to stay on this device, and left out.` : "";
    const gone = made.gone ? `${count(made.gone, "photo")} ${made.gone === 1 ? "has" : "have"} no picture file any more.` : "";
    byId("take-says").replaceChildren(...[stay, gone].filter(Boolean).map((text) => el("p", {}, text)));
    const act = (label, todo, kept = false) => el("button", { type: "button", class: kept ? "go" : "small", onclick: () => { byId("take").close(); todo(); } }, label);
    byId("take-acts").replaceChildren(
      made.stay ? act(`Also ${made.stay === 1 ? "that one" : `those ${made.stay.toLocaleString("en")}`}`, () => this.take(kind, true)) : "",
      made.photos ? act(`Save ${count(made.photos, "photo")}`, () => save(made, kind), true) : "");
    byId("take").showModal();
  }
}

// The browser fetches it by itself, so that no photo is in the page's memory.
function save(made, kind) {
  const link = el("a", { href: fetched(made.id, kind), download: `photos.${kind}` });
  document.body.append(link);
  link.click();
  link.remove();
  say(kind === "zip" ? `Saving ${count(made.photos, "photo")}, ${(made.bytes / 1e6).toFixed(1)} MB` : `Saving a list of ${count(made.photos, "photo")}`);
}
