// What the album knows about its owner: listed by kind, shown with its sources and history, added to, corrected and forgotten.

import * as api from "./api.js";
import { byId, clip, count, el, moment } from "./draw.js";
import { Talk } from "./talk.js";

const KINDS = {
  core: ["About you", "Facts that hold until you say otherwise."],
  procedural: ["Goals and habits", "What you want to do, and what you always do."],
  semantic: ["What you said", "Sentences of yours, and notes."],
  episodic: ["What happened", "Each conversation, in short."],
};
const ORIGINS = { rules: "drawn", llm: "drawn by the language model", person: "written by you" };
const PAGE = 50;

// A memory without a name of its own is filed under a number, which says nothing to a reader.
const about = (memory) => (memory.block === "persona" ? memory.key.replace(/^persona: /, "how to answer you: ") : /^(turn|note) \d+$/.test(memory.key) ? "" : memory.key);

function source(memory) {
  const from = memory.turns ? `from ${count(memory.turns, "thing you said", "things that were said")}` : "";
  const past = memory.past ? (memory.ends === null ? "no longer so" : `no longer so since ${moment(memory.ends)}`) : "";
  return [`${ORIGINS[memory.origin]} ${from}`.trim(), past, memory.sharing === "high" ? "may be exported" : ""].filter(Boolean).join(" · ");
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
    const mine = (this.load += 1), kinds = Object.keys(KINDS), past = byId("own-past").checked;
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
      byId("own-status").textContent = "Added.";
    });
  }

  section(kind, past, page) {
    const [title, note] = KINDS[kind], list = el("ul", {}, page.memories.map((memory) => this.row(memory)));
    const more = el("button", { type: "button", class: "small", onclick: () => this.run(async () => {
      const next = await api.memories(kind, past, PAGE, list.childElementCount), first = list.childElementCount;
      list.append(...next.memories.map((memory) => this.row(memory)));
      more.hidden = !next.memories.length || list.childElementCount >= next.total;
      list.children[first]?.querySelector("button").focus();
    }) }, "Show more");
    more.hidden = page.memories.length >= page.total;
    return el("section", { class: "panel", "aria-labelledby": `own-${kind}` },
      el("div", { class: "panel-head" }, el("h2", { id: `own-${kind}`, tabindex: -1 }, title), el("span", { class: "total" }, page.total.toLocaleString("en"))),
      el("p", { class: "note" }, page.total ? note : `${note} Nothing yet.`), list, more);
  }

  row(memory) {
    const name = clip(memory.text, 60), node = el("li", { "data-id": memory.id, class: memory.past ? "past" : null });
    node.append(
      el("p", {}, about(memory) ? [el("strong", {}, about(memory)), " "] : null, memory.text),
      el("p", { class: "did" }, when(memory.at), ` · ${source(memory)}`),
      el("details", { ontoggle: (event) => this.unfold(memory, event.currentTarget) }, el("summary", { "aria-label": `Where it comes from: ${name}` }, "Where it comes from")),
      el("div", { class: "tools" },
        memory.past ? null : el("button", { type: "button", "aria-label": `Edit: ${name}`, onclick: () => this.edit(memory, node) }, "Edit"),
        el("button", { type: "button", "aria-label": `Forget: ${name}`, onclick: () => this.ask(memory) }, "Forget…")));
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
        ...part("Said", known.said, (turn) => quote(`${turn.speaker}, ${moment(turn.at)}`, turn.text)),
        ...part("Other values", known.others, (other) => quote(`${moment(other.at)}${other.past ? ", no longer so" : ""}`, other.text)),
        ...part("Also drawn from this", known.drawn, (other) => quote(KINDS[other.kind][0], other.text)),
      ];
      box.append(...(parts.length ? parts : [el("p", {}, "You wrote it down; it replaced nothing.")]));
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
    const field = el("textarea", { rows: 2, maxlength: 2000, required: true, "aria-label": `Corrected words of: ${clip(memory.text, 60)}` });
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
        byId("own-status").textContent = "Corrected; the earlier words are kept as past.";
      });
    };
    const form = el("form", { onsubmit: save, onkeydown: (event) => event.key === "Escape" && (event.stopPropagation(), back()) }, field,
      el("div", { class: "tools" }, el("button", { type: "submit" }, "Save"), el("button", { type: "button", onclick: back }, "Cancel")));
    node.replaceChildren(form);
    field.focus();
  }

  // Asks once, and says what goes too.
  async ask(memory) {
    const known = await api.memory(memory.id).catch(() => null); // a damaged one can be forgotten, too
    const dialog = byId("forget");
    if (dialog.open || byId("own").hidden) return;
    this.chosen = memory;
    const said = known?.said.length ? `${count(known.said.length, "thing that was said", "things that were said")}, which it was drawn from` : "";
    const drawn = known?.drawn.length ? `${count(known.drawn.length, "memory", "memories")} drawn from the same` : "";
    const too = [said, drawn].filter(Boolean).join(", and ");
    byId("forget-text").textContent = memory.text;
    byId("forget-says").textContent = known && !memory.turns ? "It goes for good." :
      `It goes for good, and with it ${too || "what it was drawn from"}. Everything else that was drawn or answered from that goes too.`;
    dialog.showModal();
  }

  forget(memory) {
    return this.change(() => api.forgetMemory(memory.id), (gone) => {
      byId(`own-${memory.kind}`).focus();
      const turns = gone.turns.length ? ` and ${count(gone.turns.length, "thing that was said", "things that were said")}` : "";
      byId("own-status").textContent = `Forgotten: ${count(gone.memories.length, "memory", "memories")}${turns}.`;
    });
  }
}
