/** The relay that keeps rooms, for clients of y-websocket: a socket of uWS around `raw-uws-rooms.ts`. */
import { App } from 'uWebSockets.js';
import { spareTheOnlyCore } from '../../src/adapters/one-core.ts';
import type { SessionId } from '../../src/base/ids.ts';
import { type KeptRoom, Rooms } from './raw-uws-rooms.ts';
import { HOST } from './server.ts';

interface Seat {
  readonly room: KeptRoom;
  session: SessionId | null;
}

spareTheOnlyCore(); // as ours does
const { DATA_DIR, PORT } = process.env;
const rooms = await Rooms.open(DATA_DIR!);

App()
  .ws<Seat>('/yjs/:room', {
    idleTimeout: 0,
    upgrade(res, req, context) {
      const [key, protocol] = [req.getHeader('sec-websocket-key'), req.getHeader('sec-websocket-protocol')];
      res.upgrade<Seat>({ room: rooms.of(req.getParameter(0)!), session: null }, key, protocol, '', context);
    },
    open(ws) {
      const seat = ws.getUserData();
      seat.session = seat.room.enter((frame) => ws.send(frame, true));
    },
    message(ws, message) {
      const { room, session } = ws.getUserData();
      room.hear(new Uint8Array(message.slice(0)), session!);
    },
    close(ws) {
      const { room, session } = ws.getUserData();
      if (session !== null) room.leave(session);
    },
  })
  .post('/:room', (res, req) => {
    res.onAborted(() => undefined);
    void rooms.make(req.getParameter(0)!).then(() => res.cork(() => res.end()));
  })
  .get('/*', (res) => {
    res.end('here');
  })
  .listen(HOST, Number(PORT), (listening) => {
    if (listening === false) throw new Error('the port is taken');
  });

process.once('SIGTERM', () => void rooms.close().finally(() => process.exit(0)));
process.once('disconnect', () => process.exit(0)); // the runner is gone
