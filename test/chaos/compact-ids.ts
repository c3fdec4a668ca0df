/** Many ids in little room: they are `name.number`, and a name's numbers are mostly in a row. Order and repetition are not kept. */

/** By name, ranges of numbers: first, last, first, last … */
export type CompactIds = Readonly<Record<string, readonly number[]>>;

export function compact(ids: readonly string[]): CompactIds {
  const numbers = new Map<string, number[]>();
  for (const id of ids) {
    const { name, number } = partsOf(id);
    const known = numbers.get(name);
    if (known === undefined) numbers.set(name, [number]);
    else known.push(number);
  }
  const ranges: Record<string, number[]> = {};
  for (const [name, all] of numbers) ranges[name] = rangesOf(all.sort((a, b) => a - b));
  return ranges;
}

export function has(ids: CompactIds, id: string): boolean {
  const { name, number } = partsOf(id);
  const ranges = ids[name] ?? [];
  for (let index = 0; index < ranges.length; index += 2) {
    if (number < ranges[index]!) return false;
    if (number <= ranges[index + 1]!) return true;
  }
  return false;
}

export function listOf(ids: CompactIds): string[] {
  return Object.entries(ids).flatMap(([name, ranges]) => {
    const all: string[] = [];
    for (let index = 0; index < ranges.length; index += 2)
      for (let number = ranges[index]!; number <= ranges[index + 1]!; number += 1) all.push(`${name}.${number}`);
    return all;
  });
}

function rangesOf(sorted: readonly number[]): number[] {
  const ranges: number[] = [];
  for (const number of sorted) {
    const last = ranges.at(-1);
    if (last !== undefined && number <= last + 1) ranges[ranges.length - 1] = number;
    else ranges.push(number, number);
  }
  return ranges;
}

function partsOf(id: string): { name: string; number: number } {
  const dot = id.lastIndexOf('.');
  return { name: id.slice(0, dot), number: Number(id.slice(dot + 1)) };
}
