// The same as tables: for who does not see the picture, and to look something up.

const PAGE_ROWS = 100;
const table = {name: 'mappings', page: 0, rows: []};

function spanRows() {
  const rows = [];
  for (let span = 0; span < run.spans.count; ++span) {
    const kind = run.spans.kind[span];
    if (kind !== RESERVATION && kind !== MEMORY && isShown(span)) rows.push(span);
  }
  return rows;
}
function leftRows() {
  const rows = [];
  for (let span = 0; span < run.spans.count; ++span) if (isLeft(span) && isShown(span)) rows.push(span);
  return rows;
}
function isEventShown(event) {
  return (view.process === null || run.events.process[event] === view.process) &&
    (view.device === null || run.events.device[event] === view.device) && run.events.bytes[event] >= view.size;
}
function eventRows() {
  const rows = [];
  for (let event = 0; event < run.events.count; ++event) if (isEventShown(event)) rows.push(event);
  return rows;
}
function errorRows() {
  return run.marks.filter((event) => view.process === null || run.events.process[event] === view.process);
}

function link(text, act) {
  return element('button', {type: 'button', class: 'link mono', onclick: act}, text);
}
function placeText(event) {
  const frame = (run.stacks[run.events.stack[event]] || [])[0];
  return frame ? `${run.texts[frame[0]]} ${run.texts[frame[1]] ? `${run.texts[frame[1]]}:${frame[2]}` : ''}` : '';
}

const SPAN_HEAD = ['Address', 'Bytes', 'Kind', 'Process', 'Device', 'From', 'To', 'Call'];

function spanCells(span) {
  const {spans, events} = run;
  const kind = ['reservation', 'mapping', 'linear', 'pool', 'physical memory'][spans.kind[span]];
  return [link(spans.kind[span] === MEMORY ? '(none)' : spanAddress(span), () => select(span)), bytesText(spans.bytes[span]),
    kind + (spans.aliased[span] ? ', mapped twice' : ''), spans.process[span],
    spans.kind[span] === RESERVATION ? '' : deviceText(spans.device[span]), timeText(events.time[spans.begin[span]]),
    isLeft(span) ? 'left at the end' : timeText(events.time[spans.end[span]]), placeText(spans.begin[span])];
}

const TABLES = {
  errors: {
    name: 'Errors', rows: errorRows, head: ['Time', 'Process', 'What', 'Words', 'Call'],
    cells: (event) => [link(timeText(run.events.time[event]), () => goTo(event, true)), run.events.process[event],
      eventWords(event), textOf(event), placeText(event)],
  },
  left: {name: 'Left at the end', rows: leftRows, head: SPAN_HEAD, cells: spanCells},
  mappings: {name: 'Mappings and allocations', rows: spanRows, head: SPAN_HEAD, cells: spanCells},
  events: {
    name: 'Events', rows: eventRows, head: ['Time', 'Process', 'Thread', 'What', 'Words', 'Call'],
    cells: (event) => [link(timeText(run.events.time[event]), () => goTo(event)), run.events.process[event], run.events.thread[event],
      eventWords(event), kindOf(event) === 'launch' ? '' : textOf(event), placeText(event)],
  },
};

function fillTables() {
  for (const [name, {name: words, rows}] of Object.entries(TABLES)) {
    byId(`tab-${name}`).textContent = `${words} (${rows().length.toLocaleString('en')})`;
  }
  table.rows = TABLES[table.name].rows();
  table.page = 0;
  showTable();
}

function showTable() {
  const {head, cells} = TABLES[table.name];
  const panel = byId('table-panel');
  const shown = table.rows.slice(table.page * PAGE_ROWS, (table.page + 1) * PAGE_ROWS);
  const parts = panel.querySelector('table');
  parts.tHead.replaceChildren(element('tr', {}, ...head.map((each) => element('th', {scope: 'col'}, each))));
  parts.tBodies[0].replaceChildren(...shown.map((row) => element('tr',
    TABLES[table.name].cells === spanCells && row === view.selected ? {class: 'chosen'} : {},
    ...cells(row).map((cell, i) => element('td', i < 2 ? {class: 'keep'} : {}, cell instanceof Node ? cell : String(cell))))));
  const last = Math.max(1, Math.ceil(table.rows.length / PAGE_ROWS));
  byId('page-text').textContent = `Page ${table.page + 1} of ${last.toLocaleString('en')}`;
  byId('page-before').disabled = table.page === 0;
  byId('page-after').disabled = table.page + 1 >= last;
  panel.querySelector('.pages').hidden = last === 1;
  panel.setAttribute('aria-labelledby', `tab-${table.name}`);
  for (const name of Object.keys(TABLES)) {
    const tab = byId(`tab-${name}`);
    tab.setAttribute('aria-selected', String(name === table.name));
    tab.tabIndex = name === table.name ? 0 : -1;
  }
}

function openTable(name) {
  table.name = name;
  table.rows = TABLES[name].rows();
  table.page = 0;
  showTable();
}

function connectTables() {
  const names = Object.keys(TABLES);
  names.forEach((name, i) => {
    const tab = byId(`tab-${name}`);
    tab.onclick = () => openTable(name);
    tab.onkeydown = (event) => {
      const step = {ArrowLeft: names.length - 1, ArrowRight: 1}[event.key];
      if (!step) return;
      const next = names[(i + step) % names.length];
      openTable(next);
      byId(`tab-${next}`).focus();
    };
  });
  byId('page-before').onclick = () => { --table.page; showTable(); };
  byId('page-after').onclick = () => { ++table.page; showTable(); };
  table.name = run.marks.length ? 'errors' : 'mappings';
}
