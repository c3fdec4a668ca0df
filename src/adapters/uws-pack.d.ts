/** What uws-pack 20.0.8 exports but does not declare. */
import type { RecognizedString, us_listen_socket } from 'uWebSockets.js';

declare module 'uWebSockets.js' {
  /** Refuses a port that another process listens on; without it the system shares the port (SO_REUSEPORT). */
  export const LIBUS_LISTEN_EXCLUSIVE_PORT: number;

  interface TemplatedApp {
    listen(
      host: RecognizedString,
      port: number,
      options: number,
      done: (listenSocket: us_listen_socket | false) => void,
    ): TemplatedApp;
  }

  /** Parts of one message, with nothing else of it between them. Each returns what `send` returns. */
  interface WebSocket<UserData> {
    sendFirstFragment(message: RecognizedString, isBinary?: boolean): number;
    sendFragment(message: RecognizedString): number;
    sendLastFragment(message: RecognizedString): number;
  }
}
