// Searches and selections that the person keeps under a name of their own, in the album's file.

import * as api from "./api.js";
import { byId, el } from "./draw.js";
import { say } from "./stars.js";
import { t } from "./words.js";

const NOT_KEPT = ["lang"];

export class Kept {
  // `go(address)`: shows what is kept; `pick(photos)`: selects photos {id}; `now()`: the photos that are selected.
  constructor(go, pick, now) {
    Object.assign(this, { go, pick, now });
    byId("keep").addEventListener("click", () => this.ask(() => ({ search: searched() })));
    byId("pick-keep").addEventListener("click", () => this.ask(() => ({ ids: this.now() })));
    byId("keep-no").addEventListener("click", () => byId("keep-as").close());
    byId("keep-form").addEventListener("submit", (event) => { event.preventDefault(); this.add(byId("keep-text").value.trim()); });
  }

  // `what()`: what the name is for; `renamed`: the collection that gets it instead.
  ask(what, renamed = null) {
    Object.assign(this, { what, renamed });
    byId("keep-text").value = renamed?.name ?? new URLSearchParams(location.search).get("q")?.slice(0, 60) ?? "";
    byId("keep-as").showModal();
  }

  // One of the same name takes the place of the earlier.
  async add(name) {
    if (!name) return;
    await this.write(() => (this.renamed ? api.rename(this.renamed.id, name) : api.keep({ name, ...this.what() })));
    byId("keep-as").close();
  }

  async write(change) {
    try {
      await change();
    } catch (error) {
      say(error.message);
    }
    await this.show();
  }

  async show() {
    const kept = await api.collections();
    byId("kept").hidden = !kept.length;
    byId("kept").replaceChildren(...kept.map((one) => el("li", {},
      el("button", { type: "button", class: "chip", onclick: () => (one.search ? this.go(one.search) : this.pick(one.photos)) }, one.search ? one.name : t("pair", { name: one.name, text: t("photos", { n: one.photos.length }) })),
      el("button", { type: "button", class: "drop", "aria-label": t("keep.rename", { name: one.name }), onclick: () => this.ask(null, one) }, "✎"),
      el("button", { type: "button", class: "drop less", "aria-label": t("keep.less", { name: one.name }), onclick: () => this.write(() => api.unkeep(one.id)) }, "×"))));
  }
}

function searched() {
  const given = new URLSearchParams(location.search);
  for (const part of NOT_KEPT) given.delete(part);
  return given.toString();
}
