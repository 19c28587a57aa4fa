// Text and numbers for people, and functions to make elements.

const $ = (id) => document.getElementById(id);

// An element with attributes and children; strings become text, never markup.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const count = (number) => number.toLocaleString("en");
const several = (number, one, many = one + "s") => `${count(number)} ${number === 1 ? one : many}`;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

// `1h02m03s`, as the command line prints it.
function clock(millis, fine = false) {
  const seconds = Math.floor(millis / 1000), pad = (n) => String(n).padStart(2, "0");
  const h = Math.floor(seconds / 3600), m = Math.floor(seconds / 60) % 60, s = seconds % 60;
  const tail = fine ? "." + String(Math.floor(millis % 1000)).padStart(3, "0") : "";
  if (h) return `${h}h${pad(m)}m${pad(s)}${tail}s`;
  return m ? `${m}m${pad(s)}${tail}s` : `${s}${tail}s`;
}

function length(millis) {
  if (millis < 1000) return `${Math.round(millis)} ms`;
  if (millis < 60_000) return `${(millis / 1000).toFixed(1)} s`;
  return clock(Math.round(millis / 1000) * 1000);
}

// `OperatorCrashed` and `operator_crash` in plain words.
const plain = (name) => name.replaceAll("_", " ").replace(/(?!^)[A-Z]/g, (letter) => " " + letter.toLowerCase()).replace(/^./, (letter) => letter.toLowerCase());

// The index of the last time in `at` that is not after `time`; -1 before the first.
function before(at, time) {
  let low = 0, high = at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle] <= time) low = middle + 1; else high = middle;
  }
  return low - 1;
}

// Sizes a canvas for the screen's pixels, and returns its context in CSS pixels.
function fit(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

const Tip = {
  show(event, text) {
    const tip = $("tip");
    tip.textContent = text;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = Math.max(6, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
    tip.style.top = Math.max(6, event.clientY - height - 12) + "px";
  },
  hide() { $("tip").hidden = true; },
};
