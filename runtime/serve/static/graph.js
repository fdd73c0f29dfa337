// The entity subgraph that was walked, in three columns: the refined query, the nodes over δ, the hits that they lead to.

import { thumbnail } from "./api.js";
import { clip, svg } from "./draw.js";
import { number, t } from "./words.js";

const ROW = 44, PAD = 26, R = 17;

const curve = (x1, y1, x2, y2) => `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`;
const spread = (n, most) => Array.from({ length: n }, (_, i) => PAD + ((most - n) / 2 + i) * ROW);

export function drawGraph(box, note, { answer, subgraph }) {
  const width = box.clientWidth || 380;
  const { trace, hits } = answer;
  const entities = subgraph.entities;
  const linked = hits.filter((hit) => subgraph.mentions.some(([, row]) => row === hit.row)).slice(0, 8);
  if (!entities.length) {
    note.textContent = t("graph.none", { query: clip(trace.refined, 60), delta: number(trace.delta, 2) });
    return box.replaceChildren();
  }
  const most = Math.max(entities.length, linked.length, 2), height = 2 * PAD + (most - 1) * ROW;
  const columns = [16, width * 0.46, width - R - 6];
  const middle = height / 2;
  const at = new Map(spread(entities.length, most).map((y, i) => [entities[i].row, y]));
  const to = new Map(spread(linked.length, most).map((y, i) => [linked[i].row, y]));
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img" });
  root.append(...entities.map((e) => svg("path", { class: "edge asked", "stroke-width": 1 + 3 * Math.max(0, e.similarity), d: curve(columns[0], middle, columns[1] - 70, at.get(e.row)) })));
  root.append(...subgraph.mentions.filter(([, row]) => to.has(row)).map(([entity, row]) =>
    svg("path", { class: "edge mention", "data-rows": row, d: curve(columns[1] + 70, at.get(entity), columns[2] - R, to.get(row)) })));
  root.append(...subgraph.relations.map(([a, b]) => {
    const bend = columns[1] + 84 + Math.abs(at.get(a) - at.get(b)) / 6;
    return svg("path", { class: "edge relation", d: `M${columns[1] + 70} ${at.get(a)}C${bend} ${at.get(a)} ${bend} ${at.get(b)} ${columns[1] + 70} ${at.get(b)}` });
  }));
  root.append(svg("g", { class: "node asked" }, svg("circle", { cx: columns[0], cy: middle, r: 13 }), svg("text", { x: columns[0], y: middle + 5 }, "Q̂"), svg("title", {}, trace.refined)));
  root.append(...entities.map((e) => entityNode(e, columns[1], at.get(e.row))));
  root.append(svg("clipPath", { id: "disc", clipPathUnits: "objectBoundingBox" }, svg("circle", { cx: 0.5, cy: 0.5, r: 0.5 })));
  root.append(...linked.map((hit) => photoNode(hit, columns[2], to.get(hit.row))));
  note.textContent = t("graph.note", { nodes: t("nodes", { n: entities.length }), delta: number(trace.delta, 2), photos: t("photos", { n: trace.linked }), n: linked.length });
  root.setAttribute("aria-label", t("graph.label", { note: note.textContent, names: entities.map((e) => `${e.name} ${number(e.similarity, 2)}`).join(", ") }));
  return box.replaceChildren(root);
}

function entityNode(entity, x, y) {
  return svg("g", { class: `node entity kind-${entity.kind}` }, svg("rect", { x: x - 70, y: y - 15, width: 140, height: 30, rx: 15 }),
    svg("text", { x, y: y - 0.5 }, clip(entity.name, 19)), svg("text", { class: "small", x, y: y + 10.5 }, `${entity.kind} ${number(entity.similarity, 2)}`),
    svg("title", {}, t("graph.node", { name: entity.name, kind: entity.kind, similarity: number(entity.similarity, 3), photos: t("photos", { n: entity.photos }) })));
}

function photoNode(hit, x, y) {
  return svg("g", { class: "node photo", "data-rows": hit.row }, svg("circle", { cx: x, cy: y, r: R + 1.5 }),
    svg("image", { href: thumbnail(hit.row), x: x - R, y: y - R, width: 2 * R, height: 2 * R, preserveAspectRatio: "xMidYMid slice", "clip-path": "url(#disc)" }),
    svg("title", {}, `${hit.rank}. ${hit.id}`));
}
