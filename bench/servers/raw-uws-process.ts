/**
 * The relay itself: hands every frame of a room to all others in it, as it came. It knows of both protocols only what makes a client
 * believe that it has entered, and answers REST with texts made at the start.
 */
import { App, type HttpResponse, type WebSocket } from 'uWebSockets.js';
import { REST } from '../config.ts';
import { documentOf } from '../load/documents.ts';
import { KeptDocuments } from './raw-uws-documents.ts';
import { HOST } from './server.ts';

interface Seat {
  readonly door: string;
  readonly room: string;
}

const kept = process.env.DOCUMENTS === 'kept' ? new KeptDocuments() : null;
const EMPTY_STEP_2 = Buffer.from([0, 1, 2, 0, 0]);
const EMPTY_STORAGE = '[{"type":210,"nodes":[["root",{}]]},{"type":211}]';
const ROOM = JSON.stringify({
  type: 'room',
  id: 'bench',
  createdAt: '2026-01-01T00:00:00.000Z',
  lastConnectionAt: '2026-01-01T00:00:00.000Z',
  metadata: { color: 'blue' },
  defaultAccesses: ['*:write'],
  groupsAccesses: {},
  usersAccesses: {},
});
const DOCUMENT = JSON.stringify(documentOf(REST.documentNodes));

let people = 0;

/** `[{"type":201,…`: the code is at a fixed place in what the load sends. */
const codeOf = (frame: Buffer): string => frame.toString('latin1', 9, 12);

function relayYjs(ws: WebSocket<Seat>, frame: Buffer): void {
  const [type, step] = frame;
  const { room } = ws.getUserData();
  if (type === 0 && step === 2) kept?.add(room, frame);
  if (type === 0 && step === 0) ws.send(kept?.stepTwoOf(room) ?? EMPTY_STEP_2, true);
  else if (type !== 0 || step === 2) ws.publish(room, frame, true);
}

function relaySdk(ws: WebSocket<Seat>, frame: Buffer): void {
  const code = codeOf(frame);
  if (code === '200') ws.send(EMPTY_STORAGE);
  else ws.publish(ws.getUserData().room, frame);
  if (code === '201') ws.send(frame); // the acknowledgement
}

function answer(res: HttpResponse, text: string): void {
  res.writeHeader('content-type', 'application/json').end(text);
}

App()
  .ws<Seat>('/:door/:room', {
    idleTimeout: 0,
    maxPayloadLength: 16 * 1024 * 1024,
    maxBackpressure: 64 * 1024 * 1024,
    closeOnBackpressureLimit: true,
    upgrade(res, req, context) {
      const seat: Seat = { door: req.getParameter(0)!, room: req.getParameter(1)! };
      res.upgrade(seat, req.getHeader('sec-websocket-key'), req.getHeader('sec-websocket-protocol'), '', context);
    },
    open(ws) {
      const { door, room } = ws.getUserData();
      ws.subscribe(room);
      people += 1;
      if (door === 'sdk')
        ws.send(JSON.stringify({ type: 104, actor: people, nonce: 'n', scopes: ['*:write'], users: {}, meta: {} }));
    },
    message(ws, message) {
      const frame = Buffer.from(message); // a view, read and sent on before uWS takes it back
      if (ws.getUserData().door === 'yjs') relayYjs(ws, frame);
      else relaySdk(ws, frame);
    },
  })
  .get('/v2/rooms/:room/storage', (res) => answer(res, DOCUMENT))
  .get('/*', (res) => answer(res, ROOM))
  .any('/*', (res) => {
    let isGone = false;
    res.onAborted(() => {
      isGone = true;
    });
    res.onData((_, isLast) => {
      if (isLast && !isGone) res.cork(() => answer(res, ROOM));
    });
  })
  .listen(HOST, Number(process.env.PORT), (listening) => {
    if (listening === false) throw new Error('the port is taken');
  });

process.once('SIGTERM', () => process.exit(0));
process.once('disconnect', () => process.exit(0)); // the runner is gone
