/** What is said when the server is ready. A newcomer reads the address, the keys, and three things to paste; a log of lines that machines read has one more. */
import type { Log } from '../base/observe.ts';
import { hasDemo, type Settings } from '../config.ts';
import type { ServerKeys } from './keys.ts';

export interface Welcome extends ServerKeys {
  readonly url: string;
}

/** What is there to look at. */
interface Sights {
  readonly hasDemo: boolean;
  readonly hasConsole: boolean;
}

/** In production, and where several workers share an output, there is nobody to paste. */
export function welcome(what: Welcome, settings: Settings, { log }: { log: Log }): void {
  if (settings.NODE_ENV === 'production' || settings.WORKERS > 1)
    log.info({ url: what.url, workers: settings.WORKERS }, 'server ready');
  else process.stdout.write(welcomeText(what, { hasDemo: hasDemo(settings), hasConsole: settings.CONSOLE }));
}

/** Keys of one's own are not printed: logs are kept longer than secrets should be. */
export function welcomeText({ url, secretKeys: [secretKey], publicKey, made }: Welcome, sights: Sights): string {
  const secret = made.secretKey ? secretKey : '$SECRET_KEY';
  const open = made.publicKey ? publicKey : '$PUBLIC_KEY';
  const keys = [made.secretKey && `\n  secret key  ${secretKey}`, made.publicKey && `\n  public key  ${publicKey}`].filter(
    Boolean,
  );
  const demo = sights.hasDemo ? `\n  live demo   ${url}/    (open it in two tabs)` : '';
  const console = sights.hasConsole ? `\n  console     ${url}/console    (takes the secret key)` : '';
  return `
  Atrium is ready at ${url}
${demo}${console}
${keys.length > 0 ? `${keys.join('')}    (made for development, kept in DATA_DIR)\n` : ''}
  Create a room:
    curl -X POST ${url}/v2/rooms -H "Authorization: Bearer ${secret}" \\
      -H 'Content-Type: application/json' -d '{"id":"hello","defaultAccesses":["*:write"]}'

  Enter it with the SDK (@liveblocks/client):
    createClient({ baseUrl: '${url}', publicApiKey: '${open}' }).enterRoom('hello')

  Or with any Yjs editor (y-websocket):
    new WebsocketProvider('${url.replace(/^http/, 'ws')}/yjs', 'hello', doc, { params: { pubkey: '${open}' } })

`;
}
