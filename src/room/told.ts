/**
 * What a client has told its room that a new owner of the room has to hear again: who it is to the others, and what it follows.
 *
 * Changes of documents are not in it: a client brings back by itself what the room, asked for its state, turns out to lack.
 */
import { AppError } from '../base/errors.ts';
import type { SessionId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import { putNewest } from '../base/newest.ts';
import { SmallMap } from '../base/small.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import type { YdocEncoding } from '../protocol/client-messages.ts';
import { ALL_OTHERS } from '../protocol/server-messages.ts';
import { awarenessClocks, awarenessClocksIn, soleAwareness } from '../protocol/yjs-frames.ts';
import { lackedBy } from './kept-presence.ts';
import type { Command } from './shapes.ts';

/** No room takes a longer presence, whatever its settings (`PRESENCE_BYTES_MAX`). */
const PRESENCE_CHARACTERS_MAX = 1024 * 1024;
/** As many as a room may have. */
const YDOCS_MAX = 1_000;
/** Some thousand people who ever wrote. */
const VECTOR_BYTES_MAX = 16 * 1024;
/** States of others that are known from those of the client itself; as many as may be there. */
const HEARD_MAX = 10_000;
/** Asked with by all clients that have nothing yet. */
const NOTHING = Uint8Array.of(0);

export class Told {
  #presence: JsonObject | null = null;
  /** Whether nobody else holds that object. */
  #ownsPresence = false;
  /** It has so many characters as JSON, and was given so many more since it was measured, by what was kept. */
  #presenceCharacters = 0;
  #followsStorage = false;
  /** By guid, the state vector that the client asked with: it has had all that came since. */
  readonly #ydocs = new SmallMap<string, Uint8Array>();
  /** In which it takes their hashes, as far as it has said. */
  #ydocEncoding: { readonly encoding?: YdocEncoding } = {};
  #awareness: { readonly clientId: number; readonly update: Uint8Array } | null = null;
  /** Of whom its client was told over y-websocket, and at which clock, before it said who it is itself. Null while that was nobody. */
  #heard: SmallMap<number, number> | null = null;

  /** Its client is sent this. */
  heard(frames: readonly OutFrame[]): void {
    if (this.#awareness !== null) return;
    for (const { data } of frames) if (data instanceof Uint8Array) this.#noteHeard(data);
  }

  #noteHeard(frame: Uint8Array): void {
    for (const { clientId, clock } of awarenessClocksIn(frame)) {
      this.#heard ??= new SmallMap();
      putNewest(this.#heard, clientId, clock, HEARD_MAX);
    }
  }

  /**
   * Whether its client only says again what it has heard of others, as y-websocket does, and has not said who it is itself. Of one who has left meanwhile
   * the room would take it for the client's own.
   */
  isEcho(command: Command): boolean {
    const heard = this.#heard;
    if (command.type !== 'awareness.change' || heard === null) return false;
    const clocks = awarenessClocks(command.update);
    return clocks.length > 0 && clocks.every(({ clientId, clock }) => clock <= (heard.get(clientId) ?? -1));
  }

  /** The same as `note`, of what no room hears now, and none can refuse. False when the presence is longer than any room takes. */
  keep(command: Command): boolean {
    this.note(command);
    if (command.type !== 'presence.patch') return true;
    this.#presenceCharacters += JSON.stringify(command.data).length;
    if (this.#presenceCharacters > PRESENCE_CHARACTERS_MAX) this.#presenceCharacters = JSON.stringify(this.#presence).length;
    return this.#presenceCharacters <= PRESENCE_CHARACTERS_MAX;
  }

  note(command: Command): void {
    switch (command.type) {
      case 'presence.patch':
        this.#notePresence(command);
        break;
      case 'storage.fetch':
        this.#followsStorage = true;
        break;
      case 'ydoc.fetch':
        this.#noteYdoc(command);
        break;
      case 'awareness.change':
        this.#noteAwareness(command.update);
        break;
      default:
    }
  }

  /** The commands that make a session which has just joined what the former one was; the answers bring its client up to date. */
  again(from: SessionId): Command[] {
    const commands: Command[] = [];
    this.#ownsPresence = false; // the room holds it, too
    if (this.#presence !== null) commands.push({ type: 'presence.patch', from, data: this.#presence, targetActor: ALL_OTHERS });
    if (this.#awareness !== null) commands.push({ type: 'awareness.change', from, update: this.#awareness.update });
    if (this.#followsStorage) commands.push({ type: 'storage.fetch', from });
    for (const [guid, vector] of this.#ydocs) commands.push({ type: 'ydoc.fetch', from, guid, vector, ...this.#ydocEncoding });
    return commands;
  }

  /** Also of who may not read it, and is told nothing: hence its own bounds. Of a vector that is longer the client gets the whole document once more. */
  #noteYdoc({ guid, vector, encoding }: Extract<Command, { type: 'ydoc.fetch' }>): void {
    if (encoding !== undefined) this.#ydocEncoding = { encoding };
    if (!this.#ydocs.has(guid) && this.#ydocs.size >= YDOCS_MAX) return;
    this.#ydocs.set(guid, isNothing(vector) || vector.length > VECTOR_BYTES_MAX ? NOTHING : copied(vector));
  }

  /** A copy for one newcomer may be older than what was said before it (`presenceFor` in `presence.ts`). */
  #notePresence({ data, targetActor }: Extract<Command, { type: 'presence.patch' }>): void {
    if (targetActor === ALL_OTHERS) {
      this.#presence = data;
      this.#ownsPresence = false;
      return;
    }
    if (!this.#ownsPresence) this.#presence = { ...this.#presence };
    this.#ownsPresence = true;
    Object.assign(this.#presence!, targetActor === null ? data : lackedBy(this.#presence!, data));
  }

  /** y-websocket clients also repeat the states of others: the first that comes alone and is no news of another is the client's own, and stays it. */
  #noteAwareness(update: Uint8Array): void {
    const sole = soleAwareness(update);
    if (sole === null) return;
    const { clientId, clock } = sole;
    const isItself =
      this.#awareness === null ? clock > (this.#heard?.get(clientId) ?? -1) : this.#awareness.clientId === clientId;
    if (!isItself) return;
    this.#heard = null;
    this.#awareness = { clientId, update: copied(update) };
  }
}

/** What a room would say of a presence that is not kept. */
export function presenceTooLarge(): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', { what: 'The presence', bytesMax: PRESENCE_CHARACTERS_MAX });
}

/** By itself: it came in memory that short frames share, all of which it would keep alive for as long as its client says nothing else. */
function copied(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

/** A state vector of no clients. */
function isNothing(vector: Uint8Array): boolean {
  return vector.length === 1 && vector[0] === 0;
}
