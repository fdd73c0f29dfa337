// The page: reads the address, asks the API, shows the answer. One search at a time; a later one cancels the one before.

import * as api from "./api.js";
import { asHit, Steps } from "./ask.js";
import { Browse } from "./browse.js";
import { byId, el, light as lightIn, ms, percent } from "./draw.js";
import { Filters } from "./filters.js";
import { Upload } from "./upload.js";
import { drawGraph } from "./graph.js";
import { drawLayers } from "./layers.js";
import { Memory } from "./memory.js";
import { card, legend, notHere, placeholders, reach } from "./photos.js";
import { Selection } from "./selection.js";
import { Kept } from "./kept.js";
import { People } from "./people.js";
import { asHits, compared } from "./similar.js";
import { onMarked } from "./stars.js";
import { Timeline } from "./timeline.js";
import { entitle, title } from "./titles.js";
import { Viewer } from "./viewer.js";
import { number, remarked, t } from "./words.js";

const viewer = new Viewer((row, within, at) => (within === byId("cells") ? browse.move(at) : within.querySelector(`[data-row="${row}"]`)?.focus()), likeThis, talkOf);
const selection = new Selection();
const browse = new Browse(byId("cells"), { open: (list, at) => viewer.open(list, at, byId("cells")), selection, failed: (error) => failed(error, welcome) });
const timeline = new Timeline(byId("timeline"), byId("time-note"), (start) => browse.hidden || browse.jump(start));
const filters = new Filters(() => submit());
const people = new People((name) => filters.set("person", name), () => named());
const kept = new Kept((given) => { history.pushState(null, "", address(`${location.pathname}${given ? `?${given}` : ""}`)); fromAddress(); }, choosePhotos, () => selection.ids);
const steps = new Steps((hits, at, within) => viewer.open(hits, at, within));
const memory = new Memory(() => login(), (hits, at, within) => viewer.open(hits, at, within));
// The language of the address, where it has one; else the browser chooses.
const language = [...new URLSearchParams(location.search)].filter(([name]) => name === "lang").slice(0, 1);
const address = (path) => (language.length ? `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams(language)}` : path);
const USUAL = { refine: "fast", mode: "fused", k: "", now: "" };
const MOST = 200; // photos of an answer
let map = null, stats = null, running = null, lastAnswer = null;
let like = ""; // the id of the photo whose similar ones are shown, or none

start();

async function start() {
  listen();
  const plain = !["q", "like", "view"].some((name) => new URLSearchParams(location.search).get(name));
  try {
    // Photos first: the map, its library and the album's figures follow.
    if (plain) await fromAddress();
    const [figures, albums, album, land, { AlbumMap }] = await Promise.all([api.stats(), api.albums(), api.overview(), api.land().catch(() => null), import("./map.js")]);
    stats = figures;
    offer(albums);
    map = new AlbumMap(byId("map"), byId("map-note"), land);
    map.unplaced = album.unplaced;
    map.show({ places: album.places, hits: lastAnswer?.answer.hits, cubes: lastAnswer?.answer.trace.cubes });
    timeline.show({ months: album.months, undated: album.undated });
    describe(album);
    filters.sources(album.sources);
    filters.offers(album);
    await kept.show().catch(() => null);
    await people.show().catch(() => null); // an album whose faces are damaged is shown all the same
    const sending = new Upload(() => browse.look());
    await sending.begin();
    byId("k").placeholder = stats.k;
    byId("examples").replaceChildren(...stats.examples.map((text) =>
      el("li", {}, el("a", { class: "chip", href: address(`./?q=${encodeURIComponent(text)}`), onclick: follow }, text))));
    if (!plain) fromAddress();
  } catch (error) {
    if (error.status === 401) return login();
    failed(error, () => location.reload());
  }
}

// Names were written to photos: the filter offers them, and the album shows itself as it is now.
async function named() {
  filters.offers(await api.overview());
  browse.look();
}

// Photos of the album that are kept as a selection; those that are gone are left out.
async function choosePhotos(ids) {
  like = byId("query").value = "";
  filters.read(new URLSearchParams());
  toAddress();
  await go();
  const wanted = new Set(ids), all = await browse.range(0, browse.list.length - 1);
  selection.clear();
  selection.add(all.filter((hit) => wanted.has(hit.id)));
}

function offer(albums) {
  byId("albums").hidden = albums.length < 2;
  byId("albums").replaceChildren(...albums.map((one) => el("option", { value: one.address, selected: one.here }, one.name)));
}

const login = () => byId("login").open || byId("login").showModal();

function describe(album) {
  const first = album.months[0], last = album.months.at(-1);
  const year = ({ start }) => String(new Date(start).getUTCFullYear()), years = first ? t("album.years", { from: year(first), to: year(last) }) : "";
  const [photos, memories, entities] = ["photos", "memories", "entities"].map((name) => t(name, { n: stats[name] }));
  byId("album").textContent = t("album.figures", { photos, years, memories, entities, mb: number(stats.file_bytes / 1e6, 2) });
}

// The address is the state: ?from=2024-05-01&place=Vienna&favourites=only, ?view=memory, ?q=coffee&k=8&mode=paper&refine=off&now=2026-11-21, ?q=the+photo+before+the+cake&how=ask, ?like=chelsea

function fromAddress() {
  const given = new URLSearchParams(location.search);
  like = given.get("like") ?? "";
  filters.read(given);
  byId("query").value = given.get("q") ?? "";
  byId("refine").value = ["off", "llm"].includes(given.get("refine")) ? given.get("refine") : "fast";
  byId("mode").value = ["paper", "strict"].includes(given.get("mode")) ? given.get("mode") : "fused";
  byId("k").value = given.get("k") ?? "";
  byId("now").value = given.get("now") ?? "";
  choose(given.get("how") === "ask" ? "ask" : "search");
  return given.get("view") === "memory" ? remember() : go();
}

// `keep`: pushState, or replaceState for the step that the viewer leaves.
function toAddress(keep = "pushState") {
  const wanted = { like, q: byId("query").value.trim(), refine: byId("refine").value, mode: byId("mode").value, k: byId("k").value, now: byId("now").value, how: chosen() };
  const usual = { like: "", q: "", how: "search", ...USUAL };
  const kept = Object.entries(wanted).filter(([name, value]) => value !== usual[name]).concat(filters.address, language);
  const address = kept.length ? `?${new URLSearchParams(kept)}` : "";
  // A query of a book's length is searched all the same; it has no place in an address.
  if (address.length < 1900 && address !== location.search) history[keep](null, "", location.pathname + address);
}

function follow(event) {
  event.preventDefault();
  byId("query").value = event.currentTarget.textContent;
  like = "";
  choose("search");
  submit();
}

function submit() {
  toAddress();
  return go();
}

// The viewer has closed: its step in the history becomes the one of the photos similar to its own.
function likeThis(hit) {
  like = hit.id;
  byId("query").value = "";
  choose("search");
  toAddress("replaceState");
  byId("photos").focus({ preventScroll: true });
  scrollTo(0, 0); // the heading says what the new photos are
  return go();
}

// Likewise: its step becomes the conversation, whose next turn is said of the photo.
function talkOf(hit) {
  history.replaceState(null, "", address("./?view=memory"));
  const shown = remember();
  memory.talk.show(hit);
  return shown;
}

function go() {
  byId("options-open").classList.toggle("set", Object.entries(USUAL).some(([id, value]) => byId(id).value !== value));
  turnTo("found");
  const plain = !like && !byId("query").value.trim(), asks = !plain && !like && chosen() === "ask";
  byId("browse").hidden = !plain;
  for (const id of ["found", "bar"]) byId(id).classList.toggle("browsing", plain);
  byId("photos").hidden = plain;
  // A question in steps and what is like a photo go through the whole album.
  byId("filter").hidden = asks || Boolean(like);
  byId("jump").hidden = !plain;
  for (const id of ["people", "kept"]) byId(id).classList.toggle("gone", !plain);
  byId("keep").hidden = plain && !filters.any;
  byId("skip").href = plain ? "#cells" : "#photos";
  if (!plain) selection.clear();
  if (like) return similar();
  if (!byId("query").value.trim()) return welcome();
  return chosen() === "ask" ? ask() : search();
}

function remember() {
  running?.abort();
  document.title = t("title.page", { name: t("memory") });
  turnTo("own");
  return memory.open();
}

// Shows one of the page's two parts: the photos that were found, or the owner's memories.
function turnTo(part) {
  const own = part === "own", link = byId("to-own");
  byId("own").hidden = !own;
  byId("found").hidden = byId("bar").hidden = own;
  own ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  if (own) byId("skip").href = "#own-kinds";
  if (own) selection.clear();
  byId("skip").textContent = t(own ? "skip.memories" : "skip.photos");
  if (!own) memory.close();
}

const chosen = () => document.querySelector("[name=how]:checked").value;

// What the box does with its words: one search, or a question in several steps.
function choose(how) {
  const asks = how === "ask", field = byId("query");
  document.querySelector(`[name=how][value=${how}]`).checked = true;
  for (const label of document.querySelectorAll("label[data-how]")) label.hidden = label.dataset.how !== how;
  byId("search").querySelector(".go").textContent = t(asks ? "ask" : "search");
  field.placeholder = t(asks ? "ask.hint" : "search.hint");
  field.setAttribute("aria-label", t(asks ? "ask.label" : "search.label"));
}

async function welcome() {
  running?.abort();
  reset(t("your.album"));
  document.title = t("title");
  map?.show({});
  timeline.show({});
  byId("results").setAttribute("aria-busy", "true");
  try {
    const total = await browse.show(filters.asked);
    if (total === null || browse.hidden) return;
    byId("status").textContent = filters.any ? t("photos", { n: total }) : t("photos.search", { photos: t("photos", { n: total }) });
    if (!total) empty(t("filter.none"), t(filters.any ? "filter.less" : "none.there"));
  } catch (error) {
    if (error.status === 401) return login();
    failed(error, welcome);
  } finally {
    byId("results").setAttribute("aria-busy", "false");
  }
}

// `from`: the number of photos that stay while more are fetched.
async function search(from = 0) {
  running?.abort();
  const mine = (running = new AbortController());
  const query = byId("query").value.trim(), now = byId("now").value, k = Number.parseInt(byId("k").value, 10);
  if (!from) reset(query);
  document.title = t("title.page", { name: query.slice(0, 80) });
  byId("results").setAttribute("aria-busy", "true");
  byId("status").textContent = t(byId("refine").value === "llm" ? "model.reading" : "searching");
  if (!from) byId("photos").replaceChildren(...placeholders(Number.isNaN(k) ? stats?.k ?? 5 : Math.min(k, 12)));
  const request = { query, mode: byId("mode").value, refine: byId("refine").value };
  if (!Number.isNaN(k)) request.k = k;
  if (now) request.now = Date.parse(`${now}T12:00:00Z`);
  if (filters.any) request.only = filters.asked;
  try {
    const found = await api.search(request, mine.signal);
    await entitle(found.answer.hits);
    if (running !== mine) return;
    answered(found);
    if (from) byId("photos").querySelectorAll("[data-row]")[from]?.focus();
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error.status === 401) return login();
    failed(error, () => search());
  } finally {
    if (running === mine) byId("results").setAttribute("aria-busy", "false");
  }
}

function answered(found) {
  const { answer } = found, { trace } = answer;
  const marked = new Set(found.favourites);
  const hits = answer.hits.map((hit, i) => ({ ...hit, rank: i + 1, favourite: marked.has(hit.row) }));
  lastAnswer = { ...found, answer: { ...answer, hits } };
  const spent = Object.values(trace.milliseconds).reduce((sum, value) => sum + value, 0);
  byId("status").textContent = t("found", { photos: t("photos", { n: hits.length }), all: trace.left.album, ms: ms(spent), percent: percent(answer.presence) });
  byId("understood").replaceChildren(...alike(trace.remarks.map(remarked)).map((cue) => el("span", { class: "cue" }, cue)));
  byId("understood").hidden = trace.remarks.length === 0;
  banner(notHere(lastAnswer));
  show(hits);
  byId("more").hidden = hits.length < (Number(byId("k").value) || stats?.k || 5) || hits.length >= Math.min(MOST, trace.left.album);
  byId("legend").replaceChildren(...legend(hits));
  byId("legend").hidden = hits.length === 0;
  map?.show({ hits, cubes: trace.cubes });
  timeline.show({ hits, cubes: trace.cubes });
  byId("graph-panel").hidden = byId("layers-panel").hidden = false;
  drawGraph(byId("graph"), byId("graph-note"), lastAnswer);
  drawLayers(byId("layers"), byId("total"), trace);
  if (hits.length) return;
  const { remark } = lastAnswer.answer;
  if (remark) empty(remarked(remark), t("none.kind"));
  else empty(t("none.left"), t(filters.any ? "none.left.filter" : "none.left.query"));
}

function more() {
  const from = byId("photos").children.length;
  byId("k").value = Math.min(MOST, 4 * from);
  toAddress("replaceState");
  return search(from);
}

// Lines with what is said several times ("Christmas" of 22 years) said once, and how often.
function alike(lines) {
  const times = new Map();
  for (const line of lines) times.set(line, (times.get(line) ?? 0) + 1);
  return [...times].map(([line, n]) => (n > 1 ? `${line} × ${n}` : line));
}

async function similar() {
  running?.abort();
  const mine = (running = new AbortController()), k = byId("k").value;
  reset(t("like", { id: like }));
  document.title = t("title.like", { id: like.slice(0, 80) });
  byId("results").setAttribute("aria-busy", "true");
  byId("status").textContent = t("like.running");
  byId("photos").replaceChildren(...placeholders(Math.min(Number(k) || 12, 12)));
  try {
    const answer = await api.similar(like, k, mine.signal);
    await entitle([answer.asked, ...answer.photos]);
    if (running === mine) resembling(answer);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error.status === 401) return login();
    failed(error, similar);
  } finally {
    if (running === mine) byId("results").setAttribute("aria-busy", "false");
  }
}

function resembling(answer) {
  byId("heading").textContent = t("like", { id: title(answer.asked) });
  const hits = asHits(answer), copies = answer.asked.copies.length, focused = document.activeElement === byId("photos");
  byId("status").textContent = t("like.found", { photos: t("photos", { n: hits.length }), copies: copies ? t("copies", { n: copies }) : "" });
  byId("understood").replaceChildren(...compared(answer, (hit) => viewer.open([hit], 0, byId("understood"))));
  byId("understood").hidden = false;
  show(hits);
  if (focused) byId("photos").querySelector("[data-row]")?.focus({ preventScroll: true });
  byId("legend").replaceChildren(...legend(hits));
  byId("legend").hidden = hits.length === 0;
  map?.show({ hits });
  timeline.show({ hits });
  if (!hits.length) empty(t("like.none"), t("like.none.why"));
}

async function ask() {
  running?.abort();
  const mine = (running = new AbortController());
  const question = byId("query").value.trim(), now = byId("now").value;
  reset(question);
  document.title = t("title.page", { name: question.slice(0, 80) });
  byId("results").setAttribute("aria-busy", "true");
  byId("status").textContent = t("ask.running");
  map?.show({});
  timeline.show({});
  steps.begin();
  const request = { question };
  if (now) request.now = Date.parse(`${now}T12:00:00Z`);
  try {
    await api.question(request, mine.signal, async (line) => {
      await entitle(line.answer ? line.answer.items : line.items);
      if (running === mine) line.answer ? resolved(line) : steps.add(line);
    });
  } catch (error) {
    if (running !== mine) return;
    if (error.name === "AbortError") byId("status").textContent = t("ended", { steps: t("steps.number", { n: steps.number }) });
    else if (error.status === 401) login();
    else failed(error, ask);
  } finally {
    if (running === mine) {
      steps.end();
      byId("results").setAttribute("aria-busy", "false");
    }
  }
}

function resolved({ answer, ended }) {
  const hits = answer.items.map((photo, i) => asHit(photo, i + 1)), broken = !["answer", "budget"].includes(ended);
  const some = hits.length < answer.photos ? t("answered.some", { n: hits.length, photos: t("photos", { n: answer.photos }) }) : "";
  byId("status").textContent = t(answer.found ? "answered" : "budget", { steps: t("steps.number", { n: steps.number }), some });
  if (!hits.length) return empty(t(broken ? "ask.wrong" : "ask.none"), broken ? ended : answer.sentence);
  byId("sentence").textContent = answer.sentence;
  byId("sentence").hidden = !answer.found;
  banner(answer.found ? null : { title: broken ? `${ended}.` : t("ask.unsure"), text: answer.sentence });
  show(hits);
  map?.show({ hits });
  timeline.show({ hits });
}

function banner(said) {
  byId("banner").replaceChildren(...(said ? [el("strong", {}, said.title), " ", said.text] : []));
  byId("banner").hidden = said === null;
}

function show(hits) {
  const best = Math.max(...hits.map(reach), 0.01);
  byId("photos").classList.toggle("answer", hits.some((hit) => hit.rank));
  byId("photos").replaceChildren(...hits.map((hit, i) => el("li", {}, card(hit, best, i === 0, () => viewer.open(hits, i, byId("photos")), light))));
}

function light(row) {
  map?.highlight(row);
  timeline.highlight(row);
  lightIn(byId("graph"), row);
}

function reset(title) {
  byId("heading").textContent = title.length > 140 ? `${title.slice(0, 139)}…` : title;
  for (const id of ["sentence", "understood", "banner", "empty", "legend", "more", "graph-panel", "layers-panel", "steps-panel"]) byId(id).hidden = true;
  byId("photos").replaceChildren();
  byId("status").textContent = "";
  lastAnswer = null;
}

function empty(title, text, again) {
  byId("photos").replaceChildren();
  byId("empty").replaceChildren(el("h2", {}, title), el("p", {}, text), again ? el("button", { type: "button", class: "go", onclick: again }, t("try.again")) : "");
  byId("empty").hidden = false;
}

function failed(error, again) {
  byId("status").textContent = t("pair", { name: error.title ?? t("error"), text: error.message });
  empty(error.title ?? t("error.unknown"), error.message, again);
}

// Keys, theme, forms

function listen() {
  for (const id of ["brand", "to-own"]) byId(id).href = address(byId(id).getAttribute("href"));
  byId("language").addEventListener("change", () => { const here = new URLSearchParams(location.search); here.set("lang", byId("language").value); location.search = here; });
  byId("albums").addEventListener("change", () => location.assign(address(byId("albums").value)));
  onMarked((ids, favourite, edition) => browse.marked(ids, favourite, edition));
  byId("jump").addEventListener("change", (event) => { browse.jump(Number(event.target.value)); event.target.value = ""; });
  byId("filter-box").addEventListener("click", () => map && filters.set("box", map.view));
  byId("search").addEventListener("submit", (event) => { event.preventDefault(); like = ""; submit(); });
  for (const id of ["refine", "mode", "k", "now"]) byId(id).addEventListener("change", () => (like || byId("query").value.trim()) && submit());
  for (const radio of document.querySelectorAll("[name=how]")) radio.addEventListener("change", () => { choose(chosen()); if (byId("query").value.trim()) submit(); });
  byId("more").addEventListener("click", more);
  byId("to-own").addEventListener("click", (event) => {
    event.preventDefault();
    if (byId("own").hidden) history.pushState(null, "", event.currentTarget.href);
    remember();
    byId("own-title").focus();
  });
  byId("stop").addEventListener("click", () => running?.abort());
  addEventListener("popstate", () => viewer.stepped() || fromAddress());
  addEventListener("keydown", keys);
  byId("photos").addEventListener("keydown", move);
  byId("theme").addEventListener("click", turn);
  byId("login-form").addEventListener("submit", logIn);
  byId("login").addEventListener("cancel", (event) => event.preventDefault());
  document.querySelector(".panel-head .tools").addEventListener("click", (event) => {
    const what = event.target.dataset.map;
    if (what && map) ({ in: () => map.zoom(1), out: () => map.zoom(-1), fit: () => map.fit(), world: () => map.world() })[what]();
  });
  new ResizeObserver(() => lastAnswer && drawGraph(byId("graph"), byId("graph-note"), lastAnswer)).observe(byId("graph-panel"));
}

function keys(event) {
  if (document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = byId("query"), typing = event.target.matches("input:not([type=radio]), select, textarea");
  if (event.key === "/" && !typing) {
    event.preventDefault();
    field.select();
  } else if (event.key === "ArrowDown" && event.target === field) {
    event.preventDefault();
    if (browse.hidden) byId("photos").querySelector("[data-row]")?.focus();
    else browse.move(browse.at);
  } else if (event.key === "Escape" && event.target === field) {
    field.value ? (field.value = "") : field.blur();
  } else if (event.key === "Escape" && !typing) {
    field.focus();
  }
}

// Arrows in the grid: one photo has the tab stop, the arrows carry it.
function move(event) {
  const cards = [...event.currentTarget.querySelectorAll("[data-row]")], at = cards.indexOf(document.activeElement);
  if (at < 0) return;
  const columns = cards.filter((c) => c.offsetTop === cards[0].offsetTop).length;
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + columns, ArrowUp: at - columns, Home: 0, End: cards.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  if (to < 0 && event.key === "ArrowUp") return byId("query").focus();
  const next = cards[Math.min(cards.length - 1, Math.max(0, to))];
  for (const other of cards) other.tabIndex = other === next ? 0 : -1;
  next.focus();
}

function turn() {
  const root = document.documentElement;
  const dark = (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("gamer-theme", root.dataset.theme); } catch { /* storage may be off */ }
}

async function logIn(event) {
  event.preventDefault();
  try {
    await api.logIn(byId("token").value.trim());
    location.reload();
  } catch (error) {
    byId("login-error").textContent = error.status === 401 ? t("login.wrong") : error.message;
  }
}
