/** What a newcomer reads when the server is ready: the address, the keys, and three things to paste. */
import type { ServerKeys } from './keys.ts';

export interface Welcome extends ServerKeys {
  readonly url: string;
}

/** What is there to look at. */
interface Sights {
  readonly hasDemo: boolean;
  readonly hasConsole: boolean;
}

/** Keys of one's own are not printed: logs are kept longer than secrets should be. */
export function welcome({ url, secretKey, publicKey, made }: Welcome, sights: Sights): string {
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
