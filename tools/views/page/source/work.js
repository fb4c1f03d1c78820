// What streams did: a lane for each, with its kernels, copies and fills.

const LANE_HEIGHT = 15;
const MOST_LANES = 10;  // Of more, those with the most work are shown.

// In the order in which they began.
const lanes = (() => {
  const {events} = run;
  const byStream = new Map();
  for (let i = 0; i < events.count; ++i) {
    if (!isWork(i)) continue;
    const key = [events.process[i], events.device[i], events.exact.stream[i] || 0].join(' ');
    if (!byStream.has(key)) byStream.set(key, {process: events.process[i], device: events.device[i], stream: events.exact.stream[i] || 0, events: [], latestEnd: []});
    byStream.get(key).events.push(i);
  }
  const all = [...byStream.values()];
  for (const lane of all) {
    lane.events.sort((a, b) => events.began[a] - events.began[b]);
    // With this, both ends of a window are searched.
    let latest = 0;
    for (const event of lane.events) {
      latest = Math.max(latest, workEnd(event));
      lane.latestEnd.push(latest);
    }
  }
  return all.sort((a, b) => a.process - b.process || a.device - b.device || a.events[0] - b.events[0]);
})();

function isWork(event) {
  return ['launch', 'copy', 'fill'].includes(kindOf(event));
}
function workEnd(event) {
  return run.events.began[event] + run.events.duration[event];
}

// The place of a time on the axis; across events, that of the last event before it.
function placeOfTime(ns) {
  return view.axis === 'time' ? ns : Math.max(0, firstAbove(run.events.time, ns) - 1);
}

function shownLanes() {
  const shown = lanes.filter((lane) => (view.process === null || lane.process === view.process) &&
    (view.device === null || lane.device === view.device));
  const most = [...shown].sort((a, b) => b.events.length - a.events.length).slice(0, MOST_LANES);
  return shown.filter((lane) => most.includes(lane));
}

function laneName(lane) {
  const stream = lane.stream === 0 ? 'default stream' : `stream ${addressText(lane.stream)}`;
  const several = lanes.some((other) => other.process !== lane.process);
  return `${several ? `${lane.process}, ` : ''}${deviceText(lane.device)}, ${stream}`;
}

function workBox(lane, at, event) {
  const left = Math.max(GUTTER, xOf(placeOfTime(run.events.began[event])));
  const right = Math.min(GUTTER + plotWidth(), xOf(placeOfTime(workEnd(event)) + (view.axis === 'time' ? 0 : 1)));
  return {left, top: at * LANE_HEIGHT + 2, width: Math.max(1.5, right - left), height: LANE_HEIGHT - 4};
}

// Calls `take` for what the window shows of a lane, the first first.
function eachOfLane(lane, take) {
  const {events} = run;
  const first = view.axis === 'time' ? view.from : events.time[eventAt(view.from)];
  const last = view.axis === 'time' ? view.to : events.time[eventAt(view.to)];
  for (let i = firstAbove(lane.latestEnd, first - 1e-9); i < lane.events.length && events.began[lane.events[i]] <= last; ++i) take(lane.events[i]);
}

function paintWork() {
  const shown = shownLanes();
  const canvas = byId('work');
  canvas.hidden = shown.length === 0;
  if (!shown.length) return;
  const height = shown.length * LANE_HEIGHT;
  const pen = penOf(canvas, layout.width, height);
  shown.forEach((lane, at) => {
    pen.textAlign = 'left';
    pen.textBaseline = 'middle';
    pen.fillStyle = colours.faint;
    pen.fillText(laneName(lane), 0, (at + 0.5) * LANE_HEIGHT, GUTTER - 8);
    pen.fillStyle = colours.reserved;
    pen.fillRect(GUTTER, at * LANE_HEIGHT + 2, plotWidth(), LANE_HEIGHT - 4);
    // Very many share a pixel: one rectangle for each is enough.
    let painted = -1;
    eachOfLane(lane, (event) => {
      const box = workBox(lane, at, event);
      if (box.left + box.width < painted + 0.5) return;
      painted = box.left + box.width;
      pen.fillStyle = kindOf(event) === 'launch' ? colours.kernel : colours.copy;
      pen.fillRect(box.left, box.top, box.width, box.height);
      if (kindOf(event) !== 'launch' || box.width < 40) return;
      pen.fillStyle = colours.panel;
      const room = Math.floor((box.width - 6) / 6);
      const name = textOf(event);
      pen.fillText(name.length > room ? name.slice(0, Math.max(1, room - 1)) + '…' : name, box.left + 3, box.top + box.height / 2 + 0.5, box.width - 6);
    });
  });
  const place = placeOf(view.moment);
  if (place >= view.from && place <= view.to) {
    pen.fillStyle = colours.accent;
    pen.fillRect(xOf(place) - 0.75, 0, 1.5, height);
  }
  canvas.setAttribute('aria-label', `Work of streams over time: ${shown.map((lane) => `${laneName(lane)}, ${lane.events.length}`).join('; ')}`);
}

// What is under a point of the lanes: an event, or -1.
function workAt(x, y) {
  const at = Math.floor(y / LANE_HEIGHT);
  const lane = shownLanes()[at];
  let found = -1;
  if (!lane || x < GUTTER) return found;
  eachOfLane(lane, (event) => {
    const box = workBox(lane, at, event);
    if (x >= box.left - 1 && x <= box.left + box.width + 1) found = event;
  });
  return found;
}

function connectWork() {
  const canvas = byId('work');
  const tip = byId('tip');
  const eventOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return workAt(event.clientX - box.left, event.clientY - box.top);
  };
  canvas.onpointermove = (event) => {
    const work = eventOf(event);
    canvas.style.cursor = work < 0 ? '' : 'pointer';
    showTip(tip, event, work < 0 ? '' : `${eventWords(work)}\n${timeText(run.events.duration[work])}\n${placeText(work)}`);
  };
  canvas.onpointerleave = () => { tip.hidden = true; };
  canvas.onclick = (event) => {
    const work = eventOf(event);
    if (work >= 0) goTo(work, true);
  };
}
