// The page as a whole: draws it, and does what the reader asks.

let drawing = 0;

// Draws at the next frame, once for all that changed until then.
function draw() {
  if (!drawing) drawing = requestAnimationFrame(drawNow);
}

function drawNow() {
  drawing = 0;
  const frame = byId('bands-frame');
  const width = frame.clientWidth;
  const height = frame.clientHeight;
  layOut(width, height);
  byId('bands-height').style.height = layout.full + 'px';
  paintBands(penOf(byId('bands'), width, height), frame.scrollTop);
  paintWork();
  paintCurves();
  placeSlider();
}

function placeSlider() {
  const slider = byId('moment');
  // The middle of the thumb, 16 pixels wide, stands below the line.
  slider.style.marginLeft = GUTTER - 8 + 'px';
  slider.style.width = plotWidth() + 16 + 'px';
  slider.min = view.from;
  slider.max = view.to;
  slider.value = placeOf(view.moment);
  const words = run.events.count ? `${timeText(run.events.time[view.moment])}, event ${(view.moment + 1).toLocaleString('en')} of ` +
    `${run.events.count.toLocaleString('en')}: ${eventWords(view.moment)}` : 'No events.';
  slider.setAttribute('aria-valuetext', words);
  byId('moment-text').replaceChildren(words, element('span', {class: 'hint'}, run.events.count ? '  ' + placeText(view.moment) : ''));
}

// The span that an event is about: what is at its address then, else what was there last.
function spanOf(event) {
  const {events, spans} = run;
  const row = rowsAt(events.process[event], events.address[event])[0];
  if (!row) return -1;
  const met = row.band.spans.filter((span) => spans.begin[span] <= event && isShown(span) &&
    events.address[event] >= spans.address[span] && events.address[event] < spans.address[span] + spans.bytes[span]);
  const now = met.filter((span) => event < spans.end[span]);
  const isMapped = (span) => spans.kind[span] !== RESERVATION;
  const best = [now.filter(isMapped), met.filter(isMapped), now].find((each) => each.length);
  return best ? best.pop() : -1;
}

function goTo(event, withSpan) {
  showMoment(event);
  const span = withSpan ? spanOf(event) : -1;
  if (span >= 0) select(span);
  else if (view.selected >= 0) showSelection();
  showState();
  draw();
  say(eventWords(view.moment));
}

function select(span) {
  view.selected = span;
  showSelection();
  if (TABLES[table.name].cells === spanCells) showTable();
  const row = rowOf(span);
  const frame = byId('bands-frame');
  const y = row && yOf(row, run.spans.address[span]);
  if (row && (y < frame.scrollTop + RULER + 20 || y > frame.scrollTop + layout.height)) {
    frame.scrollTop = row.height < layout.height - RULER ? row.y - RULER - 10 : y - layout.height / 2;
  }
  draw();
  say(spanTitle(span));
}

// What is in the middle of the frame, or selected, stays there.
function makeTaller(factor) {
  const frame = byId('bands-frame');
  const row = view.selected >= 0 && rowOf(view.selected);
  const middle = row ? yOf(row, run.spans.address[view.selected]) : frame.scrollTop + layout.height / 2;
  const share = middle / layout.full;
  view.tall = Math.min(Math.max(view.tall * factor, 1), 200);
  drawNow();
  frame.scrollTop = row ? yOf(rowOf(view.selected), run.spans.address[view.selected]) - layout.height / 2 :
    share * layout.full - layout.height / 2;
  draw();
}

function say(words) {
  byId('spoken').textContent = words;
}

function filterChanged() {
  computeCurves();
  byId('bands-frame').scrollTop = 0;
  showState();
  fillTables();
  draw();
}

function devicesOfRun() {
  const devices = new Set();
  for (let span = 0; span < run.spans.count; ++span) {
    if (run.spans.kind[span] !== RESERVATION) devices.add(run.spans.device[span]);
  }
  return [...devices].sort((a, b) => a - b);
}

function nextMark(step) {
  const marks = errorRows();
  const next = step > 0 ? marks[firstAbove(marks, view.moment)] : marks[firstAbove(marks, view.moment - 1) - 1];
  if (next !== undefined) goTo(next, true);
}

// The next span up or down that is there at the moment, as the picture has them.
function selectNext(step) {
  const there = [];
  for (const {band} of layout.rows) {
    const here = band.spans.filter((span) => isThere(span, view.moment) && isShown(span));
    there.push(...here.sort((a, b) => run.spans.address[b] - run.spans.address[a] || run.spans.kind[a] - run.spans.kind[b]));
  }
  if (!there.length) return;
  const at = there.indexOf(view.selected);
  select(there[at < 0 ? (step > 0 ? 0 : there.length - 1) : Math.min(Math.max(at + step, 0), there.length - 1)]);
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const acts = {
    ArrowLeft: () => goTo(view.moment - (event.shiftKey ? Math.ceil(run.events.count / 50) : 1)),
    ArrowRight: () => goTo(view.moment + (event.shiftKey ? Math.ceil(run.events.count / 50) : 1)),
    Home: () => goTo(0),
    End: () => goTo(run.events.count - 1),
    '+': () => { zoom(0.6); draw(); },
    '=': () => { zoom(0.6); draw(); },
    '-': () => { zoom(1 / 0.6); draw(); },
    '0': () => { showAll(); draw(); },
    ']': () => makeTaller(1.5),
    '[': () => makeTaller(1 / 1.5),
    e: () => nextMark(1),
    E: () => nextMark(-1),
  };
  if (event.currentTarget.id === 'bands') {
    acts.ArrowUp = () => selectNext(-1);
    acts.ArrowDown = () => selectNext(1);
    acts.Enter = () => byId('selection').focus();
  }
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
}

function connectCanvas() {
  const canvas = byId('bands');
  const frame = byId('bands-frame');
  const tip = byId('tip');
  let dragged = null;
  const pointOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top + frame.scrollTop};
  };
  canvas.onpointerdown = (event) => {
    dragged = {x: event.clientX, from: view.from, to: view.to, moved: false};
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.onpointermove = (event) => {
    if (dragged) {
      const shift = (event.clientX - dragged.x) / plotWidth() * (dragged.to - dragged.from);
      dragged.moved = dragged.moved || Math.abs(event.clientX - dragged.x) > 4;
      if (dragged.moved) {
        setWindow(dragged.from - shift, dragged.to - shift);
        draw();
      }
    }
    const {x, y} = pointOf(event);
    const span = dragged && dragged.moved ? -1 : spanAt(x, y);
    canvas.style.cursor = span < 0 ? '' : 'pointer';
    const site = span < 0 ? '' : placeText(run.spans.begin[span]);
    showTip(tip, event, span < 0 ? '' : `${spanTitle(span)}\n${run.spans.kind[span] === RESERVATION ? '' : deviceText(run.spans.device[span]) + ', '}process ${run.spans.process[span]}` +
      (site ? `\n${site}` : ''));
  };
  canvas.onpointerleave = () => { tip.hidden = true; };
  canvas.onpointerup = (event) => {
    const moved = dragged && dragged.moved;
    dragged = null;
    if (moved) return;
    const {x, y} = pointOf(event);
    const span = spanAt(x, y);
    if (x >= GUTTER) goTo(eventAt(placeAtX(x)));
    if (span >= 0) select(span);
  };
  canvas.addEventListener('wheel', (event) => {
    if (event.ctrlKey || event.metaKey) {
      zoom(1.0015 ** event.deltaY, placeAtX(pointOf(event).x));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const shift = (event.deltaX || event.deltaY) / plotWidth() * (view.to - view.from);
      setWindow(view.from + shift, view.to + shift);
    } else {
      return;  // Scrolls.
    }
    event.preventDefault();
    draw();
  }, {passive: false});
  canvas.onkeydown = pressed;
  frame.onscroll = draw;
}

// Beside the mouse; without words there is none.
function showTip(tip, event, words) {
  tip.hidden = !words;
  tip.textContent = words;
  tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + 'px';
  tip.style.top = Math.min(event.clientY + 16, window.innerHeight - tip.offsetHeight - 8) + 'px';
}

// A time is chosen in the curves, as by the slider.
function connectCurves() {
  const canvas = byId('curves');
  const choose = (event) => {
    const x = event.clientX - canvas.getBoundingClientRect().left;
    if (event.buttons === 1 && x >= GUTTER) goTo(eventAt(placeAtX(x)));
  };
  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    choose(event);
  };
  canvas.onpointermove = choose;
}

function connectControls() {
  const fill = (id, values, words, all) => {
    byId(id).append(element('option', {value: ''}, all), ...values.map((each) => element('option', {value: each}, words(each))));
    byId(id).onchange = (event) => {
      view[id] = event.target.value === '' ? null : Number(event.target.value);
      filterChanged();
    };
  };
  fill('process', [...new Set(run.events.process)].sort((a, b) => a - b), processText, 'all');
  fill('device', devicesOfRun(), deviceText, 'all');
  byId('size').onchange = (event) => {
    view.size = Number(event.target.value);
    filterChanged();
  };
  for (const radio of document.querySelectorAll('[name="colour"]')) {
    radio.onchange = () => {
      view.colour = radio.value;
      paintLegend();
      showState();
      draw();
    };
  }
  for (const radio of document.querySelectorAll('[name="axis"]')) {
    radio.checked = radio.value === view.axis;
    radio.onchange = () => {
      view.axis = radio.value;
      setWindow(0, axisEnd());
      draw();
    };
  }
  byId('zoom-in').onclick = () => { zoom(0.6); draw(); };
  byId('zoom-out').onclick = () => { zoom(1 / 0.6); draw(); };
  byId('zoom-all').onclick = () => { showAll(); draw(); };
  byId('higher').onclick = () => makeTaller(1.5);
  byId('lower').onclick = () => makeTaller(1 / 1.5);
  byId('error-before').onclick = () => nextMark(-1);
  byId('error-after').onclick = () => nextMark(1);
  byId('error-before').parentElement.hidden = !run.marks.length;
  const slider = byId('moment');
  slider.oninput = () => goTo(eventAt(Number(slider.value)));
  slider.onkeydown = pressed;
}

// Where it first went wrong, else where there was most memory: at the end often nothing is left.
function firstMoment() {
  const error = run.marks.find((event) => !isMild(event));
  if (error !== undefined) return error;
  let most = 0;
  for (let i = 0; i < run.events.count; ++i) {
    if (curves.mapped[i] + curves.other[i] > curves.mapped[most] + curves.other[most]) most = i;
  }
  return most;
}

function showPage() {
  document.title = run.title;
  byId('title').textContent = run.title;
  const processes = new Set(run.events.process).size;
  byId('summary').textContent = [countText(run.events.count, 'event'), `${processes} process${processes === 1 ? '' : 'es'}`,
    timeText(run.duration), marksText(run.marks)].join(' · ');
  byId('left-out').hidden = !run.leftOut;
  byId('left-out').textContent = `${countText(run.leftOut, 'event')} left out: kernels and copies first, then what came last.`;
  chooseAxis();
  setWindow(0, axisEnd());
  readColours();
  computeCurves();
  view.moment = firstMoment();
  chooseCurves();
  connectControls();
  connectCanvas();
  connectCurves();
  connectWork();
  connectTables();
  paintLegend();
  fillTables();
  showFirstErrors();
  showState();
  drawNow();
  window.matchMedia('(prefers-color-scheme: dark)').onchange = () => {
    readColours();
    paintLegend();
    showState();
    draw();
  };
  new ResizeObserver(draw).observe(byId('bands-frame'));
}

showPage();
