// Searches and selections that the person keeps under a name of their own, in this browser's storage: the album's file has no place for them.

import { byId, el } from "./draw.js";
import { t } from "./words.js";

const MOST = 100; // kept of an album
const NOT_KEPT = ["lang"];

export class Kept {
  // `go(address)`: shows what is kept; `pick(photos)`: selects photos {id}; `now()`: the photos that are selected.
  constructor(go, pick, now) {
    Object.assign(this, { go, pick, now, name: `gamer-kept ${location.pathname}` });
    byId("keep").addEventListener("click", () => this.ask(""));
    byId("pick-keep").addEventListener("click", () => this.ask("photos"));
    byId("keep-no").addEventListener("click", () => byId("keep-as").close());
    byId("keep-form").addEventListener("submit", (event) => { event.preventDefault(); this.add(byId("keep-text").value.trim()); });
    this.draw();
  }

  // Storage may be off, or hold what another page wrote.
  get all() {
    try {
      const found = JSON.parse(localStorage.getItem(this.name) ?? "[]");
      return Array.isArray(found) ? found.filter((one) => typeof one?.name === "string" && (Array.isArray(one.photos) || typeof one.address === "string")).slice(0, MOST) : [];
    } catch {
      return [];
    }
  }

  set all(kept) {
    try { localStorage.setItem(this.name, JSON.stringify(kept)); } catch { /* storage may be off */ }
    this.draw();
  }

  ask(what) {
    this.what = what;
    byId("keep-text").value = new URLSearchParams(location.search).get("q")?.slice(0, 60) ?? "";
    byId("keep-as").showModal();
  }

  // One of the same name takes the place of the earlier.
  add(name) {
    if (!name) return;
    const given = new URLSearchParams(location.search);
    for (const part of NOT_KEPT) given.delete(part);
    const one = this.what === "photos" ? { name, photos: this.now() } : { name, address: given.toString() };
    this.all = [one, ...this.all.filter((other) => other.name !== name)].slice(0, MOST);
    byId("keep-as").close();
  }

  draw() {
    const kept = this.all;
    byId("kept").hidden = !kept.length;
    byId("kept").replaceChildren(...kept.map((one) => el("li", {},
      el("button", { type: "button", class: "chip", onclick: () => (one.photos ? this.pick(one.photos) : this.go(one.address)) }, one.photos ? t("pair", { name: one.name, text: t("photos", { n: one.photos.length }) }) : one.name),
      el("button", { type: "button", class: "drop", "aria-label": t("keep.less", { name: one.name }), onclick: () => { this.all = this.all.filter((other) => other.name !== one.name); } }, "×"))));
  }
}
