/** What is wrong with a Storage under a schema, and how that is said (supplement 3.5, "Message nature of a mismatch"). */
import { pointerSegment } from '../../base/json-pointer.ts';
import { CRDT } from '../../protocol/storage-ops.ts';
import { type ParentNode, positionsOf, type StorageNode } from '../storage/nodes.ts';

export type Problem = 'missing' | 'wrong type' | 'not live' | 'not optional' | 'not known';

/** A fault as seen from the value around it; `path` grows on the way out of a value. */
export interface Fault {
  readonly problem: Problem;
  /** What the type says, where it says something. */
  readonly expected?: string;
  readonly found?: string;
  /** The innermost type around the fault. */
  readonly owner?: string;
  /** Keys and indices that lead to the fault from where it is seen. */
  readonly path?: readonly string[];
}

export interface Mismatch {
  readonly problem: Problem;
  readonly property: string;
  /** The type that the property belongs to. */
  readonly type: string;
  /** JSON pointer to the property in the Storage document. */
  readonly pointer: string;
  /** The rest of a sentence that has quoted the pointer. */
  readonly reason: string;
  /** What is there in place of what the type says. */
  readonly found: string | undefined;
}

/** The fault as seen from one level further out: a value that is the member `key` of something of the type `owner`. */
export function faultIn(owner: string, key: string, fault: Fault): Fault {
  return { ...fault, owner: fault.owner ?? owner, path: [key, ...(fault.path ?? [])] };
}

/** A fault in the node's content as the outside hears of it. */
export function mismatchAt(node: ParentNode, { problem, expected, found, owner = '', path = [] }: Fault): Mismatch {
  const [key = '', ...inner] = path;
  const steps = [...stepsTo(node), step(node, key), ...inner];
  const pointer = steps.map(pointerSegment).join('');
  const property = steps.at(-1)!;
  const subject = `the property "${property}" of ${owner}`;
  return { problem, property, type: owner, pointer, reason: sentence(subject, { problem, expected, found }), found };
}

function sentence(
  subject: string,
  { problem, expected, found }: Record<'expected' | 'found', string | undefined> & Pick<Fault, 'problem'>,
) {
  switch (problem) {
    case 'missing':
      return `${subject} is missing`;
    case 'not optional':
      return `${subject} is not optional`;
    case 'not known':
      return `${subject} is not known`;
    case 'not live':
      return `${subject} is not live: it must be ${expected}, and is ${found}`;
    case 'wrong type':
      return `${subject} has the wrong type: it must be ${expected}, and is ${found}`;
    default:
      return problem satisfies never;
  }
}

function stepsTo(node: StorageNode): string[] {
  const steps: string[] = [];
  for (let at = node; at.parent !== null; at = at.parent) steps.push(step(at.parent, at.key));
  return steps.reverse();
}

/** Clients know items by their index, not by their position. */
function step(parent: ParentNode, key: string): string {
  return parent.type === CRDT.LIST ? String(positionsOf(parent).toArray().indexOf(key)) : key;
}
