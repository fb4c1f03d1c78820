// Where each band and each address stands in the picture.

const GUTTER = 176;  // For the names of bands.
const RULER = 30;    // For times, and marks without an address.
const GAP = 10;

const layout = {width: 0, height: 0, rows: [], full: 0};

// Every stretch of addresses gets a part of the band's height: to scale, but for those skipped.
function partsOf(band) {
  const used = band.stretches.reduce((sum, stretch) => sum + (stretch.skipped ? 0 : stretch.bytes), 0) || 1;
  const skipped = band.stretches.filter((stretch) => stretch.skipped).length;
  const small = used * Math.min(0.07, 0.4 / Math.max(1, skipped));
  const total = used + small * skipped;
  let at = 0;
  return band.stretches.map((stretch) => {
    const part = {...stretch, start: at, share: (stretch.skipped ? small : stretch.bytes) / total};
    at += part.share;
    return part;
  });
}

function naturalHeight(band) {
  const used = band.stretches.reduce((sum, stretch) => sum + (stretch.skipped ? 0 : stretch.bytes), 0);
  return Math.min(150, 24 + 9 * Math.log2(1 + used / (1 << 21)));
}

function layOut(width, height) {
  layout.width = width;
  layout.height = height;
  const bands = shownBands();
  const natural = bands.reduce((sum, band) => sum + naturalHeight(band), 0);
  // They fill the frame, but for those so many that one has to scroll.
  const scale = Math.max(0.6, (height - RULER - bands.length * GAP) / Math.max(1, natural));
  let y = RULER;
  layout.rows = bands.map((band) => {
    band.parts = band.parts || partsOf(band);
    const row = {band, y, height: Math.max(22, Math.floor(naturalHeight(band) * scale * view.tall))};
    y += row.height + GAP;
    return row;
  });
  layout.full = Math.max(y, height);
}

function plotWidth() {
  return layout.width - GUTTER - 8;
}
function xOf(place) {
  return GUTTER + (place - view.from) / (view.to - view.from) * plotWidth();
}
function placeAtX(x) {
  return view.from + (x - GUTTER) / plotWidth() * (view.to - view.from);
}

// The height of an address in its band, from 0 to 1: low addresses are at the bottom.
function shareOf(band, address) {
  const parts = band.parts;
  let low = 0;
  let high = parts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (parts[middle].address <= address) low = middle;
    else high = middle - 1;
  }
  const part = parts[low];
  if (!part) return 0;
  return part.start + Math.min(1, Math.max(0, (address - part.address) / part.bytes)) * part.share;
}
function yOf(row, address) {
  return row.y + row.height * (1 - shareOf(row.band, address));
}

// The rectangle of a span, within the window; null: it is outside.
function boxOf(row, span) {
  const {spans} = run;
  const left = Math.max(xOf(placeOf(spans.begin[span])), GUTTER);
  const right = Math.min(xOf(placeOf(spans.end[span])), GUTTER + plotWidth());
  if (right < left || left > GUTTER + plotWidth()) return null;
  const top = yOf(row, spans.address[span] + spans.bytes[span]);
  const bottom = yOf(row, spans.address[span]);
  return {left, top, width: Math.max(1, right - left), height: Math.max(1, bottom - top)};
}

// Calls `take` for the spans of a band that the window shows.
function eachInWindow(band, take) {
  const {spans} = run;
  const first = view.axis === 'events' ? view.from : eventAt(view.from);
  const last = view.axis === 'events' ? view.to : eventAt(view.to);
  for (let i = firstAbove(band.latestEnd, first - 1e-9); i < band.spans.length; ++i) {
    const span = band.spans[i];
    if (spans.begin[span] > last) return;
    if (spans.end[span] >= first && isShown(span)) take(span);
  }
}

function rowOf(span) {
  return layout.rows.find((row) => row.band.index === run.spans.band[span]);
}

// What is under a point of the canvas: a span, or -1. What was mapped lies on what was reserved.
function spanAt(x, y) {
  const row = layout.rows.find((each) => y >= each.y && y <= each.y + each.height);
  if (!row || x < GUTTER) return -1;
  let found = -1;
  eachInWindow(row.band, (span) => {
    const box = boxOf(row, span);
    if (!box || x < box.left - 1 || x > box.left + box.width + 1 || y < box.top || y > box.top + box.height) return;
    if (found < 0 || run.spans.kind[span] >= run.spans.kind[found]) found = span;
  });
  return found;
}

// The rows at which the address of an event stands.
function rowsAt(process, address) {
  return layout.rows.filter(({band}) =>
    band.process === process && address >= band.address && address < band.address + band.bytes);
}
