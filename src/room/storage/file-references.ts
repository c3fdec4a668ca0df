/** Which uploaded files a change refers to, so that whoever knows the files can refuse unknown ones before the change. */
import type { Json } from '../../base/json.ts';
import { pointerSegment } from '../../base/json-pointer.ts';
import { OP, type Op } from '../../protocol/storage-ops.ts';

export interface FileReference {
  readonly fileId: string;
  /** Where in the ops or document it stands. */
  readonly pointer: string;
}

export function filesInOps(ops: readonly Op[]): FileReference[] {
  return ops.flatMap((op, at) => (op.type === OP.CREATE_FILE ? [{ fileId: op.data.id, pointer: `/${at}/data/id` }] : []));
}

/** Whether `filesInOps` would find any: looked at for each change. */
export function hasFilesInOps(ops: readonly Op[]): boolean {
  for (const { type } of ops) if (type === OP.CREATE_FILE) return true;
  return false;
}

/** A value on the way down, and where it stands in the one above it. */
interface Spot {
  readonly value: Json;
  readonly key: string;
  readonly above: Spot | null;
}

/** In a plain LSON document or a JSON Patch, in its order. A loop, so the depth of the document does not matter; its shape need not have been checked. */
export function filesInDocument(document: Json): FileReference[] {
  const files: FileReference[] = [];
  const open: Spot[] = [{ value: document, key: '', above: null }];
  for (let spot = open.pop(); spot !== undefined; spot = open.pop()) {
    const { value } = spot;
    if (typeof value !== 'object' || value === null) continue;
    const fileId = fileIdOf(value as { readonly [key: string]: Json });
    if (fileId !== null) files.push({ fileId, pointer: `${pointerTo(spot)}/data/id` });
    for (const key of Object.keys(value).reverse()) {
      const inner = (value as { readonly [key: string]: Json })[key]!;
      if (typeof inner === 'object' && inner !== null) open.push({ value: inner, key, above: spot });
    }
  }
  return files;
}

/** Made for those that are found only: most documents hold no file. */
function pointerTo(spot: Spot): string {
  const segments: string[] = [];
  for (let at = spot; at.above !== null; at = at.above) segments.push(pointerSegment(at.key));
  return segments.reverse().join('');
}

function fileIdOf(node: { readonly [key: string]: Json }): string | null {
  if (node.serviceType !== 'LiveFile' && node.liveblocksType !== 'LiveFile') return null;
  const data = node.data as { readonly id?: Json } | null | undefined;
  return typeof data?.id === 'string' ? data.id : null;
}
