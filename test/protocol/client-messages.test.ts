import { expect, test } from 'vitest';
import { decodeSdkFrame, FRAME_DEPTH_MAX } from '../../src/protocol/client-messages.ts';
import { FEED_REQUESTS } from '../../src/protocol/feeds.ts';
import { OP, type Op } from '../../src/protocol/storage-ops.ts';

const decode = (value: unknown) => decodeSdkFrame(JSON.stringify(value));
const refusal = (reason: RegExp, code = 'FRAME_INVALID') =>
  expect.objectContaining({ code, message: expect.stringMatching(reason) });

test('[FR1] a frame is one message or an array of them, each checked', () => {
  expect(decode([{ type: 100, data: { x: 1 } }, { type: 200 }, { type: 103, event: null }])).toEqual([
    { type: 'presence', data: { x: 1 }, targetActor: null },
    { type: 'storage.fetch' },
    { type: 'broadcast', event: null },
  ]);
  expect(decode({ type: 100, data: {}, targetActor: -1 })).toEqual([{ type: 'presence', data: {}, targetActor: -1 }]);
  expect(decode({ type: 300, vector: 'AA==', guid: 'sub', v2: true })).toMatchObject([{ type: 'ydoc.fetch', guid: 'sub' }]);
});

test('[FR2] codes of newer clients are passed over, the rest of the frame counts (protocol 12, check 13)', () => {
  expect(decode([{ type: 9_999, anything: true }, { type: 200 }])).toEqual([{ type: 'storage.fetch' }]);
});

test('[FE1] requests about feeds are read as they are, with what is wrong with them', () => {
  const kinds = Object.entries(FEED_REQUESTS);
  const fields = (type: number) => ({ type, requestId: `r${type}`, feedId: 5 });
  expect(decode(kinds.map(([code]) => fields(Number(code))))).toEqual(
    kinds.map(([code, kind]) => {
      const asked = fields(Number(code));
      return { type: 'feed.request', request: { kind, requestId: asked.requestId, fields: asked, flaw: null } };
    }),
  );
  const bad = decodeSdkFrame('{"type":515,"requestId":"r","data":{"constructor":1}}');
  expect(bad).toMatchObject([{ request: { flaw: 'the key "constructor" is not allowed' } }]);
});

test.each([
  ['not JSON', '{"type":', /not JSON/],
  ['a bare word', 'hello', /not JSON/],
  ['a number', '5', /not an object/],
  ['no type', '[{}]', /numeric type/],
  ['a wrong field', '[{"type":100,"data":[]}]', /message 100\/data/],
  ['a missing field', '[{"type":103}]', /message 103/],
  ['not base64', '[{"type":300,"vector":"***"}]', /not base64/],
  ['ops that are none', '[{"type":201,"ops":[5]}]', /./],
  ['a prototype key', '[{"type":100,"data":{"__proto__":{"a":1}}}]', /__proto__/],
  ['a hidden prototype key', '[{"type":100,"data":{"\\u005f_proto__":{"a":1}}}]', /__proto__/],
])('[FR3] %s is refused with the reason', (_, text, reason) => {
  expect(() => decodeSdkFrame(text)).toThrow(refusal(reason));
});

test('[FR3] too many messages in one frame close the socket with a code after which SDK clients come back', () => {
  const frame = (messages: number) => JSON.stringify(Array.from({ length: messages }, () => ({ type: 200 })));
  expect(decodeSdkFrame(frame(10_000))).toHaveLength(10_000);
  expect(() => decodeSdkFrame(frame(10_001))).toThrow(expect.objectContaining({ code: 'TOO_MANY_MESSAGES', close: 1008 }));
});

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

test('[FR4] nesting is bounded: the deepest allowed passes, one more is refused before anything recursive sees it', () => {
  const event = (depth: number): string => `[{"type":103,"event":${nested(depth - 2)}}]`;
  expect(decodeSdkFrame(event(38))).toHaveLength(1);
  expect(() => decodeSdkFrame(event(39))).toThrow(refusal(/deeper than 36/));
  expect(() => decodeSdkFrame(`[{"type":100,"data":{"a":${nested(36)}}}]`)).toThrow(refusal(/deeper than 36/));
  expect(() => decodeSdkFrame('['.repeat(1_000_000))).toThrow(refusal(/deeper than 256/));
});

test('[FR9] of ops only those are not taken that are at fault, in their place among the others', () => {
  const op = (data: string, more = ''): string => `{"type":3,"opId":"1:1","id":"root","data":${data}${more}}`;
  const frame = (...ops: string[]): string => `[{"type":200},{"type":201,"ops":[${ops.join()}]},{"type":103,"event":1}]`;
  const said = (...ops: string[]): unknown[] => {
    const messages = decodeSdkFrame(frame(...ops));
    expect(messages.map(({ type }) => type)).toEqual(['storage.fetch', 'storage.change', 'broadcast']);
    return (messages[1] as unknown as { ops: Op[] }).ops.map((one) => (one.type === OP.UNFIT ? one.problem.reason : 'taken'));
  };
  expect(said(op('{"a":1}'), op('{"constructor":1}'), op('{"a":1}'))).toEqual([
    'taken',
    'has the key "constructor", which is not allowed',
    'taken',
  ]);
  expect(said(op(`{"a":${nested(32)}}`), op(`{"a":${nested(33)}}`), op(`{"a":${nested(FRAME_DEPTH_MAX - 5)}}`))).toEqual([
    'taken',
    'is nested deeper than 32',
    'is nested deeper than 32',
  ]);
  expect(
    said(op('{}', ',"newer":{"__proto__":1}'), op('{}', `,"newer":${nested(35)}`), op('{}', `,"newer":${nested(34)}`)),
  ).toEqual(['is not taken: the key "__proto__" is not allowed', 'is not taken: it is nested deeper than 35', 'taken']);
  expect(() => decodeSdkFrame(frame(op(`{"a":${nested(FRAME_DEPTH_MAX - 4)}}`)))).toThrow(refusal(/deeper than 256/));
});

test('[FR8] presence and events may have any key but one', () => {
  const words = { constructor: 1, prototype: { constructor: [{ prototype: 2 }] }, toString: 3 };
  expect(
    decode([
      { type: 100, data: words },
      { type: 103, event: words },
    ]),
  ).toEqual([
    { type: 'presence', data: words, targetActor: null },
    { type: 'broadcast', event: words },
  ]);
  expect(() => decodeSdkFrame('[{"type":103,"event":[{"__proto__":1}]}]')).toThrow(refusal(/__proto__/));
});

test('[FR5] messages about Yjs documents say in which encoding; one that only asks need not', () => {
  const sent = (v2?: unknown) => [
    { type: 300, vector: 'AA==', v2 },
    { type: 301, update: 'AAA=', v2 },
  ];
  const encodings = (v2?: boolean) => decode(sent(v2)).map((message) => (message as { encoding: unknown }).encoding);
  expect([encodings(true), encodings(false), encodings()]).toEqual([
    ['V2', 'V2'],
    ['V1', 'V1'],
    [null, 'V1'],
  ]);
  for (const message of sent('yes')) expect(() => decode([message])).toThrow(refusal(/v2/));
});

test('[FR6] brackets and keys inside strings are only text', () => {
  const event = '[[[[{{{{ "__proto__" \\" ]]'.repeat(10);
  expect(decode([{ type: 103, event }])).toEqual([{ type: 'broadcast', event }]);
});
