// One span in words: its history, the calls that made it, and what went wrong with it.

const MOST_EVENTS = 200;
const SPAN_WORDS = ['Reservation', 'Mapping', 'Linear memory', 'Memory of a pool', 'Physical memory'];

// The other mappings of the memory of a mapping that were there at a time with it, and overlap it.
function aliasesOf(span) {
  const {spans} = run;
  const found = [];
  if (spans.kind[span] !== MAPPING || !spans.aliased[span]) return found;
  for (let other = 0; other < spans.count; ++other) {
    if (other === span || spans.kind[other] !== MAPPING || spans.memory[other] !== spans.memory[span]) continue;
    if (spans.begin[other] >= spans.end[span] || spans.begin[span] >= spans.end[other]) continue;
    if (spans.offset[other] < spans.offset[span] + spans.bytes[span] &&
        spans.offset[span] < spans.offset[other] + spans.bytes[other]) found.push(other);
  }
  return found;
}

// The events that touched a span: those at its addresses while it was there, its beginning and end,
// and those of its memory.
function historyOf(span) {
  const {spans, events} = run;
  const from = spans.address[span];
  const to = from + spans.bytes[span];
  const memory = spans.memory[span];
  const meets = (address, bytes) => spans.kind[span] !== MEMORY && address !== 0 && address < to && address + Math.max(bytes, 1) > from;
  const found = [];
  for (let i = 0; i < events.count; ++i) {
    if (i === spans.begin[span] || i === spans.end[span]) {
      found.push(i);
    } else if (memory !== 0 && memoryOfAllocation(i) === memory && kindOf(i) !== 'map') {
      found.push(i);
    } else if (events.process[i] === spans.process[span] && i > spans.begin[span] && (i < spans.end[span] || isMark(i)) &&
               (meets(events.address[i], events.bytes[i]) || meets(events.from[i], events.bytes[i]))) {
      found.push(i);
    }
  }
  return found;
}

function isMark(event) {
  const at = firstAbove(run.marks, event) - 1;
  return at >= 0 && run.marks[at] === event;
}

function isMild(event) {
  return run.events.severity[event] === WARNING || run.events.severity[event] === NOTE;
}
function marksText(marks) {
  const mild = marks.filter(isMild).length;
  const words = [];
  if (marks.length > mild) words.push(countText(marks.length - mild, 'error'));
  if (mild) words.push(countText(mild, 'warning'));
  return words.join(', ') || 'no errors';
}

function stackElement(event) {
  const frames = run.stacks[run.events.stack[event]] || [];
  if (!frames.length) return '';
  const lines = frames.map(([name, file, line]) => element('div', {},
    run.texts[name] || '(no name)', ' ',
    element('span', {class: 'place'}, run.texts[file] ? `${run.texts[file]}:${line}` : '')));
  const list = element('div', {class: 'frames'}, ...lines.slice(0, 1));
  if (lines.length === 1) return list;
  return element('div', {}, list, element('details', {},
    element('summary', {}, `called from ${countText(lines.length - 1, 'frame')}`),
    element('div', {class: 'frames'}, ...lines.slice(1))));
}

function markBox(event) {
  const box = element('div', {class: isMild(event) ? 'box mild' : 'box'});
  const code = codeOf(event);
  const text = textOf(event) || eventWords(event);
  if (code && !text.includes(code)) box.append(element('b', {}, code), ' ');
  box.append(text);
  return box;
}

// What a reader who has chosen nothing wants to see.
function showFirstErrors() {
  byId('first-errors').replaceChildren(...run.marks.slice(0, 3).map((event) => {
    const box = markBox(event);
    const button = element('button', {type: 'button', class: box.className, onclick: () => goTo(event, true)});
    button.append(...box.childNodes);
    return element('li', {}, button);
  }));
  if (run.marks.length > 3) byId('first-errors').append(element('li', {class: 'hint'}, `and ${run.marks.length - 3} more, in the table below.`));
}

function historyItem(event) {
  const item = element('li', {class: (isMark(event) ? 'failed ' : '') + (event > view.moment ? 'later' : '')},
    element('span', {class: 'what'}, eventWords(event)), ' ',
    element('button', {type: 'button', class: 'link when', title: 'Show this time', onclick: () => goTo(event)},
      timeText(run.events.time[event])),
    element('span', {class: 'when'}, ` process ${run.events.process[event]}, thread ${run.events.thread[event]}`));
  if (isMark(event)) item.append(markBox(event));
  item.append(stackElement(event));
  return item;
}

function spanTitle(span) {
  const words = `${SPAN_WORDS[run.spans.kind[span]]} of ${bytesText(run.spans.bytes[span])}`;
  return run.spans.kind[span] === MEMORY ? words : `${words} at ${spanAddress(span)}`;
}

function accessWords(span) {
  const byDevice = new Map();
  for (const change of run.accessOf.get(span) || []) {
    if (change <= view.moment) byDevice.set(run.events.device[change], run.events.access[change]);
  }
  const words = [...byDevice].map(([device, access]) => `${deviceText(device)} ${['none', 'reads', 'writes', 'reads and writes'][access] || access}`);
  return words.join(', ') || 'none';
}

function showSelection() {
  const span = view.selected;
  if (span < 0) return;
  const {spans, events} = run;
  const fields = [['process', processText(spans.process[span])]];
  if (spans.kind[span] !== RESERVATION) fields.push(['memory of', deviceText(spans.device[span])]);
  if (spans.kind[span] !== MEMORY) fields.push(['addresses', `${spanAddress(span)}, ${bytesText(spans.bytes[span])}`]);
  fields.push(['there', `from ${timeText(events.time[spans.begin[span]])} ` +
    (spans.end[span] < events.count ? `to ${timeText(events.time[spans.end[span]])}` : 'to the end: nobody gave it back')]);
  if (spans.kind[span] === MAPPING) {
    fields.push(['allocation', `${events.allocation[spans.begin[span]]}, from ${bytesText(spans.offset[span])}`]);
    fields.push(['access now', accessWords(span)]);
  }
  const content = [element('dl', {}, ...fields.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, String(value))]))];

  const history = historyOf(span);
  const errors = history.filter(isMark);
  if (errors.length) {
    content.push(element('h3', {class: 'error'}, marksText(errors)), ...errors.slice(0, 20).map(markBox));
  }
  const aliases = aliasesOf(span);
  if (aliases.length) {
    content.push(element('h3', {}, `The same memory at ${countText(aliases.length, 'other place')}`));
    for (const other of aliases.slice(0, 20)) {
      content.push(element('div', {}, element('button', {type: 'button', class: 'link mono', onclick: () => select(other)},
        `${spanAddress(other)}`), element('span', {class: 'hint'}, ` process ${spans.process[other]}`)));
    }
  }
  content.push(element('h3', {}, 'History'), element('ol', {}, ...history.slice(0, MOST_EVENTS).map(historyItem)));
  if (history.length > MOST_EVENTS) content.push(element('p', {class: 'hint'}, `and ${history.length - MOST_EVENTS} more events.`));
  byId('selection-title').textContent = spanTitle(span);
  byId('selection-text').replaceChildren(...content);
}
