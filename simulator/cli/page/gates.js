// Rollouts in words, and their batches: when machines of each were changed, how long they were watched, and the verdict.

const GATES_HEIGHT = 20;
// With more rollouts than this, each is drawn lower.
const ROLLOUTS_HIGH = 5;
// The counters of a rollout, in the order of its rows.
const COUNTS = [
  { key: "done", name: "updated" }, { key: "work", name: "at work" }, { key: "admitted", name: "granted" },
  { key: "parked", name: "waiting for its turn" }, { key: "blocked", name: "blocked" }, { key: "failed", name: "failed" },
  { key: "waiting", name: "not permitted" },
];
const VERDICTS = { passed: "✓", failed: "✗", overridden: "↷", "rolled back": "↶" };

const ownerOf = (run, charter) => run.charters[charter]?.name || "defaults";

function moveOf({ component, from, to }) {
  const bare = (name) => name.startsWith(component + "-") ? name.slice(component.length + 1) : name;
  return to ? `${from && from !== to ? bare(from) + " → " : ""}${bare(to)}` : "remove";
}

// How a rollout ended, or stands at the end of the run.
function outcomeOf({ since, completed }, batches, end, history) {
  const last = batches.at(-1);
  if (last && last.undone !== null) return "rolled back";
  if (completed !== null) return `complete in ${length(completed - since)}`;
  if (last?.failed && last.verdict.what === "failed") return "gate failed";
  return end < history.end ? `replaced after ${length(end - since)}` : "not complete";
}

// The batches of a rollout: when each began, when its machines were done, until when they bake, and what the gate said.
function batchesOf({ marks, completed }, end) {
  const batches = [];
  for (const [at, number, what, until, evidence] of marks) {
    let batch = batches.at(-1);
    if (what === "began") {
      batches.push({ number, began: at, bakes: null, until: null, doubt: null, failed: null, undone: null, verdict: null, end });
    } else if (!batch) {
      continue;
    } else if (what === "bakes") {
      Object.assign(batch, { bakes: at, until });
    } else if (what === "inconclusive") {
      batch.doubt = { at, evidence };
    } else if (what === "failed") {
      Object.assign(batch, { failed: { at, evidence }, verdict: { what, at } });
    } else if (what === "rolled back") {
      Object.assign(batch, { undone: at, verdict: { what, at }, end: completed ?? end });
    } else {
      Object.assign(batch, { verdict: { what, at }, end: at });
    }
  }
  return batches;
}

// The batch at a moment: the last one that had begun.
function batchAt(batches, time) {
  return batches.findLast(({ began }) => began <= time) ?? null;
}

function evidenceText([changed, failed, down, silent, others, othersDown]) {
  return `${several(changed, "machine")} changed: ${count(failed)} failed, ${count(down)} went down, ${count(silent)} silent; `
    + `of ${several(others, "other")} ${count(othersDown)} went down`;
}

// What a batch does at a moment.
function batchText({ number, bakes, until, doubt, failed, undone, verdict, end }, time) {
  const name = `batch ${number}`;
  if (undone !== null && undone <= time) return `${name}: rolled back since ${clock(undone)} (${evidenceText(failed.evidence)})`;
  if (verdict && verdict.what !== "failed" && verdict.at <= time) {
    const what = verdict.what === "overridden" ? "its failed gate was overridden" : "passed its gate";
    return `${name} ${what} at ${clock(end)}` + (doubt ? `, after doubt (${evidenceText(doubt.evidence)})` : "");
  }
  if (failed && failed.at <= time) return `${name}: the gate failed at ${clock(failed.at)} (${evidenceText(failed.evidence)})`;
  if (doubt && doubt.at <= time) return `${name}: the gate is inconclusive (${evidenceText(doubt.evidence)})`;
  if (bakes !== null && bakes <= time) {
    return until > time ? `${name} bakes until ${clock(until)}` : `${name} has baked, and its hosts are read`;
  }
  return `${name} is at work`;
}

// The parts of a batch: each from, until, and the name of its colour.
function partsOf({ began, bakes, until, doubt, failed, undone, end }) {
  const parts = [], stop = failed?.at ?? end;
  parts.push([began, Math.min(bakes ?? stop, stop), "admitted"]);
  if (bakes !== null && bakes < stop) {
    const baked = Math.min(until, doubt?.at ?? stop, stop);
    parts.push([bakes, baked, "parked"]);
    if (baked < stop) parts.push([baked, stop, doubt ? "blocked" : "parked"]);
  }
  if (failed) parts.push([failed.at, undone ?? end, "failed"]);
  if (undone !== null) parts.push([undone, end, "off"]);
  return parts;
}

// Draws batches as bars: dark while machines are changed, light while they are watched. A sign at the end is the verdict.
function drawBatches(context, batches, { x, y, width }) {
  const high = GATES_HEIGHT - 5;
  context.font = "11px system-ui, sans-serif";
  for (const batch of batches) {
    for (const [from, until, key] of partsOf(batch)) {
      const left = x(from), right = x(until);
      if (right < 0 || left > width) continue;
      context.fillStyle = colour(key);
      context.fillRect(left, y, Math.max(1.5, right - left - 0.5), high);
      if (key === "failed") drawTag(context, "✗ gate failed", { left: Math.max(left, 0) + 5, y, high, right });
    }
    const left = x(batch.began), right = x(batch.end), sign = batch.verdict ? VERDICTS[batch.verdict.what] : "";
    context.fillStyle = colour("ink");
    context.fillRect(left, y - 1, 1, high + 2);
    const wide = right - left, label = `${batch.number}`;
    drawTag(context, sign && wide > 34 ? `${label} ${sign}` : wide > 14 ? label : "", { left: Math.max(left, 0) + 4, y, high, right });
    // A verdict against the rollout is never left out.
    if (wide <= 34 && (batch.failed || batch.undone !== null)) {
      context.fillStyle = colour("bad");
      context.font = "bold 13px system-ui, sans-serif";
      context.fillText(sign, right + 3, y + high - 3);
      context.font = "11px system-ui, sans-serif";
    }
  }
}

// A text on a ground of its own, so that it can be read on any bar.
function drawTag(context, text, { left, y, high, right }) {
  const wide = text ? context.measureText(text).width : 0;
  if (!text || left + wide + 4 > right) return;
  context.fillStyle = colour("card");
  context.globalAlpha = 0.85;
  context.fillRect(left - 2, y + 1.5, wide + 4, high - 3);
  context.globalAlpha = 1;
  context.fillStyle = colour("ink");
  context.fillText(text, left, y + high - 4);
}
