// The unpacked events of the run, and the state of the fleet at any moment.

const Kind = { PHASE: 0, CONDITION: 1, BEGAN: 2, STEP: 3, RESUMED: 4, ENDED: 5, INSTALLED: 6, SPOILED: 7, POWER: 8, NETWORK: 9, NODE: 10, UNIT: 11 };
const Phase = { UNSEEN: 0, DONE: 1, WAITING: 2, PARKED: 3, RESERVED: 4, WORK: 5, BLOCKED: 6, FAILED: 7, GONE: 8 };
const NO_POWER = 1, CUT_OFF = 2, RUNNING = 4, NODE_LOST = 8, SPOILED = 16, UNIT_TAKEN = 32;

async function unpack(text) {
  const packed = atob(text.trim());
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Numbers of variable length: seven bits per byte, lowest first.
function numbers(bytes, from, count, into) {
  let at = from;
  for (let i = 0; i < count; i++) {
    let value = 0, shift = 0, byte;
    do {
      byte = bytes[at++];
      value += (byte & 0x7f) * 2 ** shift;
      shift += 7;
    } while (byte & 0x80);
    into[i] = value;
  }
  return into;
}

class History {
  constructor(bytes) {
    const length = new DataView(bytes.buffer).getUint32(0, true);
    const run = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    const [times, kinds, hosts] = run.columns;
    const start = 4 + length, n = run.events;
    this.run = run;
    this.count = n;
    this.machines = run.summary.machines;
    this.at = numbers(bytes, start, n, new Uint32Array(n));
    for (let i = 1; i < n; i++) this.at[i] += this.at[i - 1];
    this.kind = bytes.subarray(start + times, start + times + kinds);
    this.host = numbers(bytes, start + times + kinds, n, new Uint32Array(n));
    this.value = numbers(bytes, start + times + kinds + hosts, n, new Uint32Array(n));
    this.end = Math.max(run.end, 1);
    this.indexByHost();
    this.lost = this.hostsLost();
  }

  // The events of each machine: `order` from `first[host]` to `first[host + 1]`.
  indexByHost() {
    const first = new Uint32Array(this.machines + 2);
    for (let i = 0; i < this.count; i++) first[this.host[i] + 1]++;
    for (let h = 0; h <= this.machines; h++) first[h + 1] += first[h];
    const next = first.slice(), order = new Uint32Array(this.count);
    for (let i = 0; i < this.count; i++) order[next[this.host[i]]++] = i;
    this.first = first;
    this.order = order;
  }

  eventsOf(host) {
    return this.order.subarray(this.first[host], this.first[host + 1]);
  }

  // The number of hosts without power, and of hosts without network, over time.
  hostsLost() {
    const at = [0], rows = [[0], [0]];
    let off = 0, cut = 0;
    for (let i = 0; i < this.count; i++) {
      if (this.kind[i] === Kind.POWER) off += this.value[i] ? -1 : 1;
      else if (this.kind[i] === Kind.NETWORK) cut += this.value[i] ? -1 : 1;
      else continue;
      if (at[at.length - 1] === this.at[i]) { rows[0][rows[0].length - 1] = off; rows[1][rows[1].length - 1] = cut; }
      else { at.push(this.at[i]); rows[0].push(off); rows[1].push(cut); }
    }
    return { at, rows };
  }

  // The component and version of a BEGAN or INSTALLED event: [component, version or null].
  release(value) {
    const { components, versions } = this.run, component = value % components.length;
    const version = Math.floor(value / components.length);
    return [components[component], version === 0 ? null : versions[version - 1], component, version];
  }

  name(host) {
    const first = this.run.firstMachine, digits = /\d+$/.exec(first)[0].length;
    return first.slice(0, -digits) + String(host).padStart(digits, "0");
  }

  number(text) {
    const digits = /(\d+)\s*$/.exec(text);
    const host = digits ? Number(digits[1]) : NaN;
    return host < this.machines ? host : null;
  }

  zone(host) { return host % this.run.zones; }
  rack(host) { return Math.floor(host / this.run.zones) % this.run.racksPerZone; }
}

// The state of every machine at one moment. Seeking starts at the previous checkpoint, or continues from the current moment.
class Fleet {
  constructor(history) {
    this.history = history;
    const n = history.machines, components = Math.max(history.run.components.length, 1);
    this.state = { phase: new Uint8Array(n), waits: new Uint8Array(n), flags: new Uint8Array(n), step: new Uint8Array(n),
      versions: Array.from({ length: components }, () => new Uint8Array(n)) };
    this.position = 0;
    this.time = 0;
    const checkpoints = Math.min(96, Math.max(8, Math.floor(3e7 / (n * 6))));
    this.every = Math.max(2000, Math.ceil(history.count / checkpoints));
    this.checkpoints = [];
    for (let i = 0; i < history.count; i++) {
      if (i % this.every === 0) this.checkpoints.push(this.copy());
      this.apply(i);
    }
    if (history.count === 0) this.checkpoints.push(this.copy());
    this.restore(0);
  }

  copy() {
    const { phase, waits, flags, step, versions } = this.state;
    return { phase: phase.slice(), waits: waits.slice(), flags: flags.slice(), step: step.slice(), versions: versions.map((v) => v.slice()) };
  }

  restore(index) {
    const from = this.checkpoints[index];
    for (const key of ["phase", "waits", "flags", "step"]) this.state[key].set(from[key]);
    from.versions.forEach((versions, component) => this.state.versions[component].set(versions));
    this.position = index * this.every;
  }

  seek(time) {
    const { at, count } = this.history;
    let target = 0, high = count;
    while (target < high) {
      const middle = (target + high) >> 1;
      if (at[middle] <= time) target = middle + 1; else high = middle;
    }
    const checkpoint = Math.min(Math.floor(target / this.every), this.checkpoints.length - 1);
    if (target < this.position || checkpoint * this.every > this.position) this.restore(checkpoint);
    while (this.position < target) this.apply(this.position++);
    this.time = time;
  }

  apply(i) {
    const { kind, host, value } = this.history, { phase, waits, flags, step, versions } = this.state;
    const h = host[i], v = value[i];
    const flag = (bit, on) => { flags[h] = on ? flags[h] | bit : flags[h] & ~bit; };
    switch (kind[i]) {
      case Kind.PHASE: phase[h] = v & 15; waits[h] = v >> 4; break;
      case Kind.BEGAN: flag(RUNNING, true); break;
      case Kind.STEP: flag(RUNNING, true); step[h] = v; break;
      case Kind.ENDED: flag(RUNNING, false); if (v === 0) flag(SPOILED, false); break;
      case Kind.INSTALLED: { const [, , component, version] = this.history.release(v); versions[component][h] = version; break; }
      case Kind.SPOILED: flag(SPOILED, true); break;
      case Kind.POWER: flag(NO_POWER, !v); if (!v) flag(RUNNING, false); break;
      case Kind.NETWORK: flag(CUT_OFF, !v); break;
      case Kind.NODE: flag(NODE_LOST, v !== 0); break;
      case Kind.UNIT: flag(UNIT_TAKEN, v); break;
      default:
    }
  }
}
