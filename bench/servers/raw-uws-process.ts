/**
 * The relay itself: hands every frame of a room to all others in it, as it came. It knows of both protocols only what makes a client
 * believe that it has entered, and answers REST with texts made at the start. With a directory for data, writes are in Postgres before that.
 */
import { App, type HttpResponse, type WebSocket } from 'uWebSockets.js';
import { REST } from '../config.ts';
import { documentOf } from '../load/documents.ts';
import { Commits } from './raw-uws-commits.ts';
import { KeptDocuments } from './raw-uws-documents.ts';
import { HOST } from './server.ts';

interface Seat {
  readonly door: string;
  readonly room: string;
}

const { DATA_DIR, DOCUMENTS, PORT } = process.env;
const kept = DOCUMENTS === 'kept' ? new KeptDocuments() : null;
const commits = DATA_DIR === undefined ? null : await Commits.open(DATA_DIR);
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
/** uWS throws at what is said to a socket that is gone. */
const open = new Set<WebSocket<Seat>>();

/** `[{"type":201,…`: the code is at a fixed place in what the load sends. */
const codeOf = (frame: Buffer): string => frame.toString('latin1', 9, 12);

function relayYjs(ws: WebSocket<Seat>, frame: Buffer): void {
  const [type, step] = frame;
  const { room } = ws.getUserData();
  if (type === 0 && step === 2) kept?.add(room, frame);
  if (type === 0 && step === 0) ws.send(kept?.stepTwoOf(room) ?? EMPTY_STEP_2, true);
  else if (type !== 0 || step === 2) ws.publish(room, frame, true);
  if (type === 0 && step === 2) commits?.writeLater(Buffer.from(frame)); // the frame is a view
}

function relaySdk(ws: WebSocket<Seat>, frame: Buffer): void {
  const code = codeOf(frame);
  if (code === '200') ws.send(EMPTY_STORAGE);
  else if (code === '201' && commits !== null) {
    const op = Buffer.from(frame);
    commits.write(op, () => relayOp(ws, op));
  } else if (code === '201') relayOp(ws, frame);
  else ws.publish(ws.getUserData().room, frame);
}

/** To the others, and to its sender as the acknowledgement. */
function relayOp(ws: WebSocket<Seat>, op: Buffer): void {
  if (!open.has(ws)) return;
  ws.cork(() => {
    ws.publish(ws.getUserData().room, op);
    ws.send(op);
  });
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
      open.add(ws);
      people += 1;
      if (door === 'sdk')
        ws.send(JSON.stringify({ type: 104, actor: people, nonce: 'n', scopes: ['*:write'], users: {}, meta: {} }));
    },
    message(ws, message) {
      const frame = Buffer.from(message); // a view, read and sent on before uWS takes it back
      if (ws.getUserData().door === 'yjs') relayYjs(ws, frame);
      else relaySdk(ws, frame);
    },
    close(ws) {
      open.delete(ws);
    },
  })
  .get('/v2/rooms/:room/storage', (res) => answer(res, DOCUMENT))
  .get('/*', (res) => answer(res, ROOM))
  .any('/*', (res) => {
    let isGone = false;
    res.onAborted(() => {
      isGone = true;
    });
    const finish = (): void => {
      if (!isGone) res.cork(() => answer(res, ROOM));
    };
    res.onData((body, isLast) => {
      if (isLast && commits !== null) commits.write(Buffer.from(body.slice(0)), finish);
      else if (isLast) finish();
    });
  })
  .listen(HOST, Number(PORT), (listening) => {
    if (listening === false) throw new Error('the port is taken');
  });

process.once('SIGTERM', () => void (commits?.close() ?? Promise.resolve()).finally(() => process.exit(0)));
process.once('disconnect', () => process.exit(0)); // the runner is gone
