// The map: land outlines that come with the page, the album's places, the cubes, the hits. Plate carrée, squeezed by the cosine of the latitude.

import { count, degrees, light, markers, svg } from "./draw.js";

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// The outlines' arcs, from delta-coded hundredths of a degree to [longitude, -latitude] points: north is up.
function decode(arc) {
  const points = [];
  for (let i = 0, x = 0, y = 0; i < arc.length; i += 2) points.push([(x += arc[i]) / 100, -(y += arc[i + 1]) / 100]);
  return points;
}

const line = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");

// A ring runs on beyond 180° where its land does; one that ends a turn away from its start goes round the pole.
function ring(indices, arcs) {
  const points = [];
  for (const index of indices) {
    const arc = index < 0 ? arcs[~index].toReversed() : arcs[index];
    const shift = points.length ? Math.round((points.at(-1)[0] - arc[0][0]) / 360) * 360 : 0;
    points.push(...arc.slice(points.length ? 1 : 0).map(([x, y]) => [x + shift, y]));
  }
  if (Math.abs(points.at(-1)[0] - points[0][0]) > 180) points.push([points.at(-1)[0], 90], [points[0][0], 90]);
  return `${line(points)}Z`;
}

function graticule() {
  const lines = [];
  for (let lon = -360; lon <= 360; lon += 15) lines.push(`M${lon} -90V90`);
  for (let lat = -90; lat <= 90; lat += 15) lines.push(`M-360 ${lat}H360`);
  return lines.join("");
}

export class AlbumMap {
  constructor(box, note, land) {
    this.box = box;
    this.note = note;
    const arcs = land ? land.arcs.map(decode) : [];
    this.land = land ? land.rings.map((indices) => ring(indices, arcs)).join("") : "";
    this.borders = arcs.map(line).join("");
    this.places = [];
    this.hits = [];
    this.cubes = [];
    this.active = null;
    this.view = { lon: 0, lat: 20, span: 150 };
    this.root = svg("svg", { role: "img" });
    // Outlines that cross the antimeridian run on beyond 180°; the world before and after this one shows their other half.
    const world = (shift) => svg("g", { transform: `translate(${shift} 0)` }, svg("path", { class: "land", d: this.land }), svg("path", { class: "borders", d: this.borders }));
    this.ground = svg("g", {}, svg("path", { class: "graticule", d: graticule() }), [-360, 0, 360].map(world));
    this.above = svg("g");
    this.root.append(this.ground, this.above);
    box.append(this.root);
    new ResizeObserver(() => this.draw()).observe(box);
    this.drag();
  }

  show({ places = this.places, hits = [], cubes = [] }) {
    Object.assign(this, { places, hits: hits.filter((hit) => hit.lat !== null), cubes: cubes.filter((cube) => cube.south !== null), active: null });
    this.fit();
  }

  // The cubes and the best hit, without cubes all hits, without hits the album, without places the world.
  fit() {
    const points = this.hits.slice(0, this.cubes.length ? 1 : undefined).map((hit) => [hit.lat, hit.lon]);
    for (const cube of this.cubes) if (cube.west <= cube.east) points.push([cube.south, cube.west], [cube.north, cube.east]);
    if (!points.length) points.push(...this.places.map((place) => [place.lat, place.lon]));
    if (!points.length) return this.world();
    const lats = points.map((p) => p[0]), lons = points.map((p) => p[1]);
    const [south, north, west, east] = [Math.min(...lats), Math.max(...lats), Math.min(...lons), Math.max(...lons)];
    const lat = (south + north) / 2, shape = this.box.clientWidth / Math.max(1, this.box.clientHeight);
    const wide = ((east - west) * Math.cos((lat * Math.PI) / 180)) / shape;
    this.view = { lat, lon: (west + east) / 2, span: clamp(1.35 * Math.max(north - south, wide), 5, 170) };
    this.draw();
  }

  world() {
    this.view = { lon: 10, lat: 15, span: 150 };
    this.draw();
  }

  zoom(factor) {
    this.view.span = clamp(this.view.span * factor, 0.5, 170);
    this.draw();
  }

  highlight(row) {
    this.active = row;
    light(this.above, row);
  }

  draw() {
    const width = this.box.clientWidth, height = this.box.clientHeight;
    if (!width || !height) return;
    const { lon, lat } = this.view;
    const squeeze = Math.max(0.15, Math.cos((lat * Math.PI) / 180));
    // Never more than the world: a wide, low box shows it once.
    const down = Math.max(height / this.view.span, width / 360 / squeeze), across = down * squeeze;
    const x = (value) => width / 2 + (value - lon) * across, y = (value) => height / 2 - (value - lat) * down;
    this.scale = { across, down };
    this.root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.ground.setAttribute("transform", `translate(${x(0)} ${y(0)}) scale(${across} ${down})`);
    this.above.replaceChildren(...this.boxes(x, y), ...this.dots(x, y), ...this.names(x, y), ...this.marks(x, y));
    this.root.setAttribute("aria-label", this.words());
    this.note.textContent = this.words();
    this.highlight(this.active);
  }

  boxes(x, y) {
    const out = [];
    for (const cube of this.cubes) {
      const sides = cube.west <= cube.east ? [[cube.west, cube.east]] : [[cube.west, 180], [-180, cube.east]];
      for (const [west, east] of sides) {
        const [w, h] = [x(east) - x(west), y(cube.south) - y(cube.north)];
        out.push(svg("rect", { class: "cube", x: x(west) - 2, y: y(cube.north) - 2, width: w + 4, height: h + 4, rx: 3 }));
      }
    }
    return out;
  }

  dots(x, y) {
    return this.places.map((place) =>
      svg("circle", { class: "place", cx: x(place.lon), cy: y(place.lat), r: Math.min(7, 2.4 + Math.log2(place.photos) * 0.6) },
        svg("title", {}, `${count(place.photos, "photo")} near ${place.name ?? degrees(place.lat, place.lon)}`)));
  }

  marks(x, y) {
    return markers(this.hits, (hit) => [x(hit.lon), y(hit.lat)], (_, pill) => pill);
  }

  // City names, the fullest places first, where there is room beside the dot or the marker.
  names(x, y) {
    const taken = markers(this.hits, (hit) => [x(hit.lon), y(hit.lat)], ([left, top], _, wide) => [left - wide / 2, top - 11, left + wide / 2, top + 11]);
    const seen = new Set(), out = [], width = this.box.clientWidth, height = this.box.clientHeight;
    for (const place of this.places) {
      const [left, top] = [x(place.lon), y(place.lat)];
      if (!place.name || seen.has(place.name) || out.length >= 14 || left < 0 || left > width || top < 0 || top > height) continue;
      const marker = taken.find((box) => left >= box[0] && left <= box[2] && top >= box[1] && top <= box[3]);
      const long = place.name.length * 6.3 + 6, from = marker ? marker[2] + 3 : left + 7;
      const at = from + long < width ? from : (marker ? marker[0] : left) - long - 3;
      const box = [at, top - 8, at + long, top + 8];
      if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
      taken.push(box);
      seen.add(place.name);
      out.push(svg("text", { class: "city", x: at, y: top + 4 }, place.name));
    }
    return out;
  }

  words() {
    const boxes = this.cubes.length ? `${count(this.cubes.length, "box", "boxes")} from the query; ` : "";
    const hits = this.hits.length ? `${count(this.hits.length, "hit")} with a position; ` : "";
    const total = this.places.reduce((sum, place) => sum + place.photos, 0);
    return `${boxes}${hits}${count(total, "photo")} of the album placed${this.unplaced ? `, ${this.unplaced.toLocaleString("en")} without a place` : ""}`;
  }

  drag() {
    let from = null;
    this.root.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button) return; // a finger scrolls the page
      from = { x: event.clientX, y: event.clientY, ...this.view };
      this.root.setPointerCapture(event.pointerId);
    });
    this.root.addEventListener("pointermove", (event) => {
      if (!from) return;
      this.view.lon = clamp(from.lon - (event.clientX - from.x) / this.scale.across, -180, 180);
      this.view.lat = clamp(from.lat + (event.clientY - from.y) / this.scale.down, -80, 80);
      this.draw();
    });
    for (const end of ["pointerup", "pointercancel"]) this.root.addEventListener(end, () => { from = null; });
  }
}
