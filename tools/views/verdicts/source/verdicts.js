'use strict';
// docs/reference/verdicts.md as a page: its tables, which one can search.

const VERDICTS = ['holds', 'as observed', 'unsupported', 'not seen'];

function byId(id) {
  return document.getElementById(id);
}
function element(tag, attributes = {}, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}
// Links and code of Markdown, as plain words.
function plain(cell) {
  return cell.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/`/g, '').replace(/\\\|/g, '|').trim();
}
function cellsOf(line) {
  return line.split(/(?<!\\)\|/).slice(1, -1);
}

// The figures, and the rules by call.
function read(text) {
  const figures = [];
  const calls = [];
  let isIn = false;
  for (const line of text.split('\n')) {
    if (line.includes('begin: verdicts')) isIn = true;
    if (!isIn) continue;
    if (line.startsWith('## ')) calls.push({name: line.slice(3), rules: []});
    if (!line.startsWith('| ') || /^\| (rule|on) \|/.test(line)) continue;
    const cells = cellsOf(line);
    if (calls.length === 0) figures.push(cells.map(plain));
    else calls[calls.length - 1].rules.push({name: plain(cells[0]), words: plain(cells[1]), simulator: plain(cells[2]),
      hardware: cells[3].split('<br>').map(plain)});
  }
  return {figures, calls};
}

// The verdict that a cell tells of: "holds (A, B)" is holds. Of several the worst.
function verdictOf(cell) {
  return [...VERDICTS].reverse().find((verdict) => cell.includes(verdict)) || 'not seen';
}
function styleOf(verdict) {
  return verdict.replace(' ', '-');
}
function dot(verdict) {
  return element('i', {class: 'dot ' + styleOf(verdict), 'aria-hidden': 'true'});
}

function figureRow(cells) {
  const [on, recorded, ...numbers] = cells;
  const share = element('div', {class: 'share', 'aria-hidden': 'true'}, ...numbers.map((number, i) => {
    const part = element('i', {class: styleOf(VERDICTS[i])});
    part.style.flexGrow = number;
    return part;
  }));
  return element('tr', {}, element('td', {}, on, share), element('td', {}, recorded),
    ...numbers.map((number) => element('td', {class: 'number'}, number)));
}

function ruleRow(rule) {
  const verdict = (cell) => element('span', {class: 'verdict'}, dot(verdictOf(cell)), cell);
  return element('tr', {id: rule.name}, element('td', {}, rule.name), element('td', {}, rule.words),
    element('td', {}, verdict(rule.simulator)), element('td', {}, ...rule.hardware.map(verdict)));
}

function callSection(call, rules) {
  const strip = element('div', {class: 'strip', 'aria-hidden': 'true'}, ...rules.map((rule) =>
    element('a', {class: styleOf(verdictOf(rule.hardware.join(' '))), href: '#' + rule.name, title: `${rule.name}: ${rule.words}`, tabindex: '-1'})));
  return element('section', {}, element('div', {class: 'name'}, element('h2', {}, call.name), strip),
    element('table', {}, element('thead', {}, element('tr', {}, ...['Rule', 'What it says', 'Simulator', 'Hardware'].map((each) =>
      element('th', {scope: 'col'}, each)))), element('tbody', {}, ...rules.map(ruleRow))));
}

function show({calls}) {
  const words = byId('words').value.toLowerCase().split(/\s+/).filter(Boolean);
  const verdict = byId('verdict').value;
  const isShown = (call, rule) => {
    const text = `${call.name} ${rule.name} ${rule.words} ${rule.simulator} ${rule.hardware.join(' ')}`.toLowerCase();
    return words.every((word) => text.includes(word)) &&
      (!verdict || [rule.simulator, ...rule.hardware].some((cell) => verdictOf(cell) === verdict));
  };
  const shown = calls.map((call) => [call, call.rules.filter((rule) => isShown(call, rule))]).filter(([, rules]) => rules.length);
  byId('rules').replaceChildren(...shown.map(([call, rules]) => callSection(call, rules)));
  const count = shown.reduce((sum, [, rules]) => sum + rules.length, 0);
  byId('count').textContent = `${count} rule${count === 1 ? '' : 's'}`;
}

const verdicts = read(JSON.parse(byId('data').textContent));
byId('figures').tHead.append(element('tr', {}, ...['On', 'Recorded', ...VERDICTS].map((each, i) =>
  element('th', i > 1 ? {scope: 'col', class: 'number'} : {scope: 'col'}, each))));
byId('figures').tBodies[0].append(...verdicts.figures.map(figureRow));
byId('legend').append(...VERDICTS.map((verdict) => element('li', {}, dot(verdict), verdict)));
byId('words').oninput = () => show(verdicts);
byId('verdict').onchange = () => show(verdicts);
show(verdicts);
