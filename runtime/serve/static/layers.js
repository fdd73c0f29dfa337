// Each layer's milliseconds and the photos it left, as a table with bars.

import { clip, count, el, ms } from "./draw.js";

const NAMES = { cube: "Cube", kdtree: "K-D tree", refine: "Refine", graph: "Entity graph", vectors: "Vectors" };

// What each layer did, in a line. A layer that is not here is shown by its name and its time.
function doings(t) {
  return {
    cube: [...t.cues, ...t.cube_lines].join("; ") || "no time and no place in the query",
    kdtree: t.cubes.length === 0 ? "the whole tree" : t.widened ? "nothing fits the cues: all are ranked" : "inside the cube, or of unknown time or place",
    refine: `${t.refined_by}: “${clip(t.refined, 80)}”`,
    graph: `${count(t.entities.length, "node")} over δ = ${t.delta}, linked to ${count(t.linked, "photo")}`,
    vectors: t.plan,
  };
}

const leftAfter = (t) => ({ cube: t.left.album, kdtree: t.left.cube, refine: t.left.cube, graph: t.left.graph, vectors: t.left.vectors });

export function drawLayers(box, total, trace) {
  const did = doings(trace), left = leftAfter(trace), spent = Object.entries(trace.milliseconds);
  const most = Math.max(...spent.map(([, value]) => value), 0.01), all = trace.left.album || 1;
  const sum = spent.reduce((before, [, value]) => before + value, 0);
  total.textContent = `${ms(sum)} ms${trace.load_ms >= 1 ? ` + ${ms(trace.load_ms)} ms to open the models` : ""}`;
  const rows = spent.map(([name, value]) => el("tr", {},
    el("th", { scope: "row" }, NAMES[name] ?? name, el("small", {}, clip(did[name] ?? "", 160))),
    el("td", { class: "meter" }, bar("ms", value / most), el("span", {}, ms(value))),
    el("td", { class: "meter" }, left[name] === undefined ? "" : bar("left", left[name] / all), el("span", {}, left[name]?.toLocaleString("en") ?? ""))));
  box.replaceChildren(el("table", { class: "layers" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Layer"), el("th", { scope: "col" }, "Milliseconds"), el("th", { scope: "col" }, "Photos left"))),
    el("tbody", {}, rows)));
}

function bar(kind, share) {
  const filled = el("i");
  filled.style.width = `${Math.max(1.5, 100 * Math.min(1, share))}%`;
  return el("div", { class: `track ${kind}`, "aria-hidden": "true" }, filled);
}
