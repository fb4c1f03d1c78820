// What the reader chose to see, and which part of the run that is.

const view = {
  process: null,  // null: all
  device: null,
  size: 0,
  colour: 'device',
  axis: 'time',
  from: 0,  // The window, in units of the axis.
  to: 1,
  tall: 1,  // By how much bands are higher than those that fit.
  moment: 0,  // The state shown is that after this event.
  selected: -1,
  hiddenCurves: new Set(),
};

// The place of an event on the axis; `run.events.count` is the end.
function placeOf(event) {
  if (view.axis === 'events') return event;
  return event >= run.events.count ? axisEnd() : run.events.time[event];
}
function axisEnd() {
  return view.axis === 'events' ? Math.max(1, run.events.count) : Math.max(1, run.duration * 1.02);
}
// The last event at or before a place.
function eventAt(place) {
  const {events} = run;
  const event = view.axis === 'events' ? Math.floor(place + 1e-9) : firstAbove(events.time, place) - 1;
  return Math.min(Math.max(event, 0), Math.max(0, events.count - 1));
}

function isShown(span) {
  const {spans} = run;
  if (view.process !== null && spans.process[span] !== view.process) return false;
  if (spans.kind[span] === RESERVATION) return true;
  if (view.device !== null && spans.device[span] !== view.device) return false;
  return spans.bytes[span] >= view.size;
}

// The bands with something to show. One with reservations only is shown if nothing but the process
// is asked for.
function shownBands() {
  const all = view.device === null && view.size === 0;
  return run.bands.filter((band) =>
    (view.process === null || band.process === view.process) &&
    (all || band.spans.some((span) => run.spans.kind[span] !== RESERVATION && isShown(span))));
}

function setWindow(from, to) {
  const end = axisEnd();
  const least = view.axis === 'events' ? Math.min(4, end) : end / 1e7;
  const width = Math.min(Math.max(to - from, least), end);
  view.from = Math.min(Math.max(from, 0), end - width);
  view.to = view.from + width;
}
function zoom(factor, around) {
  const middle = around === undefined ? Math.min(Math.max(placeOf(view.moment), view.from), view.to) : around;
  setWindow(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
}
function showAll() {
  view.tall = 1;
  setWindow(0, axisEnd());
}
function showMoment(event) {
  view.moment = Math.min(Math.max(event, 0), Math.max(0, run.events.count - 1));
  const place = placeOf(view.moment);
  const width = view.to - view.from;
  if (place < view.from) setWindow(place - width * 0.1, place + width * 0.9);
  if (place > view.to) setWindow(place - width * 0.9, place + width * 0.1);
}

// Time, unless nearly all of it is waiting.
function chooseAxis() {
  const filled = new Set();
  for (let i = 0; i < run.events.count; ++i) filled.add(Math.floor(run.events.time[i] / (run.duration + 1) * 100));
  view.axis = filled.size < Math.min(30, run.events.count / 2) ? 'events' : 'time';
}
