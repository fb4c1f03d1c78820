'use strict';
// Numbers in words, and elements of the page. Texts of a record are only ever set as text.

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

function bytesText(bytes) {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    ++unit;
  }
  const digits = Number.isInteger(value) || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${Number(value.toFixed(digits))} ${BYTE_UNITS[unit]}`;
}

// `address` is a number, or where that would not be exact, a text already.
function addressText(address) {
  return typeof address === 'string' ? address : '0x' + address.toString(16);
}

function timeText(ns) {
  for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]]) {
    if (ns >= size) return `${Number((ns / size).toPrecision(4))} ${unit}`;
  }
  return `${ns} ns`;
}

function countText(count, word) {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
}

function byId(id) {
  return document.getElementById(id);
}

// element('p', {class: 'hint'}, 'text', otherElement)
function element(tag, attributes = {}, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...content);
  return made;
}
