// The whole album as one long page, newest first. Only the rows in view are elements; photos are fetched by pages as they come
// into view, pictures once the page has almost come to rest.

import { thumbnail, timeline, photos, whyGone } from "./api.js";
import { byId, clip, el, fullMonth } from "./draw.js";
import { Layout } from "./layout.js";
import { star } from "./stars.js";
import { inWords, title, whereWhen } from "./titles.js";
import { t } from "./words.js";

const PAGE = 200, BEYOND = 500, FAST = 4, REST = 110; // photos; pixels beyond the view; pixels a millisecond; ms
const AGAIN = 2000; // ms until a picture is asked for again that the server had no time for
const LOOK = 15000; // ms between two looks whether the album has changed

export class Browse {
  // `open(list, at)`: shows one photo; `selection`: what is selected, by id; `failed(error)`.
  constructor(box, { open, selection, failed }) {
    Object.assign(this, { box, open, selection, failed });
    this.shown = new Map(); // row's index → element
    this.list = [];
    this.pages = new Map();
    this.at = 0;
    this.filter = {};
    this.wanted = 0;
    addEventListener("scroll", () => this.scrolled(), { passive: true });
    new ResizeObserver(() => this.width !== box.clientWidth && this.measure()).observe(box);
    box.addEventListener("click", (event) => this.clicked(event));
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("focusin", (event) => this.focused(event.target));
    selection.changed = () => this.dressAll();
    this.rail();
    setInterval(() => this.look(), LOOK);
    document.addEventListener("visibilitychange", () => this.look());
  }

  get hidden() {
    return byId("browse").hidden;
  }

  // Shows the photos that a filter lets through; returns their number.
  async show(filter) {
    const mine = (this.wanted += 1);
    const shelf = await timeline(filter);
    if (mine !== this.wanted) return null;
    this.filter = filter;
    this.take(shelf);
    return shelf.total;
  }

  take(shelf) {
    this.edition = shelf.edition;
    this.shelf = shelf;
    this.pages.clear();
    this.list = Object.assign(new Array(shelf.total), { need: (at) => this.page(Math.floor(at / PAGE)) });
    this.at = Math.min(this.at, Math.max(0, shelf.total - 1));
    this.measure();
    this.jumps();
  }

  // The album may be changed by another program; what is looked at stays where it is.
  async look() {
    if (this.hidden || document.hidden || !this.shelf || document.querySelector("dialog[open]")) return;
    const shelf = await timeline(this.filter).catch(() => null);
    if (shelf && !this.hidden && shelf.edition !== this.edition) this.take(shelf);
  }

  measure() {
    if (!this.shelf || this.hidden || !this.box.clientWidth) return;
    this.width = this.box.clientWidth;
    this.layout = new Layout(this.shelf.months, this.shelf.undated, this.width);
    this.box.style.height = `${this.layout.height}px`;
    this.box.setAttribute("aria-rowcount", this.layout.rows.length);
    this.box.setAttribute("aria-colcount", this.layout.columns);
    this.box.replaceChildren();
    this.shown.clear();
    this.years();
    this.render();
    this.fill();
  }

  get y() {
    return scrollY - this.top;
  }

  scrolled() {
    if (this.hidden || !this.layout) return;
    const now = performance.now(), far = Math.abs(scrollY - (this.lastY ?? scrollY));
    this.fast = far / Math.max(1, now - (this.lastTime ?? 0)) > FAST;
    this.lastY = scrollY;
    this.lastTime = now;
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.render();
      if (!this.fast) this.fill();
    });
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.fill(), REST);
  }

  // Makes the rows in view, and drops those that are far from it, but never the one that has the focus.
  render() {
    if (!this.layout || this.hidden) return;
    this.top = this.box.getBoundingClientRect().top + scrollY;
    const first = this.layout.rowAt(this.y - BEYOND), last = this.layout.rowAt(this.y + innerHeight + BEYOND);
    const fresh = document.createDocumentFragment();
    for (const [index, row] of this.shown) {
      if ((index >= first && index <= last) || row.contains(document.activeElement)) continue;
      row.remove();
      this.shown.delete(index);
    }
    for (let index = first; index <= last && index < this.layout.rows.length; index += 1) {
      if (this.shown.has(index)) continue;
      const row = this.row(index);
      this.shown.set(index, row);
      fresh.append(row);
    }
    this.box.append(fresh);
    this.mark();
  }

  row(index) {
    const { top, month, first, count: cells } = this.layout.rows[index];
    const node = el("div", { role: "row", "aria-rowindex": index + 1, class: month ? "month" : "row" });
    node.style.transform = `translateY(${top}px)`;
    if (month) {
      node.append(el("div", { role: "rowheader", "aria-colspan": this.layout.columns }, el("h2", {}, name(month)), el("span", {}, t("photos", { n: month.photos }))));
      return node;
    }
    node.style.height = `${this.layout.cell}px`;
    node.style.gridTemplateColumns = `repeat(${this.layout.columns}, minmax(0, 1fr))`;
    node.style.gap = `${this.layout.gap}px`;
    for (let at = first; at < first + cells; at += 1) node.append(this.cell(at));
    return node;
  }

  cell(at) {
    const node = el("div", { role: "gridcell", class: "cell", "data-at": at, tabindex: at === this.at ? 0 : -1 });
    this.dress(node);
    return node;
  }

  // What a cell says of its photo, once the photo is known.
  dress(node) {
    const at = Number(node.dataset.at), hit = this.list[at];
    if (!hit) return node.setAttribute("aria-label", t("photo.coming"));
    if (node.dataset.row !== String(hit.row)) {
      Object.assign(node.dataset, { row: hit.row, photo: hit.id });
      node.replaceChildren(el("span", { class: "tick", "aria-hidden": "true" }), star(hit, -1));
    }
    const picked = this.selection.has(hit.id);
    node.setAttribute("aria-selected", picked);
    node.setAttribute("aria-label", [title(hit), whereWhen(hit), hit.favourite ? t("favourite.key") : ""].filter(Boolean).join(", "));
  }

  dressAll() {
    for (const node of this.box.querySelectorAll(".cell")) this.dress(node);
    this.box.classList.toggle("selecting", this.selection.size > 0);
  }

  // Fetches the photos of the rows in view, then their pictures.
  async fill() {
    if (!this.layout || this.hidden) return;
    const cells = [...this.box.querySelectorAll(".cell")], needed = new Set();
    for (const node of cells) {
      const hit = this.list[node.dataset.at];
      if (!hit) needed.add(Math.floor(node.dataset.at / PAGE));
      else if (!node.querySelector("img, .gone")) node.prepend(picture(hit));
    }
    if (!needed.size) return;
    try {
      await Promise.all([...needed].map((page) => this.page(page)));
    } catch (error) {
      return this.failed(error);
    }
    this.dressAll();
    this.fill();
  }

  page(number) {
    if (!this.pages.has(number)) this.pages.set(number, this.fetched(number).catch((error) => { this.pages.delete(number); throw error; }));
    return this.pages.get(number);
  }

  async fetched(number) {
    const list = this.list, page = await photos(this.filter, number * PAGE, PAGE);
    if (list !== this.list) return;
    // The album has changed since the months were counted.
    if (page.edition !== this.edition) return setTimeout(() => this.look());
    page.photos.forEach((photo, i) => { list[number * PAGE + i] = asHit(photo); });
  }

  // A range of photos in order, fetched where they are not yet.
  async range(from, to) {
    const [first, last] = from < to ? [from, to] : [to, from];
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page += 1) await this.page(page);
    return this.list.slice(first, last + 1).filter(Boolean);
  }

  // Keys and clicks

  clicked(event) {
    const node = event.target.closest(".cell"), hit = node && this.list[node.dataset.at];
    if (!hit || event.target.closest(".star")) return;
    const at = Number(node.dataset.at);
    this.move(at, false);
    if (event.shiftKey) return this.extend(at);
    if (event.ctrlKey || event.metaKey || event.target.closest(".tick") || this.selection.size) return this.pick(at);
    this.open(this.list, at);
  }

  pick(at) {
    this.anchor = at;
    this.selection.toggle(this.list[at]);
  }

  async extend(at) {
    this.selection.add(await this.range(this.anchor ?? at, at));
    this.anchor ??= at;
  }

  key(event) {
    const hit = this.list[this.at], columns = this.layout.columns;
    if (!event.target.matches(".cell") || event.altKey) return;
    const to = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, ArrowDown: this.beside(1), ArrowUp: this.beside(-1), Home: 0, End: this.layout.total - 1,
      PageDown: this.at + columns * Math.max(1, Math.floor(innerHeight / this.layout.cell) - 1), PageUp: this.at - columns * Math.max(1, Math.floor(innerHeight / this.layout.cell) - 1) }[event.key];
    const all = event.key.toLowerCase() === "a" && (event.ctrlKey || event.metaKey);
    const acts = { Enter: () => hit && this.open(this.list, this.at), " ": () => hit && this.pick(this.at), f: () => event.target.querySelector(".star")?.click(), Escape: () => this.selection.size && this.selection.clear() };
    if (all) this.range(0, this.layout.total - 1).then((hits) => this.selection.add(hits), this.failed);
    else if (to === null) byId("query").focus();
    else if (to !== undefined) {
      if (event.shiftKey) this.anchor ??= this.at;
      this.move(Math.max(0, Math.min(this.layout.total - 1, to)));
      if (event.shiftKey) this.extend(this.at).catch(this.failed);
    } else if (event.ctrlKey || event.metaKey || !acts[event.key]) return;
    else if (event.key === "Escape" && !this.selection.size) return;
    else acts[event.key]();
    event.preventDefault();
    event.stopPropagation();
  }

  // The photo above or below, over a month's heading, too; null above the first row.
  beside(step) {
    const { rows } = this.layout;
    let index = this.layout.rowOf(this.at);
    const column = this.at - rows[index].first;
    do index += step; while (rows[index]?.month);
    if (!rows[index]) return step < 0 ? null : this.at;
    return rows[index].first + Math.min(column, rows[index].count - 1);
  }

  // Gives a photo the tab stop and, with `focus`, the focus; brings it into view.
  move(at, focus = true) {
    this.tab(at);
    if (!focus) return;
    const row = this.layout.rows[this.layout.rowOf(at)], head = document.querySelector(".top").offsetHeight + 12;
    if (row.top < this.y + head) scrollTo(0, this.top + row.top - head);
    else if (row.top + row.height > this.y + innerHeight) scrollTo(0, this.top + row.top + row.height - innerHeight + 12);
    this.render();
    this.fill();
    this.box.querySelector(`[data-at="${at}"]`)?.focus({ preventScroll: true });
  }

  tab(at) {
    this.box.querySelector('[tabindex="0"].cell')?.setAttribute("tabindex", -1);
    this.at = at;
    this.box.querySelector(`[data-at="${at}"]`)?.setAttribute("tabindex", 0);
  }

  focused(target) {
    if (target.matches(".cell")) this.tab(Number(target.dataset.at));
  }

  // After a photo was marked: what the page knows of it is brought up to date.
  marked(ids, favourite, edition) {
    this.edition = edition;
    for (const hit of this.list) if (hit && ids.has(hit.id)) hit.favourite = favourite;
    this.dressAll();
  }

  // Jumping

  jump(start) {
    const month = this.layout?.months.find((one) => one.start !== null && one.start <= start) ?? this.layout?.months.at(-1);
    if (!month) return;
    scrollTo(0, Math.max(0, this.top + month.top - document.querySelector(".top").offsetHeight - 8));
    this.tab(month.first);
    this.render();
    this.fill();
  }

  jumps() {
    const years = Map.groupBy(this.shelf.months, (month) => new Date(month.start).getUTCFullYear());
    byId("jump").replaceChildren(el("option", { value: "" }, t("jump.to")), ...[...years].map(([year, months]) =>
      el("optgroup", { label: t("pair", { name: String(year), text: t("photos", { n: months.reduce((sum, month) => sum + month.photos, 0) }) }) },
        months.map((month) => el("option", { value: month.start }, fullMonth(month.start))))));
    byId("jump").disabled = !this.shelf.months.length;
  }

  // The years beside the grid: a finger or the mouse moves through all of them.
  rail() {
    const rail = byId("rail");
    const to = (event) => {
      const box = rail.getBoundingClientRect(), share = Math.min(1, Math.max(0, (event.clientY - box.top) / box.height));
      scrollTo(0, Math.max(0, this.top + share * this.layout.height - innerHeight / 2));
    };
    rail.addEventListener("pointerdown", (event) => {
      if (!this.layout) return;
      rail.setPointerCapture(event.pointerId);
      rail.classList.add("held");
      to(event);
    });
    rail.addEventListener("pointermove", (event) => rail.classList.contains("held") && to(event));
    for (const end of ["pointerup", "pointercancel"]) rail.addEventListener(end, () => rail.classList.remove("held"));
  }

  years() {
    byId("rail").hidden = this.layout.height < 2 * innerHeight;
    const seen = new Set(), height = (this.railHeight = byId("rail").clientHeight || 4), out = []; // kept: asking in a scroll would lay the page out
    let free = -99;
    for (const month of this.layout.months) {
      const year = month.start === null ? null : new Date(month.start).getUTCFullYear();
      const top = (month.top / this.layout.height) * height;
      if (year === null || seen.has(year) || top < free) continue;
      seen.add(year);
      free = top + 22;
      const label = el("span", { class: "year" }, String(year));
      label.style.top = `${top}px`;
      out.push(label);
    }
    byId("rail-years").replaceChildren(...out);
  }

  // Where the view is among the years.
  mark() {
    const middle = this.y + innerHeight / 2, here = Math.min(1, Math.max(0, middle / Math.max(1, this.layout.height)));
    byId("rail-here").style.transform = `translateY(${here * (this.railHeight - 4)}px)`;
    const month = this.layout.monthAt(middle);
    if (month && byId("rail-said").textContent !== name(month)) byId("rail-said").textContent = name(month);
  }
}

const name = (month) => (month.start === null ? t("undated") : fullMonth(month.start));

export const asHit = (photo) => ({ ...photo, place: inWords(photo.place), memory: null, parts: {}, matched: [], score: null, rank: null, lat: null });

function picture(hit) {
  const image = el("img", { alt: "", decoding: "async", draggable: "false" });
  image.addEventListener("load", () => image.classList.add("there"), { once: true });
  image.addEventListener("error", async () => {
    const why = await whyGone(hit.row);
    if (why.startsWith("too many requests")) return setTimeout(() => image.isConnected && image.replaceWith(picture(hit)), AGAIN);
    image.replaceWith(el("span", { class: "gone" }, el("span", { class: "gone-mark", "aria-hidden": "true" }, "⌀"), clip(why, 90)));
  }, { once: true });
  image.src = thumbnail(hit.row, devicePixelRatio > 1.4 ? 800 : 320);
  return image;
}
