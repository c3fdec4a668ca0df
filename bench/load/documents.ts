/** Storage documents of a given size, in the form in which REST takes them. */

interface Node {
  readonly serviceType: string;
  readonly data: unknown;
}

const SHAPES_PER_LIST_MAX = 100;

/** A drawing of exactly `nodes` live nodes: the root, a map of layers, lists of at most 100 shapes. */
export function documentOf(nodes: number): Node {
  const layers: Record<string, Node> = {};
  let left = nodes - 2; // the root and the map
  for (let layer = 0; left > 0; layer += 1) {
    const shapes = Math.min(SHAPES_PER_LIST_MAX, left - 1);
    layers[`layer ${layer}`] = { serviceType: 'LiveList', data: Array.from({ length: shapes }, (_, index) => shape(index)) };
    left -= shapes + 1;
  }
  return object({ counter: 0, layers: { serviceType: 'LiveMap', data: layers } });
}

function shape(index: number): Node {
  return object({ x: index, y: index * 2, fill: 'blue' });
}

function object(data: Readonly<Record<string, unknown>>): Node {
  return { serviceType: 'LiveObject', data };
}
