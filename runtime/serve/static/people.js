// The people in the photos: a strip of faces, and a dialog in which one is named, made one with another, taken apart and forgotten.

import * as api from "./api.js";
import { byId, el } from "./draw.js";
import { say } from "./stars.js";
import { plain, t } from "./words.js";

export class People {
  // `photosOf(name)`: shows a person's photos. `changed()`: called when names were written to photos.
  constructor(photosOf, changed) {
    Object.assign(this, { photosOf, changed, people: [], person: null, picked: new Set(), busy: false });
    byId("person-name").addEventListener("submit", (event) => { event.preventDefault(); this.write(() => api.namePerson(this.person.id, byId("person-text").value), "people.named"); });
    byId("person-photos").addEventListener("click", () => { byId("person").close(); this.photosOf(this.person.name); });
    byId("person-same").addEventListener("change", (event) => event.target.value && this.write(() => api.mergePeople(this.person.id, [event.target.value]), "people.merged"));
    byId("person-split").addEventListener("click", () => this.write(() => api.splitPerson(this.person.id, [...this.picked]), "people.split.done"));
    byId("person-close").addEventListener("click", () => byId("person").close());
    // Asked twice: what is forgotten does not come back.
    byId("person-forget").addEventListener("click", () => { byId("person-sure").hidden = false; byId("person-yes").focus(); });
    byId("person-no").addEventListener("click", () => { byId("person-sure").hidden = true; byId("person-forget").focus(); });
    byId("person-yes").addEventListener("click", () => this.write(() => api.forgetPerson(this.person.id), "people.forgotten", false));
  }

  async show() {
    this.people = (await api.people()).people;
    byId("people").hidden = !this.people.length;
    byId("people").replaceChildren(...this.people.map((one) => el("li", {}, el("button", { type: "button", "data-person": one.id, onclick: () => this.open(one.id).catch((error) => say(error.message)) },
      this.face(one.face, one.name ?? ""), el("span", { class: one.name ? null : "unnamed" }, one.name ?? t("people.who")), el("small", {}, t("photos", { n: one.photos }))))));
  }

  face = (id, alt) => el("img", { src: api.face(id), alt, width: 64, height: 64, loading: "lazy", decoding: "async", draggable: "false" });

  async open(id) {
    const { person, faces } = await api.person(id);
    this.person = person;
    this.picked.clear();
    byId("person-title").textContent = person.name ?? t("people.who");
    byId("person-text").value = person.name ?? "";
    byId("person-photos").hidden = !person.name;
    byId("person-sure").hidden = true;
    byId("person-faces").replaceChildren(...faces.map((one, i) => {
      const node = el("button", { type: "button", "aria-pressed": "false", "aria-label": t("people.face", { n: i + 1 }), onclick: () => {
        if (!this.picked.delete(one.id)) this.picked.add(one.id);
        node.setAttribute("aria-pressed", this.picked.has(one.id));
        this.offer(faces.length);
      } }, this.face(one.id, ""));
      return node;
    }));
    byId("person-same").replaceChildren(el("option", { value: "" }, t("people.same")),
      ...this.people.filter((other) => other.id !== person.id).map((other) => el("option", { value: other.id }, `${other.name ?? t("people.who")} (${t("photos", { n: other.photos })})`)));
    byId("person-same").disabled = this.people.length < 2;
    this.offer(faces.length);
    if (!byId("person").open) byId("person").showModal();
  }

  // Some faces, not all of them, may be somebody else's.
  offer(all) {
    byId("person-split").disabled = !this.picked.size || this.picked.size === all;
  }

  // One change at a time. Then the person is shown as they are now, or nobody.
  async write(call, key, stays = true) {
    if (this.busy) return;
    this.busy = true;
    byId("person").setAttribute("aria-busy", "true");
    byId("person-error").textContent = "";
    try {
      await call();
      await this.show();
      if (stays) await this.open(this.person.id);
      else byId("person").close();
      say(plain(key));
      this.changed();
    } catch (error) {
      byId("person-error").textContent = error.message;
    } finally {
      this.busy = false;
      byId("person").setAttribute("aria-busy", "false");
    }
  }
}
