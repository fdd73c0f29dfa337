// The map: land outlines that come with the page, the album's places, the query's cubes and the hits, drawn by Leaflet without any tile server.

import "./trusted.js";
import "./vendor/leaflet.js";
import { degrees, el, light, markers, svg } from "./draw.js";
import { t } from "./words.js";

const L = globalThis.L;
// Outlines that cross the antimeridian run on beyond 180°; the world before and after this one shows their other half.
const WORLDS = [-360, 0, 360];
const POLE = 85.06; // beyond this latitude Mercator's map ends
const DEEPEST = 10, CLOSEST_FIT = 6; // zoom levels: about 0.5° and 5° of latitude from top to bottom

// The outlines' arcs, from delta-coded hundredths of a degree to [latitude, longitude] points.
function decode(arc) {
  const points = [];
  for (let i = 0, lon = 0, lat = 0; i < arc.length; i += 2) points.push([(lat += arc[i + 1], lat / 100), (lon += arc[i], lon / 100)]);
  return points;
}

// A ring runs on beyond 180° where its land does; one that ends a turn away from its start goes round the south pole.
function ring(indices, arcs) {
  const points = [];
  for (const index of indices) {
    const arc = index < 0 ? arcs[~index].toReversed() : arcs[index];
    const shift = points.length ? Math.round((points.at(-1)[1] - arc[0][1]) / 360) * 360 : 0;
    points.push(...arc.slice(points.length ? 1 : 0).map(([lat, lon]) => [lat, lon + shift]));
  }
  if (Math.abs(points.at(-1)[1] - points[0][1]) > 180) points.push([-POLE, points.at(-1)[1]], [-POLE, points[0][1]]);
  return points;
}

const shifted = (lines, shift) => lines.map((points) => points.map(([lat, lon]) => [lat, lon + shift]));

function graticule() {
  const lines = [];
  for (let lon = -540; lon <= 540; lon += 15) lines.push([[-POLE, lon], [POLE, lon]]);
  for (let lat = -75; lat <= 75; lat += 15) lines.push([[lat, -540], [lat, 540]]);
  return lines;
}

export class AlbumMap {
  constructor(box, note, land) {
    this.box = box;
    this.note = note;
    this.places = [];
    this.hits = [];
    this.cubes = [];
    this.active = null;
    this.leaflet = L.map(box, {
      attributionControl: false, zoomControl: false, boxZoom: false, scrollWheelZoom: false, worldCopyJump: true,
      dragging: matchMedia("(pointer: fine)").matches, // a finger scrolls the page
      zoomAnimation: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      zoomSnap: 0, zoomDelta: 0.75, maxZoom: DEEPEST, maxBounds: [[-POLE, -720], [POLE, 720]], maxBoundsViscosity: 1,
    });
    box.setAttribute("role", "region");
    this.world();
    this.ground(land);
    this.moving = L.layerGroup().addTo(this.leaflet);
    // Names and numbered markers avoid each other in pixels, so they are laid out anew for each view, in a drawing of their own.
    this.above = svg("g");
    this.leaflet.createPane("labels").append(svg("svg", { class: "above leaflet-zoom-hide", "aria-hidden": "true" }, this.above));
    this.leaflet.on("zoom moveend resize", () => this.label()); // two fingers zoom without an end between
    new ResizeObserver(() => this.resize()).observe(box);
  }

  ground(land) {
    const fixed = { interactive: false, smoothFactor: 0.5 };
    L.polyline(graticule(), { ...fixed, className: "graticule" }).addTo(this.leaflet);
    if (!land) return;
    const arcs = land.arcs.map(decode), rings = land.rings.map((indices) => ring(indices, arcs));
    for (const shift of WORLDS) {
      L.polygon(shifted(rings, shift), { ...fixed, className: "land" }).addTo(this.leaflet);
      L.polyline(shifted(arcs, shift), { ...fixed, className: "borders" }).addTo(this.leaflet);
    }
  }

  show({ places = this.places, hits = [], cubes = [] }) {
    Object.assign(this, { places, hits: hits.filter((hit) => hit.lat !== null), cubes: cubes.filter((cube) => cube.south !== null), active: null });
    this.moving.clearLayers();
    for (const cube of this.cubes) this.moving.addLayer(box(cube));
    for (const place of this.places) this.moving.addLayer(dot(place));
    this.box.setAttribute("aria-label", this.words());
    this.note.textContent = this.words();
    this.fit();
  }

  // The cubes and the best hit, without cubes all hits, without hits the album, without places the world.
  fit() {
    const points = this.hits.slice(0, this.cubes.length ? 1 : undefined).map((hit) => [hit.lat, hit.lon]);
    for (const cube of this.cubes) if (cube.west <= cube.east) points.push([cube.south, cube.west], [cube.north, cube.east]);
    if (!points.length) points.push(...this.places.map((place) => [place.lat, place.lon]));
    if (!points.length) return this.world();
    this.leaflet.fitBounds(points, { padding: [28, 24], maxZoom: CLOSEST_FIT, animate: false });
  }

  // As far out as shows the world once.
  world() {
    this.limit();
    this.leaflet.setView([20, 10], this.leaflet.getMinZoom(), { animate: false });
  }

  // South, west, north, east of what is shown, as the filter writes them.
  get view() {
    const bounds = this.leaflet.getBounds(), side = (degrees) => Math.max(-999, Math.min(999, degrees)).toFixed(3);
    return [bounds.getSouth(), bounds.getWest(), bounds.getNorth(), bounds.getEast()].map(side).join(",");
  }

  zoom(steps) {
    this.leaflet.zoomIn(steps * this.leaflet.options.zoomDelta);
  }

  // A map that was hidden has no size to fit anything into.
  resize() {
    const hidden = !this.leaflet.getSize().x;
    this.leaflet.invalidateSize({ animate: false });
    this.limit();
    if (hidden && this.leaflet.getSize().x) this.fit();
  }

  limit() {
    this.leaflet.setMinZoom(Math.log2(Math.max(1, this.box.clientWidth) / 256));
  }

  highlight(row) {
    this.active = row;
    light(this.above, row);
  }

  label() {
    const corner = this.leaflet.containerPointToLayerPoint([0, 0]);
    const at = (point) => { const { x, y } = this.leaflet.latLngToContainerPoint([point.lat, point.lon]); return [x, y]; };
    this.above.setAttribute("transform", `translate(${corner.x} ${corner.y})`);
    this.above.replaceChildren(...this.names(at), ...markers(this.hits, at, (_, pill) => pill));
    this.highlight(this.active);
  }

  // City names, the fullest places first, where there is room beside the dot or the marker.
  names(at) {
    const taken = markers(this.hits, at, ([left, top], _, wide) => [left - wide / 2, top - 11, left + wide / 2, top + 11]);
    const seen = new Set(), out = [], width = this.box.clientWidth, height = this.box.clientHeight;
    for (const place of this.places) {
      const [left, top] = at(place);
      if (!place.name || seen.has(place.name) || out.length >= 14 || left < 0 || left > width || top < 0 || top > height) continue;
      const marker = taken.find((box) => left >= box[0] && left <= box[2] && top >= box[1] && top <= box[3]);
      const long = place.name.length * 6.3 + 6, from = marker ? marker[2] + 3 : left + 7;
      const start = from + long < width ? from : (marker ? marker[0] : left) - long - 3;
      const box = [start, top - 8, start + long, top + 8];
      if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
      taken.push(box);
      seen.add(place.name);
      out.push(svg("text", { class: "city", x: start, y: top + 4 }, place.name));
    }
    return out;
  }

  words() {
    const boxes = this.cubes.length ? t("cubes", { n: this.cubes.length }) : "";
    const hits = this.hits.length ? t("hits", { n: this.hits.length }) : "";
    const total = this.places.reduce((sum, place) => sum + place.photos, 0);
    return `${boxes}${hits}${t("placed", { n: total })}${this.unplaced ? t("placed.rest", { n: this.unplaced }) : ""}`;
  }
}

function box(cube) {
  const east = cube.east < cube.west ? cube.east + 360 : cube.east; // a cube may cross the antimeridian
  return L.rectangle([[cube.south, cube.west], [cube.north, east]], { className: "cube", interactive: false });
}

// A tooltip takes an element: a string would be read as markup, and a place's name is the album's text.
function dot(place) {
  const words = t("map.near", { photos: t("photos", { n: place.photos }), place: place.name ?? degrees(place.lat, place.lon) });
  return L.circleMarker([place.lat, place.lon], { className: "place", radius: Math.min(7, 2.4 + Math.log2(place.photos) * 0.6) })
    .bindTooltip(el("span", {}, words));
}
