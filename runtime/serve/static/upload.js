// Photos that the person adds, by the button or by dropping them on the page: sent one by one, then indexed by the server.

import * as api from "./api.js";
import { byId, el } from "./draw.js";
import { t } from "./words.js";

const LOOK = 700; // ms between two looks at how far the indexing is

export class Upload {
  // `added()`: called when the album has new photos.
  constructor(added) {
    this.added = added;
    this.waiting = [];
    this.refused = [];
    this.sending = this.watching = false;
  }

  // Offers the button where the server takes files, and tells of a run that is in progress.
  async begin() {
    this.may = await api.uploads();
    if (!this.may.on) return;
    const files = byId("upload-files");
    byId("upload-open").hidden = false;
    byId("upload-open").addEventListener("click", () => files.click());
    files.addEventListener("change", () => { this.take([...files.files]); files.value = ""; });
    addEventListener("dragover", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
    addEventListener("drop", (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.take([...event.dataTransfer.files]);
    });
    if (["waiting", "indexing"].includes(this.may.state)) this.watch();
  }

  take(files) {
    this.waiting.push(...files);
    if (!this.sending) this.send();
  }

  async send() {
    this.sending = true;
    this.refused = [];
    let sent = 0;
    for (let file = this.waiting.shift(); file; file = this.waiting.shift()) {
      this.say(t("upload.sending", { name: file.name, files: t("files", { n: this.waiting.length }) }));
      try {
        if (file.size > this.may.largest) throw new Error(t("upload.large", { n: Math.round(this.may.largest / 1e6) }));
        await api.upload(file);
        sent += 1;
      } catch (error) {
        this.refused.push({ name: file.name, reason: error.message });
      }
    }
    this.sending = false;
    if (sent) return this.watch();
    this.say(t("upload.none"), this.refused);
  }

  async watch() {
    if (this.watching) return;
    this.watching = true;
    try {
      let state = await api.uploads();
      while (["waiting", "indexing"].includes(state.state)) {
        if (!this.sending) this.say(state.total ? t("upload.indexing", { done: state.done, photos: t("photos", { n: state.total }) }) : t("upload.begins"), this.refused);
        await new Promise((done) => setTimeout(done, LOOK));
        state = await api.uploads();
      }
      this.ended(state);
    } catch (error) {
      this.say(error.message, this.refused);
    } finally {
      this.watching = false;
    }
  }

  ended(state) {
    if (state.state === "failed") return this.say(t("upload.failed", { error: state.error }), this.refused);
    const kept = state.kept_out ? t("upload.kept", { n: state.kept_out }) : "";
    const more = state.skipped > state.skips.length ? t("upload.skipped", { n: state.skips.length, all: state.skipped }) : "";
    this.say(`${t("upload.added", { n: state.added })}${kept}${more}`, [...this.refused, ...state.skips]);
    this.added();
  }

  say(text, skips = []) {
    byId("upload").hidden = false;
    byId("upload-said").textContent = text;
    byId("upload-skips").replaceChildren(...skips.map(({ name, reason }) => el("li", {}, `${name}: ${reason}`)));
  }
}
