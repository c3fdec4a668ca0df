/** Examples of what the console asks for. */
import { type Examples, inARoom } from './example.ts';

export const CONSOLE_EXAMPLES: Examples = {
  'GET /v2/console/workers': { make: async () => ({}) },
  'GET /v2/console/rooms/{roomId}/connections': inARoom({ query: { limit: '5', after: '-1' } }),
  'POST /v2/console/rooms/{roomId}/disconnect': inARoom({ json: { connectionId: 1 } }),
};
