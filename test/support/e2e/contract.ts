/** The contract's endpoints as a customer calls them: plain fetch with the secret key, no SDK. */
import { expect } from 'vitest';
import { type Answer, type Ask, ask, roomPath } from './rest.ts';
import { freshRoomId, type TestServer } from './server.ts';

export interface Contract {
  /** A request as it stands in the contract's tables: `POST /rooms/x/upsert`; a payload is sent as JSON. */
  call(methodAndPath: string, request?: Omit<Ask, 'method'>): Promise<Answer>;
  /** Makes a room that nobody else has; resolves with its id. */
  aRoom(fields?: object): Promise<string>;
}

export function contractOf(server: TestServer): Contract {
  const call: Contract['call'] = (methodAndPath, request = {}) => {
    const [method, path] = split(methodAndPath);
    return ask(server, `/v2${path}`, { method, ...request });
  };
  const aRoom: Contract['aRoom'] = async (fields = {}) => {
    const id = freshRoomId('contract');
    const { status, text } = await call('POST /rooms', { json: { id, defaultAccesses: [], ...fields } });
    if (status !== 200) throw new Error(`no room: ${status} ${text}`);
    return id;
  };
  return { call, aRoom };
}

/** The path of something in a room, without the version. */
export function at(roomId: string, rest = ''): string {
  return roomPath(roomId, rest).slice('/v2'.length);
}

/** `status code message` of a refusal, whose body has the four keys of the contract and no others. */
export function refusal(answer: Answer): string {
  const { status, headers, text } = answer;
  if (status < 400) throw new Error(`not refused: ${status} ${text}`);
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  const { json } = answer;
  expect(json).toEqual({
    error: expect.stringMatching(/^[A-Z_]+$/),
    message: expect.stringMatching(/\w/),
    suggestion: expect.stringMatching(/\w/),
    docs: '',
  });
  return `${status} ${json.error} ${json.message}`;
}

/** It is refused as malformed, by a message with this in it. */
export function expectMalformed(answer: Answer, message: string): void {
  const said = refusal(answer);
  expect(said).toMatch(/^422 UNPROCESSABLE_ENTITY /);
  expect(said).toContain(message);
}

/** An answer without a body. */
export const nothing = (status: 200 | 204) => expect.objectContaining({ status, text: '' });

function split(methodAndPath: string): [method: string, path: string] {
  const at = methodAndPath.indexOf(' ');
  return [methodAndPath.slice(0, at), methodAndPath.slice(at + 1)];
}
