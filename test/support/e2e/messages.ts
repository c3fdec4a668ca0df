/** The server's JSON frames as flat lists of messages, for tests that look at the wire (protocol 4). */

/** Codes of protocol 4.1 and 4.2, by the names used there. */
export const CODE = {
  presence: 100,
  userJoined: 101,
  userLeft: 102,
  event: 103,
  roomState: 104,
  fetchStorage: 200,
  storageOps: 201,
  storageChunk: 210,
  storageEnd: 211,
  rejected: 299,
  ydoc: 300,
  ydocUpdate: 301,
} as const;

/** Codes of protocol 5.2. */
export const OP = {
  setParentKey: 1,
  createList: 2,
  updateObject: 3,
  createObject: 4,
  deleteCrdt: 5,
  deleteObjectKey: 6,
  createMap: 7,
  createRegister: 8,
  createText: 9,
  updateText: 10,
  createFile: 11,
} as const;

export interface Message {
  readonly type: number;
  readonly [field: string]: any;
}

/** The messages of one frame; none for binary frames and for pings and pongs. */
export function asMessages(frame: unknown): Message[] {
  if (typeof frame !== 'string' || frame === 'ping' || frame === 'pong') return [];
  const value = JSON.parse(frame) as Message | Message[];
  return Array.isArray(value) ? value : [value];
}

/** All storage ops among `messages`, in order. */
export function opsIn(messages: readonly Message[]): Message[] {
  return messages.filter(({ type }) => type === CODE.storageOps).flatMap(({ ops }) => ops as Message[]);
}
