// The server's API: JSON in, JSON out, one kind of error. Knows addresses; knows no page.
// All are relative to the page's own, which is /, or /albums/NAME/ for another album of the server.

import { named, plain, refused, t } from "./words.js";

export class ApiError extends Error {
  constructor(status, title, detail) {
    super(detail);
    this.status = status;
    this.title = title;
  }
}

async function ask(path, options) {
  const response = await open(path, options);
  return response.status === 204 ? null : response.json();
}

const sent = (method, body) => ({ method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

async function open(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, t("connection.none"), plain("connection"));
  }
  if (response.ok) return response;
  throw await asError(response);
}

async function asError(response) {
  try {
    const problem = await response.json();
    return new ApiError(response.status, named(`status.${response.status}`, problem.title), refused(problem));
  } catch {
    return new ApiError(response.status, response.statusText || t("error"), t("connection.status", { status: String(response.status) }));
  }
}

export const health = () => ask("api/v1/health");
export const albums = () => ask("api/v1/albums");
export const stats = () => ask(`api/v1/stats?${new URLSearchParams({ lang: document.documentElement.lang })}`);
export const overview = () => ask("api/v1/overview");
export const land = () => ask("land.json");
export const photo = (row) => ask(`api/v1/photos/${row}`);
export const timeline = (filter) => ask(`api/v1/timeline?${new URLSearchParams(filter)}`);
export const photos = (filter, offset, limit) => ask(`api/v1/photos?${new URLSearchParams({ ...filter, offset, limit })}`);
export const titles = (rows) => ask(`api/v1/titles?${new URLSearchParams(rows.map((row) => ["row", row]))}`);
export const mark = (ids, favourite) => ask("api/v1/favourites", sent("POST", { ids, favourite }));
export const collections = () => ask("api/v1/collections");
export const keep = (one) => ask("api/v1/collections", sent("POST", one));
export const rename = (id, name) => ask(`api/v1/collections/${id}`, sent("PUT", { name }));
export const unkeep = (id) => ask(`api/v1/collections/${id}`, { method: "DELETE" });
export const select = (ids, all) => ask("api/v1/exports", sent("POST", { ids, all }));
export const fetched = (id, kind) => `api/v1/exports/${id}/photos.${kind}`;
export const uploads = () => ask("api/v1/uploads");
export const upload = (file) => ask(`api/v1/uploads?${new URLSearchParams({ name: file.name })}`, { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: file });
export const thumbnail = (row, size = 320) => `api/v1/photos/${row}/thumbnail?size=${size}`;
export const original = (row) => `api/v1/photos/${row}/image`;
export const motion = (row) => `api/v1/photos/${row}/motion`;
export const logIn = (token) => ask("api/v1/session", { method: "POST", headers: { Authorization: `Bearer ${token}` } });

// What the album knows about its owner.
export const memories = (kind, past, limit, skip) => ask(`api/v1/memories?${new URLSearchParams({ kind, past, limit, skip })}`);
export const memory = (id) => ask(`api/v1/memories/${id}`);
export const addMemory = (request) => ask("api/v1/memories", sent("POST", request));
export const editMemory = (id, text) => ask(`api/v1/memories/${id}`, sent("PATCH", { text }));
export const forgetMemory = (id) => ask(`api/v1/memories/${id}`, { method: "DELETE" });

// Who is in the photos.
export const people = () => ask("api/v1/people");
export const person = (id) => ask(`api/v1/people/${id}`);
export const face = (id) => `api/v1/faces/${id}`;
export const namePerson = (id, name) => ask(`api/v1/people/${id}/name`, sent("PUT", { name }));
export const mergePeople = (id, others) => ask(`api/v1/people/${id}/merged`, sent("POST", { others }));
export const splitPerson = (id, faces) => ask(`api/v1/people/${id}/split`, sent("POST", { faces }));
export const forgetPerson = (id) => ask(`api/v1/people/${id}`, { method: "DELETE" });

// Noted only where the album's owner keeps what is opened.
export const opened = (row, query) =>
  ask(`api/v1/photos/${row}/opened`, sent("POST", { query }));

export const search = (request, signal) =>
  ask("api/v1/search", { ...sent("POST", request), signal });

export const similar = (id, k, signal) =>
  ask(`api/v1/similar?${new URLSearchParams({ photo: id, ...(k ? { k } : {}) })}`, { signal });

// A question in several steps: `told` is called with each line of the answer as it comes.
export const question = (request, signal, told) => lines("api/v1/ask", request, signal, told, (line) => line.answer);

// A turn of a conversation, likewise.
export const talk = (request, signal, told) => lines("api/v1/chat", request, signal, told, (line) => "chat" in line);

// `ends(line)`: whether it is the answer's last.
async function lines(path, request, signal, told, ends) {
  const response = await open(path, { ...sent("POST", request), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const broken = (error) => {
    throw error?.name === "AbortError" ? error : new ApiError(0, t("connection.none"), plain("connection.broken"));
  };
  let rest = "", last = null;
  for (let part = await reader.read().catch(broken); !part.done; part = await reader.read().catch(broken)) {
    const whole = (rest + part.value).split("\n");
    rest = whole.pop();
    for (const line of whole) await told((last = JSON.parse(line)));
  }
  if (!last || !ends(last)) broken();
}

// Why a picture did not come: the line that the server gives for it.
export async function whyGone(row) {
  try {
    const response = await fetch(thumbnail(row));
    return response.ok ? t("picture.unshown") : (await asError(response)).message;
  } catch {
    return plain("connection");
  }
}
