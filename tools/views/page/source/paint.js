// The picture of the bands.

const colours = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['panel', 'text', 'faint', 'line', 'reserved', 'gap', 'accent', 'error', 'warning', 'edge', 'chosen', 'none',
    'read', 'write', 'kernel', 'copy', 'host', 'device-0', 'device-1', 'device-2', 'device-3', 'device-4', 'device-5', 'device-6',
    'device-7', 'curve-reserved', 'curve-mapped', 'curve-created', 'curve-free', 'curve-other']) {
    colours[name] = style.getPropertyValue('--' + name).trim();
  }
  colours.hatch = hatched(colours.gap);
  colours.noAccess = hatched(colours.none);
}

function hatched(colour) {
  const tile = element('canvas', {width: 6, height: 6});
  const pen = tile.getContext('2d');
  pen.strokeStyle = colour;
  pen.lineWidth = 1.2;
  pen.beginPath();
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift, 6);
    pen.lineTo(shift + 6, 0);
  }
  pen.stroke();
  return pen.createPattern(tile, 'repeat');
}

function deviceColour(device) {
  return device < 0 ? colours.host : colours[`device-${device % 8}`];
}
function accessColour(access) {
  return access >= 2 ? colours.write : access === 1 ? colours.read : colours.noAccess;
}

// A canvas for the pixels of this screen; its pen draws in the units of the page.
function penOf(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
  return pen;
}

function paintBands(pen, scrolled) {
  pen.save();
  pen.translate(0, -scrolled);
  for (const row of layout.rows) {
    if (row.y + row.height < scrolled + RULER || row.y > scrolled + layout.height) continue;
    paintName(pen, row, scrolled);
    paintSpans(pen, row, scrolled);
  }
  paintSelection(pen);
  paintMarks(pen);
  pen.restore();
  paintRuler(pen);
}

function bandTitle(band) {
  const kind = band.kind === LINEAR ? 'linear memory' : band.kind === POOL ? 'pool' : band.reserved ? 'reserved' : 'mapped';
  return `${bytesText(band.bytes)} ${kind}`;
}

// It stays in sight while a part of its band is.
function paintName(pen, row, scrolled) {
  const {band, height} = row;
  const y = Math.max(row.y, Math.min(scrolled + RULER, row.y + height - 44));
  pen.textAlign = 'left';
  pen.textBaseline = 'top';
  pen.fillStyle = colours.text;
  pen.fillText(bandTitle(band), 0, y + 1);
  pen.fillStyle = colours.faint;
  if (height >= 26) pen.fillText(addressText(band.exact), 0, y + 15);
  if (height >= 40) pen.fillText(`process ${processText(band.process)}`, 0, y + 29, GUTTER - 8);
}

function paintSpans(pen, row, scrolled) {
  const {spans} = run;
  pen.save();
  pen.beginPath();
  pen.rect(GUTTER - 1, row.y - 1, plotWidth() + 2, row.height + 2);
  pen.clip();
  // Very many spans share pixels: one rectangle for each pixel is enough.
  const painted = new Set();
  eachInWindow(row.band, (span) => {
    const box = boxOf(row, span);
    if (!box || box.top > scrolled + layout.height || box.top + box.height < scrolled) return;
    if (spans.kind[span] === RESERVATION) {
      paintReservation(pen, row, span, box);
      return;
    }
    if (box.width < 1.5 && box.height < 1.5) {
      const pixel = Math.round(box.left) * 65536 + Math.round(box.top);
      if (painted.has(pixel)) return;
      painted.add(pixel);
    }
    paintSpan(pen, span, box);
  });
  pen.restore();
}

function paintReservation(pen, row, span, box) {
  pen.fillStyle = colours.reserved;
  pen.fillRect(box.left, box.top, box.width, box.height);
  const address = run.spans.address[span];
  const end = address + run.spans.bytes[span];
  for (const part of row.band.parts) {
    if (!part.skipped || part.address + part.bytes <= address || part.address >= end) continue;
    const top = yOf(row, Math.min(part.address + part.bytes, end));
    const height = yOf(row, Math.max(part.address, address)) - top;
    pen.fillStyle = colours.hatch;
    pen.fillRect(box.left, top, box.width, height);
  }
  pen.strokeStyle = colours.gap;
  pen.lineWidth = 1;
  pen.strokeRect(box.left + 0.5, box.top + 0.5, Math.max(0, box.width - 1), Math.max(0, box.height - 1));
}

function paintSpan(pen, span, box) {
  const {spans} = run;
  if (view.colour === 'access' && spans.kind[span] === MAPPING) {
    paintAccesses(pen, span, box);
  } else {
    // Linear memory is always read and written by its device.
    pen.fillStyle = view.colour === 'access' ? accessColour(3) : deviceColour(spans.device[span]);
    pen.fillRect(box.left, box.top, box.width, box.height);
  }
  if (box.height >= 4 && box.width >= 3) {
    pen.fillStyle = colours.panel;
    pen.fillRect(box.left, box.top, box.width, 0.75);
    pen.fillRect(box.left + box.width - 0.75, box.top, 0.75, box.height);
  }
  if (isLeft(span) && box.height >= 2) {
    const end = xOf(axisEnd());
    pen.fillStyle = colours.error;
    pen.fillRect(end - 4, box.top, 4, box.height);
  }
  if (spans.aliased[span] && box.height >= 3 && box.width >= 3) {
    pen.strokeStyle = colours.edge;
    pen.lineWidth = 1.5;
    pen.strokeRect(box.left + 0.75, box.top + 0.75, box.width - 1.5, box.height - 1.5);
  }
}

// Nobody gave it back within the record.
function isLeft(span) {
  return run.spans.end[span] >= run.events.count;
}
const someLeft = run.spans.end.some((end, span) => isLeft(span) &&
  run.spans.kind[span] !== RESERVATION && run.spans.kind[span] !== MEMORY);

// From each change of access to the next.
function paintAccesses(pen, span, box) {
  const right = box.left + box.width;
  const byDevice = new Map();
  let left = box.left;
  let access = 0;
  for (const change of run.accessOf.get(span) || []) {
    const at = Math.min(Math.max(box.left, xOf(placeOf(change))), right);
    if (at - left >= 0.5) {
      paintAccess(pen, accessColour(access), {...box, left, width: at - left});
      left = at;
    }
    byDevice.set(run.events.device[change], run.events.access[change]);
    access = Math.max(...byDevice.values());
  }
  paintAccess(pen, accessColour(access), {...box, left, width: right - left});
}

function paintAccess(pen, colour, box) {
  pen.fillStyle = colours.panel;
  pen.fillRect(box.left, box.top, box.width, box.height);
  pen.fillStyle = colour;
  pen.fillRect(box.left, box.top, box.width, box.height);
}

function paintSelection(pen) {
  if (view.selected < 0) return;
  const outline = (span, dash) => {
    const row = rowOf(span);
    const box = row && boxOf(row, span);
    if (!box) return;
    pen.setLineDash(dash);
    pen.lineWidth = 5;
    pen.strokeStyle = colours.panel;
    pen.strokeRect(box.left, box.top, box.width, box.height);
    pen.lineWidth = 2.5;
    pen.strokeStyle = colours.chosen;
    pen.strokeRect(box.left, box.top, box.width, box.height);
  };
  for (const other of aliasesOf(view.selected).slice(0, 500)) outline(other, [5, 3]);
  outline(view.selected, []);
  pen.setLineDash([]);
}

function paintMark(pen, x, y, event) {
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(x - 6, y - 11);
  pen.lineTo(x + 6, y - 11);
  pen.closePath();
  pen.lineWidth = 2.5;
  pen.strokeStyle = colours.panel;
  pen.stroke();
  pen.fillStyle = run.events.severity[event] === WARNING ? colours.warning : run.events.severity[event] === NOTE ? colours.faint : colours.error;
  pen.fill();
}

function isMarkShown(event) {
  const place = placeOf(event);
  return place >= view.from && place <= view.to && (view.process === null || run.events.process[event] === view.process);
}

function paintMarks(pen) {
  const painted = new Set();
  for (const event of run.marks) {
    if (!run.events.address[event] || !isMarkShown(event)) continue;
    for (const row of rowsAt(run.events.process[event], run.events.address[event])) {
      const x = xOf(placeOf(event));
      const y = Math.max(yOf(row, run.events.address[event]), row.y + 9);
      const pixel = Math.round(x / 2) * 65536 + Math.round(y / 2);
      if (painted.has(pixel)) continue;
      painted.add(pixel);
      paintMark(pen, x, y, event);
    }
  }
}

// With as many digits as tell one step from the next.
function rulerText(at, step) {
  const [unit, size] = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]].find(([, each]) => view.to >= each) || ['ns', 1];
  return `${Number((at / size).toFixed(Math.max(0, Math.ceil(-Math.log10(step / size)))))} ${unit}`;
}

// Round steps, at least 90 pixels each.
function paintRuler(pen) {
  pen.fillStyle = colours.panel;
  pen.fillRect(0, 0, layout.width, RULER - 6);
  const rough = (view.to - view.from) * 90 / plotWidth();
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  if (view.axis === 'events') step = Math.max(1, step);
  pen.textBaseline = 'top';
  pen.textAlign = 'right';
  pen.fillStyle = colours.faint;
  pen.fillText(view.axis === 'events' ? 'event' : 'time', GUTTER - 8, 0);
  pen.textAlign = 'center';
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const x = Math.round(xOf(at)) + 0.5;
    pen.fillStyle = colours.faint;
    if (x > GUTTER + 20 && x < layout.width - 20) pen.fillText(view.axis === 'events' ? Math.round(at).toLocaleString('en') : rulerText(at, step), x, 0);
    pen.fillStyle = colours.line;
    pen.fillRect(x, 14, 1, 6);
  }
  const painted = new Set();
  for (const event of run.marks) {
    const x = Math.round(xOf(placeOf(event)));
    if (!isMarkShown(event) || painted.has(x)) continue;
    painted.add(x);
    paintMark(pen, x, RULER - 6, event);
  }
  if (placeOf(view.moment) < view.from || placeOf(view.moment) > view.to) return;
  const x = xOf(placeOf(view.moment));
  pen.fillStyle = colours.accent;
  pen.fillRect(x - 0.75, 14, 1.5, layout.height);
}

function paintLegend() {
  const entry = (swatch, text) => element('span', {role: 'listitem'}, swatch, text);
  const filled = (colour) => {
    const swatch = element('i', {class: 'swatch', 'aria-hidden': 'true'});
    swatch.style.background = colour;
    return swatch;
  };
  const entries = [];
  if (view.colour === 'device') {
    for (const device of devicesOfRun()) entries.push(entry(filled(deviceColour(device)), deviceText(device)));
  } else {
    entries.push(entry(filled(colours.write), 'read and write'), entry(filled(colours.read), 'read only'));
    const none = filled(`repeating-linear-gradient(-45deg, ${colours.none} 0 2px, ${colours.panel} 2px 4px)`);
    entries.push(entry(none, 'no access'));
  }
  const named = (name, text) => entry(element('i', {class: `swatch ${name}`, 'aria-hidden': 'true'}), text);
  entries.push(named('empty', 'reserved, nothing mapped'));
  if (run.spans.aliased.some((each) => each)) entries.push(named('edge', 'mapped twice'));
  if (someLeft) entries.push(named('left', 'left at the end'));
  const works = (test) => lanes.some((lane) => lane.events.some((event) => (kindOf(event) === 'launch') === test));
  if (works(true)) entries.push(entry(filled(colours.kernel), 'kernel'));
  if (works(false)) entries.push(entry(filled(colours.copy), 'copy or fill'));
  if (!run.marks.every(isMild)) entries.push(named('mark', 'error'));
  if (run.marks.some(isMild)) entries.push(named('mark mild', 'warning'));
  byId('legend').replaceChildren(...entries);
}
