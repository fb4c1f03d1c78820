// The state at one time: totals, and what of each reservation is mapped.

const MOST_ROWS = 60;

function isThere(span, event) {
  return run.spans.begin[span] <= event && event < run.spans.end[span];
}

// For each band with a reservation then: what is mapped in it and the gaps, each as [address, end].
function fragmentationAt(event) {
  const {spans} = run;
  const found = [];
  for (const band of shownBands()) {
    const there = band.spans.filter((span) => isThere(span, event));
    for (const reservation of there.filter((span) => spans.kind[span] === RESERVATION)) {
      const address = spans.address[reservation];
      const end = address + spans.bytes[reservation];
      const mapped = there
        .filter((span) => spans.kind[span] === MAPPING && spans.address[span] >= address && spans.address[span] < end)
        .sort((a, b) => spans.address[a] - spans.address[b]);
      const gaps = [];
      let at = address;
      for (const span of mapped) {
        if (spans.address[span] > at) gaps.push([at, spans.address[span]]);
        at = Math.max(at, spans.address[span] + spans.bytes[span]);
      }
      if (at < end) gaps.push([at, end]);
      found.push({band, reservation, mapped, gaps});
    }
  }
  return found;
}

function showState() {
  const {spans} = run;
  const totals = CURVES.flatMap(({name, text}) =>
    [element('dt', {}, text), element('dd', {}, bytesText(curves[name][view.moment] || 0))]);
  byId('totals').replaceChildren(...totals);

  const all = fragmentationAt(view.moment);
  const rows = all.slice(0, MOST_ROWS).map(({band, reservation, mapped, gaps}) => {
    const bytes = mapped.reduce((sum, span) => sum + spans.bytes[span], 0);
    const largest = gaps.reduce((most, [from, to]) => Math.max(most, to - from), 0);
    const free = gaps.reduce((sum, [from, to]) => sum + to - from, 0);
    const words = `${bytesText(bytes)} mapped in ${countText(mapped.length, 'piece')}; ` +
      (gaps.length ? `${bytesText(free)} free in ${countText(gaps.length, 'gap')}, ` +
        `the largest ${bytesText(largest)}` : 'nothing free');
    const bar = element('canvas', {class: 'bar', 'aria-hidden': 'true'});
    requestAnimationFrame(() => paintBar(bar, band, reservation, mapped, gaps, largest));
    return element('tr', {}, element('th', {scope: 'row'},
      element('div', {class: 'row-title'},
        element('button', {type: 'button', class: 'link mono', onclick: () => select(reservation)}, spanAddress(reservation)),
        element('span', {class: 'hint'}, `${bytesText(spans.bytes[reservation])}, process ${spans.process[reservation]}`)),
      bar, element('div', {class: 'hint'}, words)));
  });
  byId('fragmentation').tBodies[0].replaceChildren(...rows);
  byId('fragmentation-more').textContent = all.length > MOST_ROWS ? `and ${all.length - MOST_ROWS} more: filter to see them.` :
    all.length === 0 ? 'Nothing is reserved then.' : '';
}

// Along the addresses of a reservation; far gaps are as short as in the picture. The largest gap has a line.
function paintBar(canvas, band, reservation, mapped, gaps, largest) {
  const {spans} = run;
  const width = canvas.clientWidth;
  if (!width) return;
  const pen = penOf(canvas, width, 14);
  canvas.style.width = '';
  band.parts = band.parts || partsOf(band);
  const start = shareOf(band, spans.address[reservation]);
  const whole = shareOf(band, spans.address[reservation] + spans.bytes[reservation]) - start || 1;
  const xAt = (address) => (shareOf(band, address) - start) / whole * width;
  pen.fillStyle = colours.reserved;
  pen.fillRect(0, 0, width, 14);
  for (const part of band.parts.filter((each) => each.skipped)) {
    pen.fillStyle = colours.hatch;
    pen.fillRect(xAt(part.address), 0, xAt(part.address + part.bytes) - xAt(part.address), 14);
  }
  for (const span of mapped) {
    const left = xAt(spans.address[span]);
    pen.fillStyle = view.colour === 'access' ? accessColour(accessAt(span, view.moment)) : deviceColour(spans.device[span]);
    pen.fillRect(left, 0, Math.max(1, xAt(spans.address[span] + spans.bytes[span]) - left - 0.5), 14);
  }
  const gap = gaps.find(([from, to]) => to - from === largest);
  if (!gap || mapped.length === 0) return;
  const [left, right] = gap.map(xAt);
  pen.fillStyle = colours.faint;
  if (right - left >= 4) pen.fillRect(left + 1, 6.5, right - left - 2, 1);
  pen.fillRect(left + 1, 3, 1, 8);
  pen.fillRect(Math.max(left + 1, right - 2), 3, 1, 8);
}
