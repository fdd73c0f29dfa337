// Where each photo of a long timeline lies: rows of equal cells under a heading for each month. Knows numbers; knows no page.

const HEAD = 52, SMALL = 520;

export class Layout {
  // `months`: newest first, {start, photos}; `undated` photos come last. `width` in pixels.
  constructor(months, undated, width) {
    this.gap = width < SMALL ? 3 : 6;
    this.columns = Math.max(3, Math.floor((width + this.gap) / ((width < SMALL ? 118 : 172) + this.gap)));
    this.cell = (width - this.gap * (this.columns - 1)) / this.columns;
    this.rows = []; // {top, height, month} of a heading, {top, height, first, count} of photos
    this.months = [];
    let top = 0, first = 0;
    const add = (row, height) => { this.rows.push({ top, height, ...row }); top += height; };
    for (const month of undated ? [...months, { start: null, photos: undated }] : months) {
      this.months.push({ ...month, first, top });
      add({ month }, HEAD);
      const end = first + month.photos;
      for (; first < end; first += this.columns) add({ first, count: Math.min(this.columns, end - first) }, this.cell + this.gap);
      first = end;
    }
    this.height = top;
    this.total = first;
  }

  // The last row that begins at or above `y`.
  rowAt(y) {
    return search(this.rows, (row) => row.top <= y);
  }

  // The row that holds a photo, by the photo's place in the order.
  rowOf(at) {
    const month = this.months[search(this.months, (one) => one.first <= at)];
    return this.rowAt(month.top) + 1 + Math.floor((at - month.first) / this.columns);
  }

  monthAt(y) {
    return this.months[search(this.months, (month) => month.top <= y)];
  }
}

// The index of the last item for which `holds`, of items for which it holds first and then no more; 0 for none.
function search(items, holds) {
  let low = 0, high = items.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(items[middle])) low = middle;
    else high = middle - 1;
  }
  return low;
}
