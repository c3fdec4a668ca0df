/** Branded ids and their makers. A plain string never passes for one by accident. */
import type { Random } from './clock.ts';

declare const brand: unique symbol;
type Branded<T, Name> = T & { readonly [brand]: Name };

/** The public id of a room, chosen by its creator: 1–128 characters (contract, Rooms; supplement 1.9). */
export type RoomId = Branded<string, 'RoomId'>;
/** A room's number in the database. It outlives renames; a room deleted and made again gets another. */
export type RoomPk = Branded<number, 'RoomPk'>;
/** One client's stay in one room, from join to leave. Unique over all workers. */
export type SessionId = Branded<string, 'SessionId'>;
/** One life of one worker process: the unit of fencing (reliability 2.0). */
export type Incarnation = Branded<string, 'Incarnation'>;

/** host:port of a worker's bus: how workers address each other. Two lives of a worker may have the same one after the other. */
export type WorkerAddress = Branded<string, 'WorkerAddress'>;

/** What makes two requests the same one, sent again. Both are digests: the id of who asks and the key they gave, the other of what they ask for. */
export interface RequestKey {
  readonly id: string;
  readonly digest: string;
}

export const asRoomId = (value: string): RoomId => value as RoomId;
export const asRoomPk = (value: number): RoomPk => value as RoomPk;
export const asSessionId = (value: string): SessionId => value as SessionId;
export const asIncarnation = (value: string): Incarnation => value as Incarnation;
export const asWorkerAddress = (value: string): WorkerAddress => value as WorkerAddress;

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-';

/** `prefix` and `size` URL-safe characters, six bits of chance each, as in `fl_…` or `in_…` (protocol 7.1). */
export function newId(random: Random, prefix: string, size = 21): string {
  let id = prefix;
  for (const byte of random.bytes(size)) id += ALPHABET[byte & 63];
  return id;
}
