// Looking closer at one picture: by wheel, by two fingers, by double click, by the keys + − 0. Knows the element that holds the picture.

const MOST = 8, STEP = 1.5;

export class Zoom {
  // `closer(image)`: called when more pixels than a preview has are looked at.
  constructor(box, closer) {
    this.box = box;
    this.closer = closer;
    this.fingers = new Map();
    box.addEventListener("wheel", (event) => {
      if (!this.image) return; // a clip has its player's own controls
      event.preventDefault();
      this.by(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.002)), event);
    }, { passive: false });
    box.addEventListener("dblclick", (event) => this.by(this.scale > 1 ? 1 / this.scale : 2.5, event));
    box.addEventListener("pointerdown", (event) => this.down(event));
    box.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, (event) => this.fingers.delete(event.pointerId));
    this.reset();
  }

  reset() {
    Object.assign(this, { scale: 1, x: 0, y: 0 });
    this.fingers.clear();
    this.draw();
  }

  // Whether a key was one of its own.
  key(key) {
    const factor = { "+": STEP, "=": STEP, "-": 1 / STEP, 0: 1 / this.scale }[key];
    if (factor) this.by(factor);
    return Boolean(factor);
  }

  // Zooms so that the point under the pointer, or the middle, stays where it is.
  by(factor, at = null) {
    if (!this.image) return;
    const box = this.box.getBoundingClientRect();
    const px = at ? at.clientX - box.left - box.width / 2 : 0, py = at ? at.clientY - box.top - box.height / 2 : 0;
    const scale = Math.min(MOST, Math.max(1, this.scale * factor)), by = scale / this.scale;
    this.x = px - (px - this.x) * by;
    this.y = py - (py - this.y) * by;
    this.scale = scale;
    this.draw();
    if (scale > 1.2) this.closer(this.image);
  }

  get image() {
    return this.box.querySelector("img");
  }

  down(event) {
    if (!this.image) return;
    this.box.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, event);
  }

  drag(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const other = [...this.fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
    this.fingers.set(event.pointerId, event);
    if (other) {
      const apart = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      const middle = { clientX: (event.clientX + other.clientX) / 2, clientY: (event.clientY + other.clientY) / 2 };
      return this.by(apart(event) / Math.max(1, apart(before)), middle);
    }
    this.x += event.clientX - before.clientX;
    this.y += event.clientY - before.clientY;
    this.draw();
  }

  draw() {
    const { width, height } = this.box.getBoundingClientRect(), far = (size) => ((this.scale - 1) * size) / 2;
    this.x = Math.min(far(width), Math.max(-far(width), this.x));
    this.y = Math.min(far(height), Math.max(-far(height), this.y));
    this.box.classList.toggle("zoomed", this.scale > 1);
    if (this.image) this.image.style.transform = this.scale > 1 ? `translate(${this.x}px, ${this.y}px) scale(${this.scale})` : "";
  }
}
