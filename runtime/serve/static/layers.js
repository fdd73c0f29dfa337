// Each layer's milliseconds and the photos it left, as a table with bars.

import { clip, degrees, el, ms } from "./draw.js";
import { between } from "./timeline.js";
import { named, number, remarked, t } from "./words.js";

// What each layer did, in a line. A layer that is not here is shown by its name and its time.
function doings(trace) {
  return {
    cube: [...trace.remarks.map(remarked), ...boxes(trace.cubes)].join("; ") || t("layer.cube.none"),
    kdtree: t(`layer.kdtree.${trace.cubes.length === 0 ? "all" : trace.widened ? "widened" : "some"}`),
    refine: t("pair", { name: named(`refine.${trace.refined_by}`, t("refine.rejected")), text: `“${clip(trace.refined, 80)}”` }),
    graph: t("layer.graph.did", { nodes: t("nodes", { n: trace.entities.length }), delta: number(trace.delta, 2), photos: t("photos", { n: trace.linked }) }),
    vectors: t("layer.vectors.did", { n: trace.left.vectors, photos: t("photos", { n: trace.left.graph }) }),
  };
}

const MOST = 4; // boxes that are told
const boxes = (cubes) => [...cubes.slice(0, MOST).map((cube) => `${times(cube)}, ${bounds(cube)}`), ...(cubes.length > MOST ? [t("layer.cube.more", { n: cubes.length - MOST })] : [])];
const times = ({ start, end }) => (start === null && end === null ? t("layer.cube.anytime") : between({ start, end }));
const bounds = ({ south, west, north, east }) => (south === null ? t("layer.cube.anywhere") : t("range", { from: degrees(south, west), to: degrees(north, east) }));

const leftAfter = ({ left }) => ({ cube: left.album, kdtree: left.cube, refine: left.cube, graph: left.graph, vectors: left.vectors });

export function drawLayers(box, total, trace) {
  const did = doings(trace), left = leftAfter(trace), spent = Object.entries(trace.milliseconds);
  const most = Math.max(...spent.map(([, value]) => value), 0.01), all = trace.left.album || 1;
  const sum = spent.reduce((before, [, value]) => before + value, 0);
  total.textContent = `${ms(sum)} ms${trace.load_ms >= 1 ? t("layers.opening", { ms: ms(trace.load_ms) }) : ""}`;
  const rows = spent.map(([name, value]) => el("tr", {},
    el("th", { scope: "row" }, named(`layer.${name}`, name), el("small", {}, clip(did[name] ?? "", 160))),
    el("td", { class: "meter" }, bar("ms", value / most), el("span", {}, ms(value))),
    el("td", { class: "meter" }, left[name] === undefined ? "" : bar("left", left[name] / all), el("span", {}, left[name] === undefined ? "" : number(left[name])))));
  box.replaceChildren(el("table", { class: "layers" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("layer")), el("th", { scope: "col" }, t("layers.ms")), el("th", { scope: "col" }, t("layers.left")))),
    el("tbody", {}, rows)));
}

function bar(kind, share) {
  const filled = el("i");
  filled.style.width = `${Math.max(1.5, 100 * Math.min(1, share))}%`;
  return el("div", { class: `track ${kind}`, "aria-hidden": "true" }, filled);
}
