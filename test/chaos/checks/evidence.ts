/** What a run leaves for its judgement: what clients did and saw, what is there at the end, and what the database counted. Plain data. */
import { type Content, marksIn, type StoredDocument } from '../../support/writing/place.ts';
import type { Op, Part, Read, Replay } from '../history.ts';

export type Phase = 'before the restart' | 'after the restart';

/** A room as one route reads it. */
export interface FinalRead {
  readonly route: string;
  readonly phase: Phase;
  readonly room: string;
  readonly content: Content;
}

/** A room as a client that was in it all the time has it; what it does not keep is left out. */
export interface Replica {
  readonly client: string;
  readonly room: string;
  readonly storage?: StoredDocument;
  readonly ydoc?: string;
}

/** Whose sessions an observer sees in a room, and whose are in it: user ids, each as often as it is there. */
export interface Attendance {
  readonly observer: string;
  readonly room: string;
  readonly seen: readonly string[];
  readonly there: readonly string[];
}

/** A claim as the database saw it. `former`: whose the room was. */
export interface ClaimRow {
  readonly at: number;
  readonly stream: number;
  readonly epoch: number;
  readonly owner: string | null;
  readonly former: string | null;
}

/** An entry of the journal as it was inserted, with the owner's row of that moment. */
export interface EntryRow {
  readonly at: number;
  readonly stream: number;
  readonly version: number;
  readonly count: number;
  readonly epoch: number;
  readonly ruling: number;
}

/** What is left in the database at the end. */
export interface StreamRow {
  readonly stream: number;
  readonly epoch: number;
  readonly snapshotVersion: number;
  readonly snapshots: readonly number[];
  /** Of the journal: versions and counts, in order. */
  readonly kept: readonly { readonly version: number; readonly count: number; readonly epoch: number }[];
}

export interface Audit {
  readonly claims: readonly ClaimRow[];
  readonly entries: readonly EntryRow[];
  readonly streams: readonly StreamRow[];
}

export interface Evidence {
  readonly ops: readonly Op[];
  readonly reads: readonly Read[];
  readonly replays: readonly Replay[];
  readonly shown: ReadonlyMap<string, string>;
  readonly finals: readonly FinalRead[];
  readonly replicas: readonly Replica[];
  readonly attendance: readonly Attendance[];
  /** Ids of the rooms that were created, after the restart. */
  readonly rooms: readonly string[];
  readonly audit: Audit;
}

export type Check = 'C1' | 'C2' | 'C3' | 'C4' | 'C5' | 'C6' | 'C7' | 'C8' | 'C9';

export interface Violation {
  readonly check: Check;
  readonly what: string;
  readonly room: string | null;
  /** Some of those concerned. */
  readonly ids: readonly string[];
}

const SAMPLES_MAX = 12;

/** None when there is nobody it concerns. */
export function violation(
  check: Check,
  what: string,
  { room, ids }: { room: string | null; ids: readonly string[] },
): Violation[] {
  if (ids.length === 0) return [];
  return [{ check, what: `${ids.length} ${what}`, room, ids: ids.slice(0, SAMPLES_MAX) }];
}

/** The ids in each part of a room, as often as they are there and in their order. */
export function idsByPart({ storage, ydoc }: Content): Record<Exclude<Part, 'rooms'>, string[]> {
  return {
    list: [...storage.list],
    map: Object.keys(storage.map),
    text: marksIn(storage.text.map(([run]) => run).join('')),
    ydoc: marksIn(ydoc),
  };
}

/** The last word on each room: what is there once everything was restarted. */
export function lastWords({ finals }: Pick<Evidence, 'finals'>): Map<string, Content> {
  const words = new Map<string, Content>();
  for (const { phase, room, content } of finals) if (phase === 'after the restart' && !words.has(room)) words.set(room, content);
  return words;
}
