// Places: where in the user's source stands what V8 found in the text that was made of it (rewrite.js).

// By file: the shifts of evals that have some. Functions of old evals may still fail; of very old ones the column is V8's.
const SHIFTS = new Map(), SHIFTS_KEPT = 1000;
const LINE_END = /\r\n|[\n\r\u2028\u2029]/g;
const PLACE = /(<[^<>\s]+>):(\d+):(\d+)/g;

/**
 * Where the text and the source begin to differ in their columns or lines, in the order of the text; null if they do not.
 * What is `fixed` was put there and stands for one place of the source; all else goes on beside it to the end of its line.
 */
function shiftsOf(source, edits, text) {
  const points = [];
  let at = 0, grown = 0;
  for (const [start, end, replacement, parts] of edits) {
    if (start < at) continue;  // as in `edited`
    at = end;
    const begin = start + grown;
    grown += replacement.length - (end - start);
    if (replacement.length === end - start && parts === undefined) continue;
    for (const [inside, origin] of parts ?? [[0, start]]) {
      if (replacement.length > 0) points.push({ at: begin + inside, origin, fixed: true });
    }
    points.push({ at: end + grown, origin: end, fixed: false });
  }
  if (points.length === 0) return null;
  const here = lineStarts(text), there = lineStarts(source);
  return points.map(({ at: offset, origin, fixed }) => ({ from: placeOf(here, offset), to: placeOf(there, origin), fixed }));
}

function lineStarts(text) {
  const starts = [0];
  for (const end of text.matchAll(LINE_END)) starts.push(end.index + end[0].length);
  return starts;
}

/** Line and column, from 1, of an offset. */
function placeOf(starts, offset) {
  const line = countUpTo(starts, (start) => start <= offset);
  return { line, column: offset - starts[line - 1] + 1 };
}

/** How many of a sorted list's first items pass a test that the others fail. */
function countUpTo(list, passes) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(list[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The place in the source of a place in the text. `lead`: how many characters were put before the source. */
function placeInSource({ shifts, lead = 0 }, line, column) {
  let place = { line, column };
  const count = shifts === null ? 0 : countUpTo(shifts, ({ from }) => from.line < line || (from.line === line && from.column <= column));
  const shift = count > 0 ? shifts[count - 1] : undefined;
  if (shift !== undefined && shift.from.line === line) {
    place = { line: shift.to.line, column: shift.to.column + (shift.fixed ? 0 : column - shift.from.column) };
  }
  if (place.line === 1) place.column -= lead;
  return [place.line, Math.max(place.column, 1)];
}

/** Before the code of a plan runs. */
function keepShifts(plan) {
  SHIFTS.delete(fileName());
  if (plan.shifts === null && !plan.lead) return;
  if (SHIFTS.size >= SHIFTS_KEPT) SHIFTS.delete(SHIFTS.keys().next().value);
  SHIFTS.set(fileName(), { shifts: plan.shifts, lead: plan.lead });
}

/** A line of a stack trace with the places of the user's source. */
function withPlaces(text) {
  if (SHIFTS.size === 0) return text;
  return text.replace(PLACE, (whole, file, line, column) => {
    const known = SHIFTS.get(file);
    return known === undefined ? whole : `${file}:${placeInSource(known, Number(line), Number(column)).join(":")}`;
  });
}
