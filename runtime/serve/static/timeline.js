// The timeline: photos by month (by year, when the album is long), the cubes' ranges as bands, the hits as numbered marks.

import { day, light, markers, month, svg } from "./draw.js";
import { t } from "./words.js";

const YEAR = 31556952000, HEIGHT = 122, MARKS = 13, TOP = 30, FLOOR = 98, SIDE = 14;

// Month starts → bins {start, end, photos}.
function bins(months, byYear) {
  const out = new Map();
  for (const { start, photos } of months) {
    const date = new Date(start), year = date.getUTCFullYear();
    const from = byYear ? Date.UTC(year, 0) : start;
    const to = byYear ? Date.UTC(year + 1, 0) : Date.UTC(year, date.getUTCMonth() + 1);
    const bin = out.get(from) ?? { start: from, end: to, photos: 0 };
    bin.photos += photos;
    out.set(from, bin);
  }
  return [...out.values()];
}

export const between = (cube) => t("range", { from: cube.start === null ? t("range.start") : day(cube.start), to: cube.end === null ? t("range.end") : day(cube.end) });

export class Timeline {
  // `picked(start)`: called with the month, or the year, that was clicked.
  constructor(box, note, picked) {
    this.box = box;
    this.picked = picked;
    this.note = note;
    this.months = [];
    this.undated = 0;
    this.hits = [];
    this.cubes = [];
    this.root = svg("svg", { role: "img" });
    box.append(this.root);
    new ResizeObserver(() => this.draw()).observe(box);
  }

  show({ months = this.months, undated = this.undated, hits = [], cubes = [] }) {
    const ranges = cubes.filter((cube) => cube.start !== null || cube.end !== null);
    Object.assign(this, { months: months.filter((m) => Math.abs(m.start) < 8e15), undated, hits: hits.filter((hit) => day(hit.taken_at)), cubes: ranges });
    this.draw();
  }

  highlight(row) {
    light(this.root, row);
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width) return;
    this.root.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.root.setAttribute("height", HEIGHT);
    this.note.textContent = this.words();
    this.root.setAttribute("aria-label", this.words());
    if (!this.months.length) return this.root.replaceChildren(svg("text", { x: width / 2, y: HEIGHT / 2, class: "tick middle" }, t("dated.none")));
    const first = this.months[0].start, last = this.months.at(-1).start + YEAR / 12;
    const all = bins(this.months, last - first > 25 * YEAR);
    const from = Math.min(first, all[0].start), to = Math.max(last, all.at(-1).end, from + YEAR);
    const x = (time) => SIDE + ((Math.min(to, Math.max(from, time)) - from) / (to - from)) * (width - 2 * SIDE);
    this.root.replaceChildren(...this.bands(x, from, to), ...this.ticks(x, from, to), ...this.bars(x, all), ...this.marks(x));
  }

  // Equal ranges come once: three places in one spring are three cubes and one band.
  bands(x, from, to) {
    const ranges = new Map(this.cubes.map((cube) => [`${cube.start} ${cube.end}`, cube]));
    return [...ranges.values()].map((cube) => {
      const left = x(cube.start ?? from), right = x(cube.end ?? to);
      return svg("rect", { class: "cube", x: left - 1, y: 1, width: Math.max(4, right - left + 2), height: FLOOR + 1, rx: 3 },
        svg("title", {}, between(cube)));
    });
  }

  bars(x, all) {
    const most = Math.max(...all.map((bin) => bin.photos));
    return all.map((bin) => {
      const height = Math.max(3, Math.sqrt(bin.photos / most) * (FLOOR - TOP));
      return svg("rect", { class: "bar-month", x: x(bin.start) + 0.5, y: FLOOR - height, width: Math.max(3, x(bin.end) - x(bin.start) - 1), height, rx: 1.5, onclick: () => this.picked(bin.end - 1) },
        svg("title", {}, t("pair", { name: month(bin.start), text: t("photos", { n: bin.photos }) })));
    });
  }

  ticks(x, from, to) {
    const first = new Date(from).getUTCFullYear(), last = new Date(to).getUTCFullYear();
    const every = Math.ceil((last - first + 1) / Math.max(2, Math.floor((this.box.clientWidth - 40) / 56)));
    const out = [svg("path", { class: "axis", d: `M${SIDE} ${FLOOR + 0.5}H${this.box.clientWidth - SIDE}` })];
    for (let year = first; year <= last; year += 1) {
      const time = Date.UTC(year, 0);
      if (year % every || time < from || time > to) continue;
      out.push(svg("path", { class: "axis", d: `M${x(time)} ${FLOOR}v5` }), svg("text", { class: "tick", x: x(time) + 3, y: FLOOR + 17 }, String(year)));
    }
    if (out.length === 1) out.push(svg("text", { class: "tick", x: SIDE, y: FLOOR + 17 }, month(from)));
    return out;
  }

  marks(x) {
    const stems = this.hits.map((hit) => svg("path", { class: "stem", d: `M${x(hit.taken_at)} ${MARKS}V${FLOOR}` }));
    return [...stems, ...markers(this.hits, (hit) => [x(hit.taken_at), MARKS], (_, pill) => pill)];
  }

  words() {
    const ranges = new Set(this.cubes.map(between));
    const dated = this.months.reduce((sum, m) => sum + m.photos, 0);
    const asked = ranges.size ? t("meant", { ranges: [...ranges].slice(0, 3).join(t("meant.or")) + (ranges.size > 3 ? ", …" : "") }) : "";
    return `${asked}${t("dated", { n: dated })}${this.undated ? t("dated.rest", { n: this.undated }) : ""}`;
  }
}
