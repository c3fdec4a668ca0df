/** What y-websocket says, in messages of the SDK's protocol. */
import { isStep, STEP_1, STEP_2, syncFrame, UPDATE, updateIn } from '../load/sync-frames.ts';
import type { Dialect, Server } from './server.ts';

/** The first from the client asks for the document, that of the server brings it or a change. */
const YDOC = 300;
const CHANGE_YDOC = 301;

export const sdkDialect: Dialect = { format: 'text', greeting: [], toWire, fromWire };

/** The same server to clients of the SDK, whatever its door for y-websocket is. */
export function bySdk(server: Server): Server {
  return { ...server, url: (at, _door, roomId) => server.url(at, 'sdk', roomId), dialect: () => sdkDialect };
}

function toWire(frame: Buffer): Buffer {
  const payload = Buffer.from(updateIn(frame)).toString('base64');
  const message = isStep(STEP_1, frame) ? { type: YDOC, vector: payload } : { type: CHANGE_YDOC, update: payload };
  return Buffer.from(JSON.stringify([message]));
}

/** All its changes, frame after frame, the document before what came later: marks are found in all of them, a document in the first. */
function fromWire(frame: Buffer): Buffer | null {
  const said = JSON.parse(frame.toString());
  const changes = (Array.isArray(said) ? said : [said]).filter(({ type }) => type === YDOC);
  if (changes.length === 0) return null;
  const [documents, updates] = [changes.filter(({ isSync }) => isSync), changes.filter(({ isSync }) => !isSync)];
  const framesOf = (step: number, of: readonly { update: string }[]): Buffer[] =>
    of.map(({ update }) => syncFrame(step, Buffer.from(update, 'base64')));
  return Buffer.concat([...framesOf(STEP_2, documents), ...framesOf(UPDATE, updates)]);
}
