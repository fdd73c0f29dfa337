// A conversation with the album: what is said is remembered, and answered as the answer comes.

import * as api from "./api.js";
import { byId, clip, el } from "./draw.js";
import { glimpse, thumbnails } from "./photos.js";
import { entitle, title } from "./titles.js";
import { t } from "./words.js";

// `stranger()` is called where the server wants its token, `learnt()` after each turn that was stored, `open(hits, at, within)`
// shows a photo large, and `goTo(id)` a memory's entry.
export class Talk {
  constructor(stranger, learnt, open, goTo) {
    Object.assign(this, { stranger, learnt, open, goTo, running: null, chat: null, shown: null });
    const field = byId("talk-text");
    byId("talk-form").addEventListener("submit", (event) => { event.preventDefault(); this.send(field.value); });
    byId("talk-stop").addEventListener("click", () => this.running?.abort());
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      byId("talk-form").requestSubmit();
    });
  }

  // The photo that the next turn is said of; null takes it away.
  show(hit) {
    this.shown = hit;
    const box = byId("talk-shown");
    box.hidden = !hit;
    box.replaceChildren(...(hit ? [thumbnails([hit], this.open), el("span", {}, title(hit)), el("button", { type: "button", class: "small", onclick: () => this.show(null) }, t("talk.without"))] : []));
    byId("talk-text").focus();
  }

  async send(text) {
    if (this.running || !text.trim()) return;
    const log = byId("talk-said"), answer = el("p", {}), of = this.shown;
    const turn = el("li", {}, of && thumbnails([of], this.open), el("p", { class: "mine" }, text), answer);
    this.running = new AbortController();
    byId("talk-text").value = "";
    byId("talk-stop").hidden = false;
    log.setAttribute("aria-busy", "true");
    log.append(turn);
    turn.scrollIntoView({ block: "nearest" });
    if (of) this.show(null);
    const request = { text, chat: this.chat, worded: byId("talk-worded").checked, photos: of ? [of.row] : [] };
    try {
      let last = null;
      await api.talk(request, this.running.signal, (line) => (line.piece === undefined ? (last = line) : answer.append(line.piece)));
      if (last) await this.ended(last, turn, answer);
    } catch (error) {
      if (error.status === 401) this.stranger();
      turn.append(el("p", { class: "wrong" }, error.name === "AbortError" ? t("stopped") : error.message));
    } finally {
      this.running = null;
      byId("talk-stop").hidden = true;
      log.setAttribute("aria-busy", "false");
      byId("talk-text").focus();
    }
    this.learnt();
  }

  async ended(line, turn, answer) {
    this.chat = line.chat;
    if (line.text) answer.textContent = line.text;
    if (line.failed) turn.append(el("p", { class: "wrong" }, line.failed));
    if (line.memories.length) {
      turn.append(el("div", { class: "from", role: "group", "aria-label": t("talk.memories") }, line.memories.map((memory) =>
        el("button", { type: "button", class: "small", onclick: () => this.goTo(memory.id) }, t("talk.from", { id: memory.id, text: clip(memory.text, 60) })))));
    }
    const [photos, sources] = await Promise.all([line.photos, line.sources].map((rows) => this.photosOf(rows)));
    if (photos.length) turn.append(thumbnails(photos, this.open));
    if (sources.length) turn.append(el("details", {}, el("summary", {}, t("talk.sources")), thumbnails(sources, this.open)));
    turn.scrollIntoView({ block: "nearest" });
  }

  async photosOf(rows) {
    const photos = await Promise.all(rows.map((row) => api.photo(row).catch(() => null)));
    return entitle(photos.filter(Boolean).map(glimpse));
  }
}
