// A conversation with the album: what is said is remembered, and answered as the answer comes.

import * as api from "./api.js";
import { byId, el } from "./draw.js";
import { picture } from "./photos.js";

// `stranger()` is called where the server wants its token, `learnt()` after each turn that was stored.
export class Talk {
  constructor(stranger, learnt) {
    Object.assign(this, { stranger, learnt, running: null, chat: null });
    const field = byId("talk-text");
    byId("talk-form").addEventListener("submit", (event) => { event.preventDefault(); this.send(field.value); });
    byId("talk-stop").addEventListener("click", () => this.running?.abort());
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      byId("talk-form").requestSubmit();
    });
  }

  async send(text) {
    if (this.running || !text.trim()) return;
    const log = byId("talk-said"), answer = el("p", {}), turn = el("li", {}, el("p", { class: "mine" }, text), answer);
    this.running = new AbortController();
    byId("talk-text").value = "";
    byId("talk-stop").hidden = false;
    log.setAttribute("aria-busy", "true");
    log.append(turn);
    turn.scrollIntoView({ block: "nearest" });
    try {
      await api.talk({ text, chat: this.chat, plain: byId("talk-plain").checked }, this.running.signal, (line) => (line.piece === undefined ? this.ended(line, turn, answer) : answer.append(line.piece)));
    } catch (error) {
      if (error.status === 401) this.stranger();
      turn.append(el("p", { class: "wrong" }, error.name === "AbortError" ? "Stopped." : error.message));
    } finally {
      this.running = null;
      byId("talk-stop").hidden = true;
      log.setAttribute("aria-busy", "false");
      byId("talk-text").focus();
    }
    this.learnt();
  }

  ended(line, turn, answer) {
    this.chat = line.chat;
    if (line.text) answer.textContent = line.text;
    if (line.photos.length) turn.append(el("div", { class: "thumbs" }, line.photos.map((row) => el("a", { href: api.original(row), target: "_blank", rel: "noopener", "aria-label": `Photo ${row}` }, picture(row, 320)))));
    if (line.failed) turn.append(el("p", { class: "wrong" }, line.failed));
  }
}
