"use strict";
(() => {
  const D = JSON.parse(document.getElementById("data").textContent);
  const $ = id => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const TONES = {forward: "forward", hit: "forward", evict: "evict", prefetch: "prefetch", compress: "compress", rename: "rename"};
  const READS = new Set(["grant", "deliver", "scalar_grant", "array_read"]);
  const STEPS = new Set(["fill", "issue", "move", "allocate", "dispatch"]);
  const MINOR = new Set(["occupied", "ready_pending", "window", "lookup", "insert_wait", "scheduler", "lanes"]);
  const STRIP = ["--accent", "--compress", "--evict", "--prefetch", "--rename", "--line", "--read", "--faint", "--raised"];
  const text = new Map(D.code.map(([pc, words]) => [pc, words]));

  // --- The recording.

  const cores = D.cores.map(core => {
    const by = new Map(), keyed = new Map(), inside = new Map(), units = new Map(), buffers = new Map();
    const into = (map, key, item) => { if (!map.has(key)) map.set(key, []); map.get(key).push(item); };
    for (const [cycle, number, ...values] of core.records) {
      const name = D.names[number], known = D.events[name], f = {}, k = {};
      known.fields.forEach((field, place) => { f[field] = values[place]; k[known.kinds[place]] = values[place]; });
      into(by, cycle, {name, f, k, known});
    }
    core.uops.forEach((uop, number) => {
      uop.number = number;
      into(keyed, `${uop.w}:${uop.s}`, uop);
      if (uop.f !== null) into(buffers, uop.w, uop);
      if (uop.c >= 0) into(inside, uop.c, uop);
      if (uop.u >= 0) into(units, uop.u, uop);
      uop.out = uop.r !== null ? uop.r : D.end;
    });
    return {...core, by, keyed, inside, units, buffers, several: buffers.size > 1};
  });
  const clamp = cycle => Math.max(D.begin, Math.min(D.end - 1, Math.round(cycle)));
  let core = cores[0], now = D.begin, timer = 0, drawn = {};

  /** The version that counts in a cycle: the last one that is not later. */
  const at = (versions, cycle) => {
    let low = 0, high = versions.length;
    while (low < high) { const middle = (low + high) >> 1; if (versions[middle][0] <= cycle) low = middle + 1; else high = middle; }
    return low ? versions[low - 1] : null;
  };
  const inBuffer = (uop, cycle) => uop.f <= cycle && (uop.i === null || cycle <= uop.i);
  const inCollector = (uop, cycle) => uop.i <= cycle && (uop.d === null || cycle <= uop.d);
  const inUnit = (uop, cycle) => uop.d !== null && uop.d <= cycle && cycle <= uop.out;
  const most = (uops, test) => {
    const ends = new Set(uops.flatMap(uop => [uop.f, uop.i, uop.d]).filter(cycle => cycle !== null && cycle >= D.begin));
    let best = uops.filter(uop => test(uop, D.begin)).length;
    for (const cycle of ends) best = Math.max(best, uops.filter(uop => test(uop, cycle)).length);
    return best;
  };
  const words = uop => uop.x || text.get(uop.p) || (uop.p >= 0 ? `pc ${uop.p}` : "");
  const tone = event => {
    const kind = event.name === "array_write" && !event.f.enc ? "" : event.known.kind;
    if (TONES[kind]) return `var(--${TONES[kind]})`;
    if (READS.has(event.name)) return "var(--read)";
    if (event.name.endsWith("write")) return "var(--write)";
    return STEPS.has(event.name) ? "var(--accent)" : "var(--faint)";
  };

  // --- Elements.

  const make = (tag, classes, content, parent) => {
    const element = document.createElement(tag);
    if (classes) element.className = classes;
    if (content) element.textContent = content;
    if (parent) parent.append(element);
    return element;
  };
  const warpTag = (warp, parent) => {
    const tag = make("span", "warp", `w${warp}`, parent);
    tag.style.setProperty("--hue", (warp * 137) % 360);
    return tag;
  };
  const title = (parent, name, room) => {
    const head = make("h2", "", name, parent);
    if (room && D.rooms[room]) { make("small", "", D.rooms[room][0], head); head.title = D.rooms[room][1]; }
  };
  const room = (id, name, unit) => {
    const box = make("section", "room", "", $("machine"));
    box.id = id;
    title(box, name, unit);
    return make("div", "grid", "", box);
  };
  const box = (parent, name) => {
    const element = make("div", "box", "", parent);
    const head = make("b", "", "", element);
    make("span", "", name, head);
    element.note = make("span", "", "", head);
    return element;
  };
  const chip = (parent, name, small, classes, value, about, mask) => {
    const element = make("button", `chip ${classes || ""}`, name, parent);
    element.type = "button";
    if (small) make("small", "", small, element);
    element.show = {value, about, mask};
    return element;
  };
  let places = {}, rows = [], shelves = [], named = false;

  /** The boxes of the sub-core: they stay, whatever the cycle. */
  const build = () => {
    [...$("machine").children].slice(1).forEach(element => element.remove());
    places = {}; rows = []; shelves = []; drawn = {};
    const front = room("front", "Front end", "scheduler");
    places.scheduler = box(front, "scheduler");
    places.scheduler.line = make("div", "line", "", places.scheduler);
    for (let warp = 0; warp < D.warps; warp++) {
      const uops = core.buffers.get(warp) || [];
      if (!uops.length) continue;
      const element = places[`warp:${warp}`] = make("div", "box buffer", "", front);
      warpTag(warp, element);
      const entries = make("div", "", "", element);
      element.note = make("small", "", "", element);
      element.lines = Array.from({length: Math.max(1, most(uops, inBuffer))}, () => make("div", "line uop", "", entries));
      element.uops = uops;
    }
    const collectors = room("collectors", "Operand collectors", "collector");
    const ofRoom = name => core.shelves.filter(shelf => shelf.room === name);
    for (let number = 0; number < D.collectors; number++) {
      const uops = core.inside.get(number) || [];
      const kept = ofRoom("collector").filter(shelf => shelf.place === number && shelf.versions.some(([, cells]) => cells.length));
      if (!uops.length && !kept.length) continue;
      const element = places[`collector:${number}`] = box(collectors, `collector ${number}`);
      element.uops = uops;
      element.lines = Array.from({length: Math.max(1, most(uops, inCollector))},
        () => [make("div", "line uop", "", element), make("div", "chips", "", element)]);
      kept.forEach(shelf => addShelf(shelf, element));
    }
    const cached = ofRoom("hierarchy").filter(shelf => shelf.versions.some(([, cells]) => cells.length));
    const entries = core.records.some(([, number]) => D.events[D.names[number]].kinds.includes("entry"));
    if (cached.length || entries) {
      const grid = room("cache", "Register file cache", "hierarchy");
      places.cache = $("cache");
      const banks = box(grid, "banks of the cache");
      banks.style.gridColumn = "1 / -1";
      const line = make("div", "chips", "", banks);
      for (let entry = 0; entry < D.entries; entry++) places[`entry:${entry}`] = make("span", "chip", `${entry}`, line);
      cached.forEach(shelf => addShelf(shelf, box(grid, "")));
    }
    const mapped = ofRoom("mapping").filter(shelf => shelf.versions.some(([, cells]) => cells.length));
    if (mapped.length) {
      const grid = room("table", "Mapping table", "mapping");
      mapped.forEach(shelf => { const element = places[`table:${shelf.place}`] = box(grid, ""); addShelf(shelf, element); });
    }
    const store = room("store", "Register banks", "storage");
    const height = Math.max(7, ...core.homes.flatMap(([, homes]) => homes.map(([, , , row]) => row))) + 1;
    // Few registers in a bank are written out, many are dots.
    named = core.homes.every(([, homes]) => {
      const counts = Array(D.banks).fill(0);
      homes.forEach(([, , bank]) => counts[bank]++);
      return Math.max(...counts) <= 14;
    });
    for (let bank = 0; bank < D.banks; bank++) {
      const element = places[`bank:${bank}`] = box(store, `bank ${bank}`);
      element.line = make("div", "chips", "", element);
      const cells = make("div", named ? "cells named" : "cells", "", element);
      rows.push(Array.from({length: height}, (_, row) => { const cell = make("i", "", "", cells); cell.place = [bank, row]; return cell; }));
    }
    const units = room("units", "Execution units");
    D.units.forEach((name, number) => {
      const uops = core.units.get(number) || [];
      if (!uops.length) return;
      const element = places[`unit:${number}`] = box(units, name);
      if (name === "lsu") places.lsu = element;
      element.uops = uops;
      element.lines = Array.from({length: Math.min(6, most(uops, inUnit))}, () => make("div", "line uop", "", element));
    });
    $("machine").classList.toggle("no-cache", !places.cache);
    $("machine").classList.toggle("no-table", !mapped.length);
    buildCode();
  };
  const addShelf = (shelf, element) => {
    if (element.firstChild.firstChild.textContent) make("div", "label", shelf.title, element);
    else element.firstChild.firstChild.textContent = shelf.title;
    const most = Math.max(...shelf.versions.map(([, cells]) => cells.length));
    shelves.push({...shelf, most, element, line: make("div", "chips", "", element)});
  };

  // --- A cycle.

  const fill = (line, uop, mark, tagged = true) => {
    line.replaceChildren();
    line.classList.toggle("off", !uop);
    if (!uop) return;
    if (tagged) warpTag(uop.w, line);
    const span = make("span", "", words(uop), line);
    span.title = `uop ${uop.s} of warp ${uop.w}: ${words(uop)}`;
    if (mark) span.style.fontWeight = 700;
  };
  const slotChip = (uop, slot, line) => {
    const [register, value, source, place, row, granted, delivered] = uop.o[slot];
    const there = source === "collector" ? granted : delivered;
    const from = source === "bank" ? `bank ${place}` : source === "entry" ? `cache ${place}` : source === "collector" ? "kept" : source === "unwritten" ? "zeros" : source;
    const about = source === "bank" ? `from bank ${place}, row ${row}, granted in cycle ${granted}` : source === "entry" ? `from bank ${place} of the cache, granted in cycle ${granted}`
      : source === "collector" ? `found in its collector in cycle ${granted}: no bank is read` : source ? from : "not read yet";
    const name = `R${register} of warp ${uop.w}, slot ${slot} of uop ${uop.s} (${words(uop)}), ${about}`;
    let state = "wait", small = "";
    if (there !== null && there <= now) { state = source === "collector" ? "found" : "there"; small = from; }
    else if (granted !== null && granted <= now) { state = "fly"; small = from; }
    const element = chip(line, `R${register}`, small, state, state === "wait" ? -1 : value, name);
    if (there === now) element.classList.add("new");
    drawn[`slot:${uop.number}:${slot}`] = element;
  };
  const status = () => {
    // Masks of up to 64 warps, in hexadecimal: more than a number holds.
    const [, active, live, barrier] = at(core.warps, now) || [0, "0", "0", "0"];
    const bit = (mask, warp) => (BigInt(`0x${mask}`) >> BigInt(warp) & 1n) === 1n;
    const reason = D.stalls[core.reasons[now - D.begin]];
    places.scheduler.line.textContent = reason[0];
    places.scheduler.line.title = reason[1];
    for (let warp = 0; warp < D.warps; warp++) {
      const element = places[`warp:${warp}`];
      if (!element) continue;
      const here = element.uops.filter(uop => inBuffer(uop, now));
      element.lines.forEach((line, place) => fill(line, here[place], here[place] && here[place].i === now, false));
      const hazard = here.length ? here[0].h.find(([first, end]) => first <= now && now < end) : null;
      element.note.textContent = !bit(live, warp) ? "" : bit(barrier, warp) ? "at a barrier" : !bit(active, warp) ? "pending" : hazard ? hazard[2] : "";
      element.classList.toggle("off", !here.length && !bit(live, warp));
    }
  };
  const collect = () => {
    for (let number = 0; number < D.collectors; number++) {
      const element = places[`collector:${number}`];
      if (!element) continue;
      const here = element.uops.filter(uop => inCollector(uop, now));
      element.lines.forEach(([line, chips], place) => {
        const uop = here[place];
        fill(line, uop, uop && uop.d === now);
        chips.replaceChildren();
        if (uop) uop.o.forEach((_, slot) => slotChip(uop, slot, chips));
      });
      element.note.textContent = here.some(uop => uop.d === now) ? "dispatches" : "";
    }
  };
  const keep = () => {
    for (const {versions, line, room, place, capacity, element} of shelves) {
      const found = at(versions, now), before = at(versions, now - 1);
      const cells = found ? found[1] : [];
      const old = new Set((before ? before[1] : []).map(([warp, register]) => `${warp}:${register}`));
      line.replaceChildren();
      cells.forEach(([warp, register, value, notes]) => {
        const fresh = now > D.begin && !old.has(`${warp}:${register}`);
        const part = chip(line, `R${register}`, notes.join(" "), value < 0 && room !== "mapping" ? "wait" : "", value,
          `R${register} of warp ${warp}${notes.length ? `: ${notes.join(", ")}` : ""}`);
        if (fresh) part.classList.add("new");
        drawn[`${room === "mapping" ? "table" : "kept"}:${warp}:${register}`] = part;
        if (room === "collector") drawn[`of:${place}:${register}`] = part;
      });
      if (capacity) make("span", "label", `${capacity - cells.length} free`, line);
      if (room === "hierarchy") {
        element.note.replaceChildren();
        if (cells.length) warpTag(cells[0][0], element.note);
      }
    }
  };
  let homes = new Map(), owners = new Map(), mapped = null;
  const bank = events => {
    const version = at(core.homes, now);
    if (version !== mapped) {
      mapped = version;
      homes = new Map(); owners = new Map();
      (version ? version[1] : []).forEach(([warp, register, bank, row]) => {
        homes.set(`${warp}:${register}`, [bank, row]);
        owners.set(`${bank}:${row}`, [warp, register]);
      });
      rows.forEach((cells, bank) => cells.forEach((cell, row) => {
        const owner = owners.get(`${bank}:${row}`);
        cell.className = owner ? "own" : "";
        if (owner) cell.style.setProperty("--hue", (owner[0] * 137) % 360);
        cell.title = owner ? `row ${row}: R${owner[1]} of warp ${owner[0]}` : "";
      }));
    }
    rows.flat().forEach(cell => cell.classList.remove("hot"));
    if (named) for (const [place, [warp, register]] of owners) {
      const [bank, row] = place.split(":").map(Number), note = inRow(bank, row, now)[2], cell = rows[bank][row];
      cell.replaceChildren(`R${register}`);
      if (core.several) make("small", "", `w${warp}`, cell);
      if (note) make("small", "", note, cell);
    }
    rows.forEach((cells, number) => {
      const element = places[`bank:${number}`];
      element.line.replaceChildren();
      const waits = events.filter(event => event.name === "conflict" && event.k.bank === number);
      element.note.textContent = waits.map(event => `${event.f.count} wait: ${D.causes[event.f.cause]}`).join(", ");
      events.filter(event => event.k.bank === number && event.name !== "conflict").forEach(event => {
        const row = event.k.row, owner = row === undefined ? null : owners.get(`${number}:${row}`);
        const register = event.k.register !== undefined ? event.k.register : owner ? owner[1] : null;
        const warp = event.k.warp !== undefined ? event.k.warp : owner ? owner[0] : null;
        const value = row === undefined ? -1 : inRow(number, row, event.name.startsWith("write") ? now + 1 : now)[1];
        const part = chip(element.line, event.name.replace("_", " "), register === null ? "" : `R${register} w${warp}`, "", value,
          `bank ${number}${row === undefined ? "" : `, row ${row}`}: ${event.name}${register === null ? "" : ` of R${register} of warp ${warp}`}`);
        part.style.borderColor = tone(event);
        if (row !== undefined && cells[row]) cells[row].classList.add("hot");
      });
    });
  };
  const inRow = (bank, row, cycle) => {
    const found = core.rows.find(([b, r]) => b === bank && r === row);
    return (found && at(found[2], cycle)) || [0, -1, ""];
  };
  const execute = () => D.units.forEach((_, number) => {
    const element = places[`unit:${number}`];
    if (!element) return;
    const here = element.uops.filter(uop => inUnit(uop, now));
    element.lines.forEach((line, place) => {
      const uop = here[place];
      fill(line, uop, uop && uop.k.some(([cycle]) => cycle === now));
      if (!uop) return;
      uop.n.forEach(([register, value], index) => {
        const done = uop.k.some(([cycle, written]) => written === register && cycle <= now);
        const part = chip(null, `R${register}`, done ? "written" : "", done ? "there" : "wait", value, `result R${register} of warp ${uop.w}, uop ${uop.s} (${words(uop)})`, uop.m);
        line.insertBefore(part, line.children[1 + index]);
        if (uop.k.some(([cycle, written]) => written === register && cycle === now)) part.classList.add("new");
      });
    });
    element.note.textContent = here.length > element.lines.length ? `${here.length} uops` : "";
  });

  // --- What moves.

  const theUop = event => {
    const {warp, seq, register} = event.k;
    if (warp === undefined) return null;
    if (seq !== undefined) return (core.keyed.get(`${warp}:${seq}`) || []).find(uop => (uop.i === null || uop.i <= now) && uop.out >= now) || (core.keyed.get(`${warp}:${seq}`) || [])[0];
    return core.uops.find(uop => uop.w === warp && uop.k.some(([cycle, written]) => cycle === now && written === register));
  };
  const bits = mask => [...Array(6).keys()].filter(slot => mask >> slot & 1);
  const resolve = (kind, event) => {
    const {k} = event, one = name => places[name] ? [places[name]] : [];
    const drawnOne = name => drawn[name] ? [drawn[name]] : [];
    switch (kind) {
      case "": case "stream": return [];
      case "scheduler": case "cache": case "lsu": return one(kind);
      case "slot": {
        if (k.slots !== undefined) { const uop = theUop(event); return uop ? bits(k.slots).flatMap(slot => drawnOne(`slot:${uop.number}:${slot}`)) : []; }
        const uop = (core.inside.get(k.collector) || []).find(each => inCollector(each, now) && each.o[k.slot] &&
          (event.name === "deliver" ? each.o[k.slot][6] === now : each.o[k.slot][5] === now));
        return uop ? drawnOne(`slot:${uop.number}:${k.slot}`) : one(`collector:${k.collector}`);
      }
      case "executes": { const uop = theUop(event); return uop ? one(`unit:${uop.u}`) : []; }
      case "kept": {
        if (k.slots !== undefined) {
          const uop = theUop(event);
          const found = uop ? bits(k.slots).map(slot => drawn[`kept:${uop.w}:${uop.o[slot][0]}`] || places[`collector:${k.collector}`]) : [];
          return found.filter(Boolean);
        }
        const found = k.collector !== undefined ? drawnOne(`of:${k.collector}:${k.register}`) : drawnOne(`kept:${k.warp}:${k.register}`);
        return found.length ? found : k.collector !== undefined ? one(`collector:${k.collector}`) : one("cache");
      }
      case "home": { const home = homes.get(`${k.warp}:${k.register}`); return home ? one(`bank:${home[0]}`) : []; }
      case "table": { const found = drawnOne(`table:${k.warp}:${k.register}`); return found.length ? found : one(`table:${k.warp}`); }
      default: return k[kind] === undefined ? [] : one(`${kind}:${k[kind]}`);
    }
  };
  const ends = event => {
    const way = event.known.way;
    if (!way) return [[], Object.keys(event.k).flatMap(kind => ["warp", "collector", "slot", "bank", "entry", "unit"].includes(kind) ? resolve(kind, event) : [])];
    return way.map(kind => resolve(kind, event));
  };
  let lit = [];
  const light = (element, colour) => { element.dataset.hit = ""; element.style.setProperty("--hit", colour); lit.push(element); };
  const heads = new Map();
  const head = colour => {
    if (!heads.has(colour)) {
      const marker = document.createElementNS(SVG, "marker"), tip = document.createElementNS(SVG, "path");
      Object.entries({id: `head${heads.size}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 4, markerHeight: 4, orient: "auto"}).forEach(([key, value]) => marker.setAttribute(key, value));
      tip.setAttribute("d", "M0 0 8 4 0 8z");
      tip.style.fill = colour;
      tip.style.stroke = "none";
      marker.append(tip);
      $("wires").querySelector("defs").append(marker);
      heads.set(colour, marker.id);
    }
    return heads.get(colour);
  };
  const wire = (from, to, colour) => {
    const ground = $("machine").getBoundingClientRect(), a = from.getBoundingClientRect(), b = to.getBoundingClientRect();
    if (!a.width || !b.width || from === to) return;
    const centre = rect => [(rect.left + rect.right) / 2 - ground.left, (rect.top + rect.bottom) / 2 - ground.top];
    const [ax, ay] = centre(a), [bx, by] = centre(b);
    const across = Math.max(b.left - a.right, a.left - b.right), down = Math.max(b.top - a.bottom, a.top - b.bottom);
    const flat = across > 0 && across > down;
    const sign = flat ? Math.sign(bx - ax) : Math.sign(by - ay) || 1;
    const start = flat ? [ax + sign * a.width / 2, ay] : [ax, ay + sign * a.height / 2];
    const end = flat ? [bx - sign * b.width / 2, by] : [bx, by - sign * b.height / 2];
    const pull = Math.max(18, (flat ? Math.abs(end[0] - start[0]) : Math.abs(end[1] - start[1])) * .45) * sign;
    const d = flat ? `M${start} C${start[0] + pull},${start[1]} ${end[0] - pull},${end[1]} ${end}` : `M${start} C${start[0]},${start[1] + pull} ${end[0]},${end[1] - pull} ${end}`;
    for (const halo of [true, false]) {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("d", d);
      if (halo) path.setAttribute("class", "halo");
      else { path.style.stroke = colour; path.setAttribute("marker-end", `url(#${head(colour)})`); }
      $("wires").querySelector("g").append(path);
    }
  };
  const move = events => {
    lit.forEach(element => { delete element.dataset.hit; });
    lit = [];
    const group = $("wires").querySelector("g");
    group.replaceChildren();
    const wide = getComputedStyle($("wires")).display !== "none";
    events.forEach(event => {
      if (MINOR.has(event.name)) return;
      const colour = tone(event), [from, to] = ends(event);
      [...from, ...to].forEach(element => light(element, colour));
      if (!wide || !from.length || !to.length) return;
      const pairs = from.length === to.length ? from.map((element, place) => [element, to[place]]) : from.flatMap(a => to.map(b => [a, b]));
      pairs.forEach(([a, b]) => wire(a, b, colour));
    });
  };
  const sentence = event => event.known.fields.map(field => {
    const value = event.f[field], kind = event.known.kinds[event.known.fields.indexOf(field)];
    if (kind === "register") return `R${value}`;
    if (kind === "cause" && event.name.endsWith("conflict")) return D.causes[value];
    if (kind === "unit") return D.units[value] || `unit ${value}`;
    if (kind === "slots") return `slots ${bits(value).join(" ")}`;
    if (kind === "mask") return `lanes ${value.toString(16)}`;
    if (field === "enc") return `enc ${value.toString(2).padStart(4, "0")}`;
    return `${field} ${value}`;
  }).join(", ");
  const list = events => {
    const ordered = [...events].sort((a, b) => MINOR.has(a.name) - MINOR.has(b.name));
    $("events").replaceChildren(...ordered.map(event => {
      const item = make("li", MINOR.has(event.name) ? "minor" : "");
      item.tabIndex = 0;
      item.style.setProperty("--tone", tone(event));
      make("b", "", event.name.replaceAll("_", " "), item);
      const uop = event.k.seq === undefined ? null : theUop(event);
      make("span", "", sentence(event) + (uop ? `: ${words(uop)}` : ""), item);
      item.title = event.known.text;
      const explain = () => { const there = item.querySelector("p"); if (there) there.remove(); else make("p", "", event.known.text, item); };
      item.addEventListener("click", explain);
      item.addEventListener("keydown", press => { if (press.key === "Enter") explain(); });
      return item;
    }));
    if (!events.length) make("li", "minor", "Nothing happens.", $("events"));
  };

  // --- The code.

  let lines = new Map(), marked = [];
  const buildCode = () => {
    let last = null;
    lines = new Map();
    $("code").replaceChildren();
    for (const [pc, words, line] of D.code) {
      if (line !== last && D.ptx[line] !== undefined) { const head = make("div", "ptx", "", $("code")); make("span", "", String(line), head); head.append(D.ptx[line]); }
      last = line;
      const row = make("div", "pc", "", $("code"));
      make("span", "", String(pc), row); make("span", "", words, row);
      lines.set(pc, row);
    }
  };
  const mark = () => {
    marked.forEach(row => { row.classList.remove("issues", "flies"); row.querySelectorAll(".warp").forEach(tag => tag.remove()); });
    marked = [];
    core.uops.filter(uop => uop.p >= 0 && uop.i !== null && uop.i <= now && uop.out >= now && lines.has(uop.p)).forEach(uop => {
      const row = lines.get(uop.p);
      row.classList.add(uop.i === now ? "issues" : "flies");
      warpTag(uop.w, row);
      marked.push(row);
      if (uop.i === now) $("code").scrollTop = row.offsetTop - $("code").offsetTop - $("code").clientHeight / 2;
    });
  };

  // --- Values.

  const lanesOf = value => {
    const found = D.values[value];
    if (found === undefined) return null;
    if (typeof found === "number") return Array(D.lanes).fill(found);
    if (Array.isArray(found)) return Array.from({length: D.lanes}, (_, lane) => (found[0] + lane * found[1]) >>> 0);
    const bytes = Uint8Array.from(atob(found), letter => letter.charCodeAt(0));
    return [...new Uint32Array(bytes.buffer)];
  };
  const float = new DataView(new ArrayBuffer(4));
  const show = ({value, about, mask}) => {
    const detail = $("detail");
    detail.replaceChildren();
    make("h3", "", about, detail);
    const found = value < 0 ? null : lanesOf(value);
    $("sheet").hidden = false;
    if (!found) { make("p", "", D.values.length ? "No value yet." : "The trace has no values.", detail); return; }
    const known = D.values[value];
    make("p", "", typeof known === "number" ? "All lanes are equal." : Array.isArray(known) ? `The lanes count up by ${known[1] | 0}.` : `${new Set(found).size} different values.`, detail);
    const table = make("table", "", "", detail);
    const heading = make("tr", "", "", table);
    ["lane", "hex", "integer", "float"].forEach(name => make("td", "", name, heading));
    found.forEach((word, lane) => {
      const line = make("tr", "", "", table);
      float.setUint32(0, word);
      const real = float.getFloat32(0);
      [lane, word.toString(16).padStart(8, "0"), word | 0, Number.isFinite(real) ? Number(real.toPrecision(7)) : real].forEach(part =>
        make("td", mask !== undefined && mask >= 0 && !(Math.floor(mask / 2 ** lane) % 2) ? "dead" : "", String(part), line));
    });
  };
  document.addEventListener("click", press => {
    const found = press.target.closest(".chip");
    if (found && found.show) show(found.show);
    const cell = press.target.closest(".cells i.own");
    if (cell) {
      const [number, row] = cell.place, owner = owners.get(`${number}:${row}`), [, value, note] = inRow(number, row, now);
      show({value, about: `bank ${number}, row ${row}: R${owner[1]} of warp ${owner[0]}${note ? ` (${note})` : ""}`});
    }
  });
  $("close").addEventListener("click", () => { $("sheet").hidden = true; });

  // --- Time.

  const paint = () => {
    const canvas = $("strip"), scale = devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    const width = canvas.clientWidth, height = 26;
    canvas.width = width * scale; canvas.height = height * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const step = width / (D.end - D.begin), colours = STRIP.map(name => style.getPropertyValue(name).trim());
    core.reasons.forEach((reason, place) => { pen.fillStyle = colours[reason]; pen.fillRect(place * step, reason ? 8 : 2, Math.max(step - (step > 4), .6), reason ? 12 : 20); });
    pen.fillStyle = style.getPropertyValue("--ink").trim();
    pen.fillRect((now - D.begin + .5) * step - 1.5, 0, 3, height);
  };
  const draw = () => {
    drawn = {};
    const events = core.by.get(now) || [];
    status(); collect(); keep(); bank(events); execute(); move(events); list(events); mark(); paint();
    $("cycle").value = now; $("seek").value = now;
    $("state").textContent = D.stalls[core.reasons[now - D.begin]][0];
  };
  const go = cycle => { now = clamp(cycle); draw(); };
  const stop = () => { clearInterval(timer); timer = 0; $("play").textContent = "play"; };
  const play = () => {
    if (timer) { stop(); return; }
    if (now >= D.end - 1) go(D.begin);
    $("play").textContent = "pause";
    timer = setInterval(() => { if (now >= D.end - 1) stop(); else go(now + 1); }, 1000 / Number($("speed").value));
  };
  const busy = cycle => (core.by.get(cycle) || []).some(event => TONES[event.known.kind]);
  const seekBusy = step => { let cycle = now + step; while (cycle >= D.begin && cycle < D.end && !busy(cycle)) cycle += step; if (cycle >= D.begin && cycle < D.end) go(cycle); };
  const choose = number => { core = cores[number]; mapped = null; $("core").value = number; build(); draw(); };
  const dark = on => { document.documentElement.classList.toggle("dark", on); if (rows.length) paint(); };
  const buttons = {first: () => go(D.begin), back: () => go(now - 1), on: () => go(now + 1), last: () => go(D.end - 1), play, theme: () => dark(!document.documentElement.classList.contains("dark"))};
  Object.entries(buttons).forEach(([id, action]) => $(id).addEventListener("click", action));
  $("cycle").min = $("seek").min = D.begin;
  $("cycle").max = $("seek").max = D.end - 1;
  $("cycle").addEventListener("change", () => go(Number($("cycle").value) || D.begin));
  $("seek").addEventListener("input", () => go(Number($("seek").value)));
  $("speed").addEventListener("change", () => { if (timer) { stop(); play(); } });
  const scrub = press => { const area = $("strip").getBoundingClientRect(); go(D.begin + Math.floor((press.clientX - area.left) / area.width * (D.end - D.begin))); };
  $("strip").addEventListener("pointerdown", press => { $("strip").setPointerCapture(press.pointerId); scrub(press); });
  $("strip").addEventListener("pointermove", press => { if (press.buttons) scrub(press); });
  const KEYS = {ArrowLeft: wide => go(now - (wide ? 10 : 1)), ArrowRight: wide => go(now + (wide ? 10 : 1)), Home: () => go(D.begin), End: () => go(D.end - 1), " ": play,
    n: () => seekBusy(1), p: () => seekBusy(-1), t: buttons.theme, s: () => choose((cores.indexOf(core) + 1) % cores.length), Escape: () => { $("sheet").hidden = true; }};
  document.addEventListener("keydown", press => {
    const action = KEYS[press.key.length === 1 ? press.key.toLowerCase() : press.key];
    const typing = press.target === $("cycle") || press.target.tagName === "SELECT";
    const pressing = press.key === " " && press.target.tagName === "BUTTON";
    if (!action || press.ctrlKey || press.metaKey || press.altKey || typing && press.key !== "Escape" || pressing) return;
    press.preventDefault();
    action(press.shiftKey);
  });
  D.cores.forEach((_, number) => make("option", "", String(number), $("core")).value = number);
  $("cores").hidden = D.cores.length < 2;
  $("core").addEventListener("change", () => choose(Number($("core").value)));
  [["read", "read"], ["write", "write"], ["forward, hit", "forward"], ["evict", "evict"], ["prefetch", "prefetch"], ["compress", "compress"], ["rename", "rename"]].forEach(([name, colour]) => {
    const mark = make("span", "tone", "", $("legend"));
    mark.style.setProperty("--tone", `var(--${colour})`);
    $("legend").append(name);
  });
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", () => dark(scheme.matches));
  let pending = 0;
  new ResizeObserver(() => { cancelAnimationFrame(pending); pending = requestAnimationFrame(() => { paint(); move(core.by.get(now) || []); }); }).observe($("machine"));
  dark(scheme.matches);
  const wanted = /^#(\d+)(?:\.(\d+))?$/.exec(location.hash);
  now = clamp(wanted ? Number(wanted[1]) : D.begin);
  choose(wanted && wanted[2] && cores[wanted[2]] ? Number(wanted[2]) : 0);
})();
