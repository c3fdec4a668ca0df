/**
 * What a room writes down: one record per change, enough to decide the same state again (reliability 2.c).
 *
 * A stored format: records are read back by later versions of this code, so kinds are only ever added.
 */
import { pack, packBytes, packText, packTextsAndNumber, unpackAll } from '../base/binary.ts';
import { AppError } from '../base/errors.ts';
import type { Op, OpsText } from '../protocol/storage-ops.ts';
import type { DecidedRequest } from './recent-requests.ts';

export type JournalRecord =
  /**
   * Storage ops as applied: final positions, LiveText versions, op ids kept. Here and below,
   * `author` is the user whose first change this is since the last version of the history.
   */
  | ({ readonly kind: 'storage.ops'; readonly author?: string } & OpsText)
  /** Storage was deleted. */
  | { readonly kind: 'storage.reset' }
  /** A Yjs update as the client sent it; guid '' is the root document. */
  | { readonly kind: 'ydoc.update'; readonly guid: string; readonly update: Uint8Array; readonly author?: string }
  /** Actor numbers below `upTo` may be in use (protocol 4: never twice). */
  | { readonly kind: 'numbers'; readonly upTo: number }
  /** The request that the changes of this decision came from, or that found nothing to change. */
  | ({ readonly kind: 'request' } & DecidedRequest)
  /** A version of the history is kept, of the room's version `upTo`; these authors are in none yet. */
  | { readonly kind: 'history.kept'; readonly upTo: number; readonly atMs: number; readonly authors: readonly string[] };

/** Tags on disk. Never reuse one. */
const TAG = { 'storage.ops': 1, 'storage.reset': 2, 'ydoc.update': 3, numbers: 4, request: 5, 'history.kept': 6 } as const;

/** A record as bytes; the payload of a journal entry is such records one after the other. */
export function encodeRecord(record: JournalRecord): Uint8Array {
  switch (record.kind) {
    case 'storage.ops': {
      const { ops, json = JSON.stringify(ops), author } = record;
      return author === undefined ? packText(TAG['storage.ops'], json) : pack([TAG['storage.ops'], json, author]);
    }
    case 'storage.reset':
      return pack([TAG['storage.reset']]);
    case 'ydoc.update': {
      const { guid, update, author } = record;
      if (author !== undefined) return pack([TAG['ydoc.update'], guid, update, author]);
      return guid === '' ? packBytes(TAG['ydoc.update'], update) : pack([TAG['ydoc.update'], guid, update]);
    }
    case 'numbers':
      return pack([TAG.numbers, record.upTo]);
    case 'request': {
      const { id, digest, atMs, answer } = record;
      return answer === null
        ? packTextsAndNumber(TAG.request, [id, digest], atMs)
        : pack([TAG.request, id, digest, atMs, answer]);
    }
    case 'history.kept':
      return pack([TAG['history.kept'], record.upTo, record.atMs, record.authors]);
    default:
      return record satisfies never;
  }
}

/** @throws AppError ROOM_UNREADABLE for a tag that this code does not know: an older build must not guess. */
export function decodeRecords(payload: Uint8Array): JournalRecord[] {
  return unpackAll(payload).map((value) => {
    const [tag, first, second, third, fourth] = value as unknown[];
    switch (tag) {
      case TAG['storage.ops']:
        return { kind: 'storage.ops', ops: JSON.parse(first as string) as Op[], ...author(second) };
      case TAG['storage.reset']:
        return { kind: 'storage.reset' };
      case TAG['ydoc.update']:
        return { kind: 'ydoc.update', guid: first as string, update: second as Uint8Array, ...author(third) };
      case TAG.numbers:
        return { kind: 'numbers', upTo: first as number };
      case TAG.request:
        return {
          kind: 'request',
          id: first as string,
          digest: second as string,
          atMs: third as number,
          answer: fourth as string | null,
        };
      case TAG['history.kept']:
        return { kind: 'history.kept', upTo: first as number, atMs: second as number, authors: third as string[] };
      default:
        throw new AppError('ROOM_UNREADABLE', {
          reason: `the journal holds a record of kind ${String(tag)}, which this build does not know`,
        });
    }
  });
}

function author(stored: unknown): { readonly author?: string } {
  return stored === undefined ? {} : { author: stored as string };
}
