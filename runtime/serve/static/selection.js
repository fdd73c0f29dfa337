// The selected photos, the bar that says what can be done with them, and how they are taken along as files or as a list.

import { fetched, select } from "./api.js";
import { byId, el } from "./draw.js";
import { say, setFavourite } from "./stars.js";
import { number, t } from "./words.js";

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
    byId("pick-count").textContent = t("selected", { n: this.size });
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
    const stay = made.stay ? t("save.stay", { n: made.stay }) : "";
    const gone = made.gone ? t("save.gone", { n: made.gone }) : "";
    byId("take-says").replaceChildren(...[stay, gone].filter(Boolean).map((text) => el("p", {}, text)));
    const act = (label, todo, kept = false) => el("button", { type: "button", class: kept ? "go" : "small", onclick: () => { byId("take").close(); todo(); } }, label);
    byId("take-acts").replaceChildren(
      made.stay ? act(t("save.also", { n: made.stay }), () => this.take(kind, true)) : "",
      made.photos ? act(t("save.some", { photos: t("photos", { n: made.photos }) }), () => save(made, kind), true) : "");
    byId("take").showModal();
  }
}

// The browser fetches it by itself, so that no photo is in the page's memory.
function save(made, kind) {
  const link = el("a", { href: fetched(made.id, kind), download: `photos.${kind}` });
  document.body.append(link);
  link.click();
  link.remove();
  say(t(kind === "zip" ? "saving.photos" : "saving.list", { photos: t("photos", { n: made.photos }), mb: number(made.bytes / 1e6, 1) }));
}
