/** Examples of Storage, Yjs documents and schemas, and of what the API says of itself. */
import { randomBytes } from 'node:crypto';
import { at } from '../e2e/contract.ts';
import { type Examples, inARoom, type OperationExample, type World } from './example.ts';

const FILE = { id: `fl_${'A'.repeat(21)}`, name: 'a.bin', size: 9, mimeType: 'application/octet-stream' };
const ROOT = { liveblocksType: 'LiveObject', data: { list: { liveblocksType: 'LiveList', data: [1] } } };
/** Two zero bytes are the update that says nothing. */
const EMPTY_UPDATE = new Uint8Array([0, 0]);

const inAFilledRoom = (json: unknown): OperationExample => ({
  async make({ call, aRoom }) {
    const roomId = await aRoom();
    await call(`POST ${at(roomId)}/storage`, { json: ROOT });
    return { params: { roomId }, json };
  },
});

export const STORAGE_EXAMPLES: Examples = {
  'GET /v2/rooms/{roomId}/storage': inARoom({ query: { format: 'json' } }),
  'GET /v2/c/rooms/{roomId}/storage': inARoom(),
  'POST /v2/rooms/{roomId}/storage': inARoom({ json: ROOT }),
  'DELETE /v2/rooms/{roomId}/storage': inARoom(),
  'PATCH /v2/rooms/{roomId}/storage/json-patch': inAFilledRoom([
    { op: 'add', path: '/list/-', value: 2 },
    { op: 'test', path: '/list/0', value: 1 },
    { op: 'copy', from: '/list/0', path: '/copy' },
    { op: 'move', from: '/copy', path: '/moved' },
    { op: 'replace', path: '/moved', value: { liveblocksType: 'LiveMap', data: {} } },
    { op: 'remove', path: '/moved' },
  ]),
  'POST /v2/rooms/{roomId}/request-storage-mutation': inARoom(),
  'POST /v2/rooms/{roomId}/send-message': inARoom({
    json: { messages: [{ type: 201, ops: [{ type: 3, opId: '9:0', id: 'root', data: { file: FILE.name } }] }] },
  }),
  'GET /v1/room/{roomId}/storage': inARoom(),
  'POST /v1/room/{roomId}/storage': inARoom({ json: ROOT }),
  'DELETE /v1/room/{roomId}/storage': inARoom(),
  'GET /v1/room/{roomId}/users': inARoom(),
};

export const YDOC_EXAMPLES: Examples = {
  'GET /v2/rooms/{roomId}/ydoc': inARoom({ query: { formatting: '', key: 'text', type: 'ytext' } }),
  'PUT /v2/rooms/{roomId}/ydoc': inARoom({ query: { guid: 'sub' }, bytes: EMPTY_UPDATE }),
  'GET /v2/rooms/{roomId}/ydoc-binary': inARoom({ query: { guid: 'sub' } }),
};

const BODY = 'type Storage { n?: number }';
async function aSchema({ call }: World): Promise<string> {
  const name = `s-${randomBytes(6).toString('hex')}`;
  return (await call('POST /schemas', { json: { name, body: BODY } })).json.id;
}
const ofASchema = (json?: unknown): OperationExample => ({
  make: async (world) => ({ params: { schemaId: await aSchema(world) }, ...(json !== undefined && { json }) }),
});
const inARoomWithASchema: OperationExample = {
  async make(world) {
    const [roomId, schema] = [await world.aRoom(), await aSchema(world)];
    await world.call(`POST ${at(roomId)}/schema`, { json: { schema } });
    return { params: { roomId } };
  },
};

export const SCHEMA_EXAMPLES: Examples = {
  'GET /v2/schemas': { make: async () => ({ query: { limit: '5' } }), leavesOut: ['startingAfter'] },
  'POST /v2/schemas': { make: async () => ({ json: { name: `s-${randomBytes(6).toString('hex')}`, body: BODY } }) },
  'GET /v2/schemas/{schemaId}': ofASchema(),
  'PUT /v2/schemas/{schemaId}': ofASchema({ body: BODY }),
  'DELETE /v2/schemas/{schemaId}': ofASchema(),
  'GET /v2/rooms/{roomId}/schema': inARoomWithASchema,
  'POST /v2/rooms/{roomId}/schema': {
    make: async (world) => ({ params: { roomId: await world.aRoom() }, json: { schema: await aSchema(world) } }),
  },
  'DELETE /v2/rooms/{roomId}/schema': inARoomWithASchema,
};

export const ABOUT_EXAMPLES: Examples = {
  'GET /health': { make: async () => ({}) },
  'GET /openapi.json': { make: async () => ({}) },
  'GET /docs': { make: async () => ({}) },
};
