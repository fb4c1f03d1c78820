// Bytes over time: reserved, mapped, created, free.

const CURVES = [
  {name: 'reserved', text: 'reserved'},
  {name: 'mapped', text: 'mapped'},
  {name: 'created', text: 'physical memory'},
  {name: 'free', text: 'free addresses'},
  {name: 'other', text: 'linear and pools'},
];
const CURVES_HEIGHT = 132;
const curves = {};

// Each an array by event. Memory mapped twice counts twice in `mapped` and once in `created`.
function computeCurves() {
  const {spans, events} = run;
  for (const {name} of CURVES) curves[name] = new Float64Array(events.count + 1);
  const nameOf = ['reserved', 'mapped', 'other', 'other', 'created'];
  for (let span = 0; span < spans.count; ++span) {
    if (!isShown(span)) continue;
    const curve = curves[nameOf[spans.kind[span]]];
    curve[spans.begin[span]] += spans.bytes[span];
    curve[spans.end[span]] -= spans.bytes[span];
  }
  for (const {name} of CURVES) {
    const curve = curves[name];
    for (let i = 1; i < curve.length; ++i) curve[i] += curve[i - 1];
  }
  for (let i = 0; i <= events.count; ++i) curves.free[i] = Math.max(0, curves.reserved[i] - curves.mapped[i]);
}

// Nobody sees a few gigabytes mapped below a terabyte reserved.
function chooseCurves() {
  const largest = (name) => curves[name].reduce((most, each) => Math.max(most, each), 0);
  const memory = Math.max(largest('mapped'), largest('created'), largest('other'));
  if (memory > 0 && largest('reserved') > 6 * memory) {
    view.hiddenCurves.add('reserved');
    view.hiddenCurves.add('free');
  }
  if (largest('other') === 0) view.hiddenCurves.add('other');
}

function paintCurves() {
  const pen = penOf(byId('curves'), layout.width, CURVES_HEIGHT);
  const first = eventAt(view.from);
  const last = eventAt(view.to);
  const shown = CURVES.filter(({name}) => !view.hiddenCurves.has(name));
  let most = 1;
  for (const {name} of shown) {
    for (let i = first; i <= last; ++i) most = Math.max(most, curves[name][i]);
  }
  const scale = roundAbove(most);
  const yAt = (bytes) => CURVES_HEIGHT - 6 - bytes / scale * (CURVES_HEIGHT - 18);
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  for (let i = 0; i <= 4; ++i) {
    const y = Math.round(yAt(scale * i / 4)) + 0.5;
    pen.fillStyle = colours.line;
    pen.fillRect(GUTTER, y, plotWidth(), 1);
    pen.fillStyle = colours.faint;
    if (i % 2 === 0) pen.fillText(bytesText(scale * i / 4), GUTTER - 8, y);
  }
  for (const {name} of shown) paintCurve(pen, name, first, last, yAt);
  const place = placeOf(view.moment);
  if (place >= view.from && place <= view.to) {
    pen.fillStyle = colours.accent;
    pen.fillRect(xOf(place) - 0.75, 0, 1.5, CURVES_HEIGHT);
  }
  nameCurves();
}

function roundAbove(bytes) {
  const power = 2 ** Math.floor(Math.log2(bytes));
  return [1, 1.25, 1.5, 2].map((each) => each * power).find((each) => each >= bytes);
}

// Steps; of the events in one pixel, the least and the most.
function paintCurve(pen, name, first, last, yAt) {
  const curve = curves[name];
  pen.beginPath();
  pen.strokeStyle = colours['curve-' + name];
  // Broad, so that it shows below that of physical memory, which is often the same.
  pen.lineWidth = name === 'mapped' ? 4 : 1.75;
  pen.globalAlpha = name === 'mapped' ? 0.55 : 1;
  let pixel = -1;
  let y = yAt(first > 0 || view.from > placeOf(0) ? curve[first] : 0);
  pen.moveTo(GUTTER, y);
  let least = 0;
  let most = 0;
  const endPixel = () => {
    if (pixel < 0) return;
    pen.lineTo(pixel, least);
    pen.lineTo(pixel, most);
    pen.lineTo(pixel, y);
  };
  for (let i = first; i <= last; ++i) {
    const x = Math.max(GUTTER, Math.round(xOf(placeOf(i))));
    const next = yAt(curve[i]);
    if (x !== pixel) {
      endPixel();
      pen.lineTo(x, y);
      pixel = x;
      least = most = next;
    }
    least = Math.min(least, next);
    most = Math.max(most, next);
    y = next;
  }
  endPixel();
  pen.lineTo(Math.min(GUTTER + plotWidth(), xOf(placeOf(last + 1))), y);
  pen.stroke();
  pen.globalAlpha = 1;
}

function nameCurves() {
  const names = byId('curve-names');
  if (!names.children.length) {
    for (const {name, text} of CURVES) {
      const swatch = element('i', {class: 'swatch', 'aria-hidden': 'true'});
      const button = element('button', {type: 'button', onclick: () => {
        if (!view.hiddenCurves.delete(name)) view.hiddenCurves.add(name);
        draw();
      }}, swatch, text + ' ', element('b'));
      names.append(button);
    }
  }
  CURVES.forEach(({name}, i) => {
    const button = names.children[i];
    button.setAttribute('aria-pressed', String(!view.hiddenCurves.has(name)));
    button.firstChild.style.background = colours['curve-' + name];
    button.lastChild.textContent = bytesText(curves[name][view.moment] || 0);
  });
  byId('curves').setAttribute('aria-label', 'Bytes over time; now ' +
    CURVES.map(({name, text}) => `${text} ${bytesText(curves[name][view.moment] || 0)}`).join(', '));
}
