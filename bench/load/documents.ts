/** Storage documents of a given size, in the form in which REST takes them. */

type Node = Readonly<Record<string, unknown>>;

const SHAPES_PER_LIST_MAX = 100;

/** A drawing of exactly `nodes` live nodes: the root, a map of layers, lists of at most 100 shapes. `typeKey` is the key under which a node says what it is. */
export function documentOf(nodes: number, typeKey = 'serviceType'): Node {
  const node = (type: string, data: unknown): Node => ({ [typeKey]: type, data });
  const shape = (index: number): Node => node('LiveObject', { x: index, y: index * 2, fill: 'blue' });
  const layers: Record<string, Node> = {};
  let left = nodes - 2; // the root and the map
  for (let layer = 0; left > 0; layer += 1) {
    const shapes = Math.min(SHAPES_PER_LIST_MAX, left - 1);
    layers[`layer ${layer}`] = node(
      'LiveList',
      Array.from({ length: shapes }, (_, index) => shape(index)),
    );
    left -= shapes + 1;
  }
  return node('LiveObject', { counter: 0, layers: node('LiveMap', layers) });
}
