// One photo or clip, large, in a dialog: everything the album knows of it and the parts of its score. Arrows turn the page, Esc and the
// browser's Back close.

import { motion, opened, original, photo } from "./api.js";
import { byId, clip, clock, degrees, el, moment, partClass, partName } from "./draw.js";
import { DETAILS } from "./fields.js";
import { film, parts, picture, reasons, sure } from "./photos.js";
import { star } from "./stars.js";
import { entitle, title } from "./titles.js";
import { named, number, t } from "./words.js";
import { Zoom } from "./zoom.js";

const SHOWN = /\.(jpe?g|png|webp|gif|bmp)$/i; // what browsers show of a file itself

export class Viewer {
  // `closed(row, within, at)`: gives the focus back; `similar(hit)`, `talkOf(hit)`: show the photos similar to one, and a
  // conversation about it, in its step's place.
  constructor(closed, similar, talkOf) {
    this.dialog = byId("viewer");
    this.hits = [];
    this.at = 0;
    this.returning = false;
    this.zoom = new Zoom(byId("viewer-picture"), (image) => this.sharpen(image));
    byId("closer").addEventListener("click", () => this.zoom.key("+"));
    byId("further").addEventListener("click", () => this.zoom.key("-"));
    byId("prev").addEventListener("click", () => this.turn(-1));
    byId("next").addEventListener("click", () => this.turn(1));
    byId("close").addEventListener("click", () => this.dialog.close());
    for (const [id, go] of [["similar", similar], ["talk-of", talkOf]]) {
      byId(id).addEventListener("click", () => {
        if (this.returning) return;
        history.replaceState(null, "");
        const hit = this.hits[this.at];
        this.dialog.addEventListener("close", () => go(hit), { once: true }); // behind what gives the focus back
        this.dialog.close();
      });
    }
    this.dialog.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by) return event.target.tagName === "VIDEO" || this.turn(by); // in a clip, arrows seek
      if (this.zoom.key(event.key)) event.preventDefault();
      else if (event.key === "f") this.dialog.querySelector(".star")?.click();
    });
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => {
      byId("viewer-picture").replaceChildren(); // a clip stops
      closed(this.hits[this.at].row, this.within, this.at);
      if (this.returning || !history.state?.photo) return;
      this.returning = true;
      history.back();
    });
  }

  // `hits`: all of them, or a list that `need(at)` fills. `within`: the element that holds the photos to choose from, for the focus afterwards.
  open(hits, at, within) {
    Object.assign(this, { hits, at, within });
    const query = new URLSearchParams(location.search).get("q");
    if (query?.trim() && hits[at].rank) opened(hits[at].row, query).catch(() => null);
    // A step back takes its time; `stepped` keeps the state of a photo that opens meanwhile.
    if (!this.returning) history.pushState({ photo: true }, "");
    this.dialog.showModal();
    this.draw();
  }

  // Whether a step in the browser's history was to or from a photo, so that the page behind it stays as it is.
  stepped() {
    if (this.returning) {
      this.returning = false;
      if (this.dialog.open) history.pushState({ photo: true }, "");
      return true;
    }
    if (!this.dialog.open) return false;
    this.dialog.close();
    return true;
  }

  async turn(by) {
    const to = this.at + by;
    if (to < 0 || to >= this.hits.length) return;
    if (!this.hits[to]) await this.hits.need(to).catch(() => null);
    if (!this.hits[to] || !this.dialog.open) return;
    this.at = to;
    this.draw();
  }

  // The file itself in the place of its preview, where the browser shows it.
  sharpen(image) {
    if (!SHOWN.test(this.file ?? "") || image.dataset.sharp) return;
    image.dataset.sharp = "coming";
    const whole = new Image();
    whole.addEventListener("load", () => { image.srcset = ""; image.src = whole.src; });
    whole.src = original(this.hits[this.at].row);
  }

  async draw() {
    const hit = this.hits[this.at];
    for (const [button, last] of [[byId("prev"), 0], [byId("next"), this.hits.length - 1]]) {
      // A button that is disabled loses the focus, and the dialog its keys.
      if (this.at === last && document.activeElement === button) byId("close").focus();
      button.disabled = this.at === last;
    }
    this.file = null;
    const play = (part) => byId("viewer-picture").replaceChildren(film(hit.row, original(hit.row), part.second ?? part.start));
    if (hit.clip) play(hit.clip);
    else byId("viewer-picture").replaceChildren(picture(hit.row, 1600, clip(hit.memory ?? title(hit), 200)));
    this.zoom.reset();
    byId("viewer-facts").replaceChildren(heading(hit));
    const [known] = await Promise.all([photo(hit.row).catch(() => null), hit.place === undefined && entitle([hit])]);
    if (hit !== this.hits[this.at] || !known) return;
    // Rows change when photos are removed: what is shown must be the photo that was asked for.
    if (known.id !== hit.id) return byId("viewer-facts").replaceChildren(el("p", { class: "banner" }, t("album.changed")));
    hit.favourite = known.favourite;
    this.file = known.name;
    byId("viewer-facts").replaceChildren(...facts(hit, known));
    if (known.clip && !hit.clip) play(known.clip); // an answer to a question does not say which photos are clips
  }
}

const heading = (hit) => el("h2", { id: "viewer-title", title: hit.id }, hit.rank ? `${hit.rank}. ${title(hit)}` : title(hit));

function facts(hit, known) {
  const rows = [
    [t("taken"), moment(known.taken_at) ?? t("unknown")],
    [t("map"), known.lat === null ? t("unknown") : el("span", { title: degrees(known.lat, known.lon) }, hit.place ?? degrees(known.lat, known.lon))],
    [t("file"), known.name ? el("a", { href: original(hit.row), target: "_blank", rel: "noopener" }, known.name) : t("none")],
    ...DETAILS.map((name) => [t(`field.${name}`), named(`field.${name}.${known[name]}`, known[name])]),
    [t("stays"), known.stays ? t("stays.here") : null],
    [t("clip"), known.clip && t("clip.part", { start: clock(known.clip.start), end: clock(known.clip.end), length: clock(known.clip.length) })],
    [t("motion"), known.live && el("button", { type: "button", class: "small", onclick: () => byId("viewer-picture").replaceChildren(film(hit.row, motion(hit.row), 0)) }, t("motion.play"))],
    [t("sharing"), known.sharing],
    [t("sensitivity"), known.sensitivity],
  ].filter(([, value]) => value);
  return [
    heading(hit),
    star(hit),
    el("dl", {}, rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    known.memories.length ? el("h3", {}, t("viewer.memories")) : "",
    ...known.memories.map((memory) => el("blockquote", {}, el("span", { class: "tag" }, memory.source), " ", clip(memory.text, 2000))),
    hit.score === null ? "" : el("h3", {}, t("why", { sure: sure(hit) })),
    hit.score === null || hit.probability === null ? "" : el("p", { class: "reasons" }, reasons(hit)),
    hit.score === null ? "" : el("details", { class: "odds" }, el("summary", {}, t("why.odds")), el("p", { class: "note" }, t("score", { value: number(hit.score, 3) })),
      el("ul", { class: "why" }, parts(hit).map(([name, value]) => el("li", {}, el("i", { class: partClass(name) }), partName(name), el("span", {}, number(value, 3)))))),
    hit.matched.length ? el("p", { class: "note" }, t("entities.of", { names: hit.matched.join(", ") })) : "",
  ];
}
