// The run: what the record says, as arrays. Everything else reads it and changes nothing.

const RESERVATION = 0;
const MAPPING = 1;
const LINEAR = 2;
const POOL = 3;
const MEMORY = 4;
const NOTE = 1;
const WARNING = 2;
const ERROR = 3;
const HOST = -1;

const run = (() => {
  const data = JSON.parse(byId('data').textContent);
  const numbers = (list, count) => {
    const array = new Float64Array(count);
    for (let i = 0; i < list.length; ++i) array[i] = Number(list[i]);
    return array;
  };
  const columns = (from) => {
    const made = {count: from.count, exact: {address: from.address, from: from.from || [], stream: from.stream || []}};
    for (const name of Object.keys(from)) {
      if (Array.isArray(from[name])) made[name] = numbers(from[name], from.count);
    }
    return made;
  };

  const {changes, changedSpan, changedBy, ...spanColumns} = data.spans;
  const events = columns(data.events);
  const spans = columns(spanColumns);
  // What takes time stands at its end, and its time is that of its beginning.
  events.began = events.time.slice();
  // Time never goes back on the axis, whatever a record says.
  for (let i = 1; i < events.count; ++i) events.time[i] = Math.max(events.time[i], events.time[i - 1]);

  // The events that set the access to each mapping, in order.
  const accessOf = new Map();
  for (let i = 0; i < changes; ++i) {
    const span = changedSpan[i] || 0;
    if (!accessOf.has(span)) accessOf.set(span, []);
    accessOf.get(span).push(changedBy[i] || 0);
  }

  const bands = data.bands.map((list, index) => {
    const exact = list[3];
    const [kind, reserved, process, address, bytes, ...rest] = list.map(Number);
    const stretches = [];
    for (let i = 0; i < rest.length; i += 3) {
      stretches.push({address: rest[i], bytes: rest[i + 1], skipped: rest[i + 2] === 1});
    }
    return {index, kind, reserved: reserved === 1, process, address, exact, bytes, stretches, spans: [], latestEnd: []};
  });
  for (let i = 0; i < spans.count; ++i) {
    if (spans.kind[i] !== MEMORY) bands[spans.band[i]].spans.push(i);
  }
  for (const band of bands) {
    // Spans are in the order in which they begin: with this, both ends of a window are searched.
    let latest = 0;
    for (const span of band.spans) {
      latest = Math.max(latest, spans.end[span]);
      band.latestEnd.push(latest);
    }
  }

  const marks = [];
  for (let i = 0; i < events.count; ++i) {
    const word = data.kinds[events.kind[i]];
    if (events.severity[i] >= WARNING || word === 'fault' || word === 'diagnostic') marks.push(i);
  }
  return {...data, events, spans, bands, accessOf, marks, duration: events.count ? events.time[events.count - 1] : 0};
})();

function kindOf(event) {
  return run.kinds[run.events.kind[event]] || 'unknown';
}
function textOf(event) {
  return run.texts[run.events.text[event]];
}
function codeOf(event) {
  return run.texts[run.events.code[event]];
}
function eventAddress(event) {
  return addressText(run.events.exact.address[event] || 0);
}
function spanAddress(span) {
  return addressText(run.spans.exact.address[span] || 0);
}
const programOf = new Map(run.programs);
function processText(process) {
  const program = (programOf.get(process) || '').split('/').pop();
  return program ? `${process} ${program}` : String(process);
}
function deviceText(device) {
  return device === HOST ? 'host' : `device ${device}`;
}

// The first place in `array`, which ascends, with a value above `value`.
function firstAbove(array, value) {
  let low = 0;
  let high = array.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

// What devices may do with a mapping after `event`: 0 nothing, 1 read, 3 write.
function accessAt(span, event) {
  const changes = run.accessOf.get(span) || [];
  const byDevice = new Map();
  for (const change of changes) {
    if (change > event) break;
    byDevice.set(run.events.device[change], run.events.access[change]);
  }
  return Math.max(0, ...byDevice.values());
}

function isFailed(event) {
  return run.events.severity[event] === ERROR && kindOf(event) !== 'fault' && kindOf(event) !== 'diagnostic';
}

// The words for an event: "map 2 MiB at 0x7f...".
function eventWords(event) {
  const {events} = run;
  const kind = kindOf(event);
  const parts = [kind];
  if (isFailed(event)) parts.unshift('failed:');
  if (kind === 'launch') parts.push(textOf(event));
  if (kind === 'set-access') {
    parts.push(['none', 'read', 'write', 'read and write'][events.access[event]] || '', 'for', deviceText(events.device[event]) + ',');
  }
  if (kind === 'diagnostic' || kind === 'fault' || isFailed(event)) parts.push(codeOf(event));
  if (events.bytes[event]) parts.push(bytesText(events.bytes[event]));
  if (events.address[event]) parts.push('at', eventAddress(event));
  if (events.from[event]) parts.push('from', addressText(events.exact.from[event]));
  if (events.device[event] !== HOST && kind !== 'set-access') parts.push('on', deviceText(events.device[event]));
  return parts.filter(Boolean).join(' ');
}

// The number of memory that a process knows as an allocation; mappings tell.
const memoryOfAllocation = (() => {
  const {spans, events} = run;
  const known = new Map();
  const key = (event) => events.process[event] + ' ' + events.allocation[event];
  for (let span = 0; span < spans.count; ++span) {
    if (spans.memory[span]) known.set(key(spans.begin[span]), spans.memory[span]);
  }
  return (event) => events.allocation[event] ? known.get(key(event)) : undefined;
})();
