/** Who made an op or a node: ids of both are `actor:number`, and the actor is the number of the connection (protocol §5.1). */

/** NaN of an op without an id, and of the root: no comparison with it holds. */
export function makerOf(id = ''): number {
  return Number.parseInt(id, 10);
}
