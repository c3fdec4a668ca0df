/**
 * A back end: one call after the other. With keys it sends each until it is answered, gives up waiting now and then while the server still works at
 * it, and repeats calls that were answered long ago. Without keys it sends each once, and believes what the answer says of the outcome.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import * as Y from 'yjs';
import type { Dice } from '../fuzz/dice.ts';
import { type Answer, type Ask, ask, roomPath } from '../support/e2e/rest.ts';
import { mark, type Target } from '../support/writing/place.ts';
import type { History } from './history.ts';

export type Keys = 'with keys' | 'without keys';

export interface RestWriterDeps {
  readonly server: Target;
  readonly history: History;
  readonly dice: Dice;
  readonly client: string;
  readonly room: string;
  /** Rooms that it creates begin with this. */
  readonly roomPrefix: string;
  readonly keys: Keys;
}

interface Call {
  readonly id: string;
  readonly path: string;
  readonly request: Ask;
}

interface Done {
  readonly call: Call;
  readonly answer: string;
}

const PAUSE_MS_MAX = 100;
const AGAIN_MS_MAX = 300;
/** How long one attempt waits; a short one often ends while the server still works at it. */
const PATIENCE_MS = { short: 400, long: 10_000 } as const;
const IMPATIENT = 0.15;
const REPEAT = 0.15;
const REMEMBERED_MAX = 200;

export class RestWriter {
  readonly #deps: RestWriterDeps;
  readonly #done: Done[] = [];
  /** What is being sent, for who waits for it in vain. */
  #current: string | null = null;

  constructor(deps: RestWriterDeps) {
    this.#deps = deps;
  }

  get current(): string | null {
    return this.#current;
  }

  /** Resolves once it `isOver` and the last call is answered. */
  async run(isOver: () => boolean, isHopeless: () => boolean): Promise<void> {
    const { dice, keys } = this.#deps;
    while (!isOver()) {
      const call = this.#nextCall();
      this.#current = call.id;
      if (keys === 'with keys') await this.#untilAnswered(call, isHopeless);
      else await this.#once(call);
      this.#current = null;
      if (keys === 'with keys' && this.#done.length > 0 && dice.chance(REPEAT)) await this.#repeat(dice.pick(this.#done), isOver);
      await sleep(dice.fraction() * PAUSE_MS_MAX);
    }
  }

  #nextCall(): Call {
    const { dice, keys, history, client, room, roomPrefix } = this.#deps;
    const isKeyed = keys === 'with keys';
    const what = dice.weighted({ Push: 5, Set: 2, Insert: isKeyed ? 2 : 0, Ydoc: isKeyed ? 2 : 0, Room: 1 });
    const id = history.nextId(`${isKeyed ? 'keyed' : 'plain'}${what}`, client);
    history.begin(id, { client, room });
    const patch = (path: string, value: unknown): Call => ({
      ...{ id, path: roomPath(room, '/storage/json-patch') },
      request: { method: 'PATCH', json: [{ op: 'add', path, value }] },
    });
    switch (what) {
      case 'Push':
        return patch('/list/-', id);
      case 'Insert':
        return patch('/list/0', id);
      case 'Set':
        return patch(`/map/${id}`, 1);
      case 'Ydoc':
        return {
          ...{ id, path: roomPath(room, '/ydoc') },
          request: { method: 'PUT', body: typed(mark(id)), contentType: 'application/octet-stream' },
        };
      case 'Room':
        return { id, path: '/v2/rooms', request: { json: { id: `${roomPrefix}${id}`, defaultAccesses: [] } } };
      default:
        return what satisfies never;
    }
  }

  async #untilAnswered(call: Call, isHopeless: () => boolean): Promise<void> {
    const { history, dice } = this.#deps;
    while (!isHopeless()) {
      const answer = await this.#send(call);
      if (answer?.status === 200) {
        history.end(call.id, 'ok');
        this.#done.push({ call, answer: answer.text });
        if (this.#done.length > REMEMBERED_MAX) this.#done.shift();
        return;
      }
      if (answer !== null && !answer.headers.has('retry-after')) {
        history.complain(`${call.id} was answered ${answer.status} ${answer.text}`);
        return;
      }
      await sleep(dice.fraction() * AGAIN_MS_MAX);
    }
  }

  async #once(call: Call): Promise<void> {
    const { history } = this.#deps;
    const answer = await this.#send(call);
    if (answer === null) return; // nobody knows
    if (answer.status === 200) history.end(call.id, 'ok');
    else if (!isInDoubt(answer)) {
      history.end(call.id, 'fail');
      if (!answer.headers.has('retry-after')) history.complain(`${call.id} was answered ${answer.status} ${answer.text}`);
    }
  }

  async #repeat({ call, answer }: Done, isOver: () => boolean): Promise<void> {
    const { history, dice } = this.#deps;
    while (!isOver()) {
      const again = await this.#send(call);
      const isAnswer = again !== null && (again.status === 200 || !again.headers.has('retry-after'));
      if (isAnswer) {
        history.replayed({ id: call.id, first: `200 ${answer}`, again: `${again.status} ${again.text}` });
        return;
      }
      await sleep(dice.fraction() * AGAIN_MS_MAX);
    }
  }

  /** Null when there was no answer. */
  #send({ id, path, request }: Call): Promise<Answer | null> {
    const { server, dice, keys } = this.#deps;
    const isKeyed = keys === 'with keys';
    const patienceMs = isKeyed && dice.chance(IMPATIENT) ? dice.fraction() * PATIENCE_MS.short : PATIENCE_MS.long;
    const signal = AbortSignal.timeout(Math.ceil(patienceMs));
    return ask(server, path, { ...request, signal, ...(isKeyed && { key: `key of ${id}` }) }).catch(() => null);
  }
}

function isInDoubt({ status, text }: Answer): boolean {
  if (status < 500) return false;
  try {
    return (JSON.parse(text) as { outcome?: unknown }).outcome === 'unknown';
  } catch {
    return true; // not ours: a server that ends in the middle
  }
}

/** An update that stands for itself. */
function typed(text: string): Uint8Array {
  const doc = new Y.Doc();
  doc.getText('text').insert(0, text);
  return Y.encodeStateAsUpdate(doc);
}
