// What the album knows about its owner: listed by kind, shown with its sources and history, added to, corrected and forgotten.

import * as api from "./api.js";
import { byId, clip, el, moment } from "./draw.js";
import { Talk } from "./talk.js";
import { number, t } from "./words.js";

const KINDS = ["core", "procedural", "semantic", "episodic"];
const PAGE = 50;

// A memory without a name of its own is filed under a number, which says nothing to a reader.
const about = (memory) => (memory.block === "persona" ? t("memory.how", { text: memory.key.replace(/^persona: /, "") }) : /^(turn|note) \d+$/.test(memory.key) ? "" : memory.key);

function source(memory) {
  const from = memory.turns ? t("memory.turns", { n: memory.turns }) : "";
  const past = memory.past ? (memory.ends === null ? t("memory.past") : t("memory.past.since", { when: moment(memory.ends) })) : "";
  return [`${t(`origin.${memory.origin}`)} ${from}`.trim(), past, memory.sharing === "high" ? t("memory.shared") : ""].filter(Boolean).join(" · ");
}

const quote = (over, text) => el("blockquote", {}, el("small", {}, over), clip(text, 2000));
const when = (time) => el("time", { datetime: new Date(time).toISOString() }, moment(time));

// `stranger()` is called where the server wants its token, `open(hits, at, within)` shows a photo large.
export class Memory {
  constructor(stranger, open) {
    Object.assign(this, { stranger, load: 0, waits: 0, changing: false, chosen: null });
    this.talk = new Talk(stranger, () => this.run(() => this.refresh()), open, (id) => this.goTo(id));
    byId("own-past").addEventListener("change", () => this.open());
    byId("own-add").addEventListener("submit", (event) => { event.preventDefault(); this.add(); });
    byId("own-kind").addEventListener("change", () => this.wantKey());
    byId("forget-no").addEventListener("click", () => byId("forget").close());
    byId("forget-yes").addEventListener("click", () => { byId("forget").close(); this.forget(this.chosen); });
  }

  async open() {
    this.wantKey();
    await this.run(() => this.refresh());
  }

  close() {
    byId("forget").close();
  }

  wantKey() {
    byId("own-key").required = ["core", "procedural"].includes(byId("own-kind").value);
  }

  // Lists everything anew; what an earlier call still waits for is then not shown.
  async refresh() {
    const mine = (this.load += 1), kinds = KINDS, past = byId("own-past").checked;
    const pages = await Promise.all(kinds.map((kind) => api.memories(kind, past, PAGE, 0)));
    if (mine === this.load) byId("own-kinds").replaceChildren(...kinds.map((kind, i) => this.section(kind, past, pages[i])));
  }

  // Runs what asks the server, and says what goes wrong.
  async run(work) {
    this.busy(1);
    byId("own-error").hidden = true;
    try {
      await work();
    } catch (error) {
      if (error.status === 401) return this.stranger();
      byId("own-error").textContent = error.message;
      byId("own-error").hidden = false;
    } finally {
      this.busy(-1);
    }
  }

  busy(more) {
    this.waits += more;
    byId("own").setAttribute("aria-busy", this.waits > 0);
  }

  // A change: one at a time, after which everything is listed anew. `done(result)` says it and places the focus.
  async change(call, done) {
    if (this.changing) return;
    this.changing = true;
    await this.run(async () => {
      const result = await call().catch(async (error) => {
        if (error.status === 404) await this.refresh(); // forgotten meanwhile, by another page or program
        throw error;
      });
      await this.refresh();
      done(result);
    });
    this.changing = false;
  }

  add() {
    const field = byId("own-text");
    const request = { kind: byId("own-kind").value, key: byId("own-key").value.trim(), text: field.value, share: byId("own-share").checked };
    return this.change(() => api.addMemory(request), () => {
      byId("own-add").reset();
      this.wantKey();
      field.focus();
      byId("own-status").textContent = t("memory.added");
    });
  }

  section(kind, past, page) {
    const title = t(`kind.${kind}`), note = t(`kind.${kind}.note`), list = el("ul", {}, page.memories.map((memory) => this.row(memory)));
    const more = el("button", { type: "button", class: "small", onclick: () => this.run(async () => {
      const next = await api.memories(kind, past, PAGE, list.childElementCount), first = list.childElementCount;
      list.append(...next.memories.map((memory) => this.row(memory)));
      more.hidden = !next.memories.length || list.childElementCount >= next.total;
      list.children[first]?.querySelector("button").focus();
    }) }, t("more"));
    more.hidden = page.memories.length >= page.total;
    return el("section", { class: "panel", "aria-labelledby": `own-${kind}` },
      el("div", { class: "panel-head" }, el("h2", { id: `own-${kind}`, tabindex: -1 }, title), el("span", { class: "total" }, number(page.total))),
      el("p", { class: "note" }, page.total ? note : `${note} ${t("memory.nothing")}`), list, more);
  }

  row(memory) {
    const name = clip(memory.text, 60), node = el("li", { "data-id": memory.id, class: memory.past ? "past" : null });
    node.append(
      el("p", {}, about(memory) ? [el("strong", {}, about(memory)), " "] : null, memory.text),
      el("p", { class: "did" }, when(memory.at), ` · ${source(memory)}`),
      el("details", { ontoggle: (event) => this.unfold(memory, event.currentTarget) }, el("summary", { "aria-label": t("memory.whence.of", { name }) }, t("memory.whence"))),
      el("div", { class: "tools" },
        memory.past ? null : el("button", { type: "button", "aria-label": t("memory.edit.of", { name }), onclick: () => this.edit(memory, node) }, t("memory.edit")),
        el("button", { type: "button", "aria-label": t("forget.of", { name }), onclick: () => this.ask(memory) }, t("forget"))));
    return node;
  }

  // Its sources and history, asked for when they are first unfolded.
  async unfold(memory, box) {
    if (!box.open || box.childElementCount > 1) return;
    await this.run(async () => {
      const known = await api.memory(memory.id);
      if (box.childElementCount > 1) return;
      const part = (title, items, line) => (items.length ? [el("h3", {}, title), ...items.map(line)] : []);
      const parts = [
        ...part(t("memory.said"), known.said, (turn) => quote(`${turn.speaker}, ${moment(turn.at)}`, turn.text)),
        ...part(t("memory.others"), known.others, (other) => quote(`${moment(other.at)}${other.past ? `, ${t("memory.past")}` : ""}`, other.text)),
        ...part(t("memory.drawn"), known.drawn, (other) => quote(t(`kind.${other.kind}`), other.text)),
      ];
      box.append(...(parts.length ? parts : [el("p", {}, t("memory.yours"))]));
    });
  }

  // Shows a memory's entry; one that is not in the list, as it is past or old, is put there.
  goTo(id) {
    return this.run(async () => {
      const found = () => document.querySelector(`#own-kinds [data-id="${id}"]`);
      if (!found()) {
        const { memory } = await api.memory(id);
        byId(`own-${memory.kind}`).closest("section").querySelector("ul").prepend(this.row(memory));
      }
      found().scrollIntoView({ block: "center" });
      found().querySelector("summary").focus({ preventScroll: true });
    });
  }

  edit(memory, node) {
    const field = el("textarea", { rows: 2, maxlength: 2000, required: true, "aria-label": t("memory.edit.label", { name: clip(memory.text, 60) }) });
    field.value = memory.text;
    const back = () => {
      const old = this.row(memory);
      form.closest("li").replaceWith(old);
      old.querySelector(".tools button").focus();
    };
    const save = (event) => {
      event.preventDefault();
      this.change(() => api.editMemory(memory.id, field.value), ({ id }) => {
        (document.querySelector(`[data-id="${id}"] .tools button`) ?? byId(`own-${memory.kind}`)).focus();
        byId("own-status").textContent = t("memory.corrected");
      });
    };
    const form = el("form", { onsubmit: save, onkeydown: (event) => event.key === "Escape" && (event.stopPropagation(), back()) }, field,
      el("div", { class: "tools" }, el("button", { type: "submit" }, t("save")), el("button", { type: "button", onclick: back }, t("cancel"))));
    node.replaceChildren(form);
    field.focus();
  }

  // Asks once, and says what goes too.
  async ask(memory) {
    const known = await api.memory(memory.id).catch(() => null); // a damaged one can be forgotten, too
    const dialog = byId("forget");
    if (dialog.open || byId("own").hidden) return;
    this.chosen = memory;
    const said = known?.said.length ? t("forget.said", { n: known.said.length }) : "";
    const drawn = known?.drawn.length ? t("forget.drawn", { n: known.drawn.length }) : "";
    const too = [said, drawn].filter(Boolean).join(t("forget.and"));
    byId("forget-text").textContent = memory.text;
    byId("forget-says").textContent = known && !memory.turns ? t("forget.alone") :
      t("forget.too", { too: too || t("forget.source") });
    dialog.showModal();
  }

  forget(memory) {
    return this.change(() => api.forgetMemory(memory.id), (gone) => {
      byId(`own-${memory.kind}`).focus();
      const turns = gone.turns.length ? t("forget.turns", { n: gone.turns.length }) : "";
      byId("own-status").textContent = t("forget.done", { memories: t("memories", { n: gone.memories.length }), turns });
    });
  }
}
