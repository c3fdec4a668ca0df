/** Routes called as a client would call them, through the real matching, authentication and validation; only the socket is missing. */
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { AppError } from '../../src/base/errors.ts';
import type { RoomId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { makeApi } from '../../src/kernel/transport/api.ts';
import { makeAuthenticate } from '../../src/kernel/transport/principal.ts';
import type { BoundRoute } from '../../src/kernel/transport/route.ts';
import type { Command, RoomDoor } from '../../src/room/shapes.ts';
import { allOf } from '../support/api-request.ts';

export const SECRET_KEY = 'sk_test';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The body as JSON. */
  readonly json: any;
}

export interface Sent {
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly body?: string | Uint8Array;
  readonly contentType?: string;
  readonly bearer?: string | null;
}

export type Call = (methodAndPath: string, sent?: Sent) => Promise<Answer>;

export function callerOf(routes: readonly BoundRoute[]): Call {
  const api = makeApi({
    clock: systemClock,
    routes,
    info: { title: 'Test', version: '0', description: '' },
    authenticate: makeAuthenticate({
      secretKeys: [SECRET_KEY],
      publicKey: 'pk_test',
      verifyToken: () => Promise.reject(new AppError('INVALID_TOKEN')),
    }),
    jsonLimits: { bytesMax: 2_097_152, depthMax: 32, keysMax: 10_000 },
    origins: '*',
    log: silentLog,
    random: systemRandom,
  });
  return async (methodAndPath, { json, body, contentType = 'application/json', bearer = SECRET_KEY } = {}) => {
    const [method = '', target = ''] = methodAndPath.split(' ');
    const [path = '', query = ''] = target.split('?');
    const bytes = Buffer.from(json === undefined ? (body ?? '') : JSON.stringify(json));
    const response = await api({
      method,
      path,
      query,
      headers: { 'content-type': contentType, ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }) },
      body: async (bytesMax) => {
        if (bytes.byteLength > bytesMax) throw new AppError('PAYLOAD_TOO_LARGE', { bytesMax });
        return bytes;
      },
      stream: () => {
        throw new Error('no route here takes a stream');
      },
      aborted: new AbortController().signal,
    });
    const answered = await allOf(response.body);
    return {
      status: response.status,
      headers: response.headers ?? {},
      bytes: answered,
      text: answered.toString(),
      get json() {
        return JSON.parse(answered.toString());
      },
    };
  };
}

export interface RecordingDoor extends RoomDoor {
  /** What was asked, in order, with the room. */
  readonly asked: [RoomId, Command][];
  readonly told: [RoomId, Command][];
  /** Rooms that take no changes now. */
  readonly full: Set<RoomId>;
}

/** A door that notes what comes through it and answers by the type of the command; a room not in `rooms` does not exist. */
export function aDoor(rooms: readonly string[], replies: { readonly [type in Command['type']]?: unknown } = {}): RecordingDoor {
  const asked: [RoomId, Command][] = [];
  const told: [RoomId, Command][] = [];
  const full = new Set<RoomId>();
  return {
    asked,
    told,
    full,
    isFull: (roomId) => full.has(roomId),
    async ask(roomId, command) {
      if (!rooms.includes(roomId)) throw new AppError('ROOM_NOT_FOUND', { roomId });
      asked.push([roomId, command]);
      return replies[command.type] ?? null;
    },
    async askIfAwake(roomId, command) {
      told.push([roomId, command]);
      return rooms.includes(roomId) ? { reply: replies[command.type] ?? null } : null;
    },
    tellIfAwake: async (roomId, command) => told.push([roomId, command]) > 0,
    close: async (roomId, { code, facts }) => void told.push([roomId, { type: 'room.close', code, facts }]),
  };
}

/** The parts of a refusal that a caller acts on. */
export function refused(answer: Answer): string {
  return `${answer.status} ${answer.json.error} ${answer.json.message}`;
}
