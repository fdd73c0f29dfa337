// The filter: fields, the address and the API's words for it. Days in the address and the fields, milliseconds in the API.

import { byId, day, el } from "./draw.js";
import { DETAILS } from "./fields.js";
import { named, number, t } from "./words.js";

const DAY = 86400000;
const SOURCES = ["chat", "social", "ocr", "caption", "note", "people", "label", "place"];
const TYPED = ["from", "to", "place", "source", "person", "folder", ...DETAILS];
const FIELDS = [...TYPED, "favourites", "box"];

export class Filters {
  // `changed()`: called when the person has changed the filter.
  constructor(changed) {
    this.values = {};
    this.changed = changed;
    this.choices = {};
    byId("filter-people").after(...DETAILS.map((name) =>
      el("label", { id: `filter-${name}s`, hidden: true }, `${t(`field.${name}`)} `, el("select", { id: `filter-${name}` }))));
    byId("filter").addEventListener("submit", (event) => event.preventDefault());
    for (const name of TYPED) byId(`filter-${name}`).addEventListener("change", (event) => this.set(name, event.target.value.trim()));
    byId("filter-favourites").addEventListener("click", () => this.set("favourites", this.values.favourites ? "" : "only"));
  }

  sources(found) {
    byId("filter-source").replaceChildren(el("option", { value: "" }, t("filter.source.any")),
      ...found.map(({ source, photos }) => el("option", { value: source }, `${t(`source.${source}`)} (${number(photos)})`)));
    byId("filter-source").value = this.values.source ?? "";
  }

  // What the album has to choose from.
  offers(album) {
    this.choices = album;
    this.offer();
  }

  offer() {
    offered(byId("filter-people"), byId("filter-person"), t("filter.person.any"), this.choices.people ?? [], this.values.person);
    offered(byId("filter-folders"), byId("filter-folder"), t("choice.any"), this.choices.folders ?? [], this.values.folder);
    for (const name of DETAILS)
      offered(byId(`filter-${name}s`), byId(`filter-${name}`), t("choice.any"), this.choices[`${name}s`] ?? [], this.values[name], (value) => named(`field.${name}.${value}`, value));
  }

  set(name, value) {
    this.values = { ...this.values, [name]: value };
    this.draw();
    this.changed();
  }

  // From an address; what is no day, no source or no rectangle is passed over.
  read(given) {
    const fits = { from: isDay, to: isDay, place: (text) => text.length <= 80 && text.trim(), source: (text) => SOURCES.includes(text), person: isName, folder: isName, ...each(() => isName), favourites: (text) => text === "only",
      box: (text) => /^-?\d{1,3}(\.\d{1,9})?(,-?\d{1,3}(\.\d{1,9})?){3}$/.test(text) };
    this.values = {};
    for (const name of FIELDS) if (given.get(name) && fits[name](given.get(name))) this.values[name] = given.get(name);
    this.draw();
  }

  get address() {
    return FIELDS.filter((name) => this.values[name]).map((name) => [name, this.values[name]]);
  }

  get any() {
    return this.address.length > 0;
  }

  // As the API takes it.
  get asked() {
    const { from, to, favourites } = this.values, out = {};
    if (from) out.start = Date.parse(`${from}T00:00:00Z`);
    if (to) out.end = Date.parse(`${to}T00:00:00Z`) + DAY - 1;
    if (favourites) out.favourites = true;
    for (const name of [...TYPED.slice(2), "box"]) if (this.values[name]) out[name] = this.values[name];
    return out;
  }

  draw() {
    const { from, to, place, source, person, folder, favourites, box } = this.values;
    this.offer();
    for (const name of TYPED) byId(`filter-${name}`).value = this.values[name] ?? "";
    byId("filter-favourites").setAttribute("aria-pressed", Boolean(favourites));
    const told = (name, value) => value && t(`filter.${name}.told`, { value });
    const said = { from: told("from", from && day(Date.parse(from))), to: told("to", to && day(Date.parse(to))), place: told("place", place), source: told("source", source && t(`source.${source}`)), person: told("person", person), folder: told("folder", folder),
      ...each((name) => this.values[name] && t(`field.${name}.told`, { value: named(`field.${name}.${this.values[name]}`, this.values[name]) })), box: told("box", box) };
    const set = FIELDS.filter((name) => said[name]); // the button of the favourites says so itself
    byId("filter-said").replaceChildren(...set.map((name) =>
      el("li", {}, el("button", { type: "button", class: "cue", "aria-label": t("filter.without", { filter: said[name] }), onclick: () => this.set(name, "") }, said[name], " ×"))),
      set.length > 1 ? el("li", {}, el("button", { type: "button", class: "cue", onclick: () => this.clear() }, t("filter.clear"))) : "");
    byId("filter-open").textContent = set.length ? t("filter.number", { n: set.length }) : t("filter");
  }

  clear() {
    this.values = {};
    this.draw();
    this.changed();
  }
}

const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
const each = (of) => Object.fromEntries(DETAILS.map((name) => [name, of(name)]));
const isName = (text) => text.length <= 200 && text.trim();

// The choice of a name; one in the address that is not among the most seen is offered, too, so that the field shows what is set.
function offered(label, field, none, known, chosen, worded = (name) => name) {
  const names = chosen && !known.some(({ name }) => name === chosen) ? [...known, { name: chosen }] : known;
  label.hidden = !names.length;
  field.replaceChildren(el("option", { value: "" }, none),
    ...names.map(({ name, photos }) => el("option", { value: name }, photos ? `${worded(name)} (${number(photos)})` : worded(name))));
  field.value = chosen ?? "";
}
