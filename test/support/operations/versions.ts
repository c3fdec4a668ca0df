/** Examples of version history. */
import { at } from '../e2e/contract.ts';
import { type Example, type Examples, inARoom, type OperationExample } from './example.ts';

const ofAVersion = (rest: Omit<Example, 'params'> = {}): OperationExample => ({
  async make({ call, aRoom }) {
    const roomId = await aRoom();
    const { id } = (await call(`POST ${at(roomId)}/versions`)).json.data;
    return { params: { roomId, versionId: id }, ...rest };
  },
});

export const VERSION_EXAMPLES: Examples = {
  'GET /v2/rooms/{roomId}/versions': { ...inARoom({ query: { limit: '5' } }), leavesOut: ['cursor'] },
  'POST /v2/rooms/{roomId}/versions': inARoom(),
  'GET /v2/rooms/{roomId}/versions/{versionId}/yjs': ofAVersion({ query: { guid: 'sub' } }),
  'DELETE /v2/rooms/{roomId}/versions/{versionId}': ofAVersion(),
  'GET /v2/c/rooms/{roomId}/versions': inARoom(),
  'GET /v2/c/rooms/{roomId}/versions/delta': inARoom({ query: { since: '2026-01-02T03:04:05.678Z' } }),
  'POST /v2/c/rooms/{roomId}/versions': inARoom(),
  'DELETE /v2/c/rooms/{roomId}/versions/{versionId}': ofAVersion(),
  'GET /v2/c/rooms/{roomId}/versions/{versionId}/storage': ofAVersion(),
  'GET /v2/c/rooms/{roomId}/versions/{versionId}/yjs': ofAVersion({ query: { guid: 'sub' } }),
  'POST /v2/c/rooms/{roomId}/version': inARoom(),
  'GET /v2/c/rooms/{roomId}/y-version/{versionId}': ofAVersion({ query: { guid: 'sub' } }),
};
