/** Messages of one turn → the frames in which clients of each kind hear them. Pure, but for the encodings that messages keep. */
import { withOneMore } from '../base/small.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import {
  encodeForSdk,
  encodeForYjs,
  type FeedAnswerMessage,
  type FeedNewsMessage,
  isCursor,
  isLong,
  longFrame,
  type ServerMessage,
  standsAlone,
} from '../protocol/server-messages.ts';
import { awarenessFrame, encodeAwareness, joinAwareness } from '../protocol/yjs-frames.ts';
import type { Audience } from './shapes.ts';

/** A message on its way to somebody. */
export interface Telling {
  readonly to: Audience;
  readonly message: ServerMessage;
  /** Its encodings, once somebody hears it: groups differ by a message or two, and share the others. */
  text: string | null;
  bytes: Uint8Array | null;
}

/** As few as can be. Storage and long documents have one of their own, in bytes. What is told after Storage may have to wait until it has been read (`held-answers.ts`). */
export function sdkFrames(told: readonly Telling[]): OutFrame[] {
  const frames: OutFrame[] = [];
  let batch: Telling[] = [];
  const leave = (): void => {
    if (batch.length > 0) frames.push(batchFrame(batch));
    batch = [];
  };
  const alone = (make: () => OutFrame): void => {
    leave();
    frames.push(make());
  };
  for (const one of told) {
    const { message } = one;
    if (message.type === 'storage.state') {
      alone(() => frameOf({ utf8: message.frame }, { restarts: true }));
      continue;
    }
    if (isLong(message)) {
      alone(() => frameOf({ utf8: [longFrame(message)] }));
      continue;
    }
    one.text ??= encodeForSdk(message);
    const { text } = one;
    if (text === null) continue;
    if (!standsAlone(message)) batch.push(one);
    else alone(() => (message.type === 'storage.rejected' ? refusal(text, message.opIds, frames) : frameOf(text)));
  }
  leave();
  return frames;
}

/** What one SDK client alone is told, by others than its room. */
export function framesOfOne(message: FeedAnswerMessage | FeedNewsMessage): OutFrame[] {
  return [frameOf(`[${encodeForSdk(message)}]`)];
}

type Marks = Partial<Omit<OutFrame, 'data'>>;

/** All that are made here have all keys in one order: two objects spread into a third make it a hidden class of its own, and whoever reads it then searches for each key. */
function frameOf(data: OutFrame['data'], { droppable = false, answers, refuses, restarts }: Marks = {}): OutFrame {
  return { data, droppable, answers, refuses, restarts };
}

/** Who is told to take ops back has had them answered before, and then hears why. */
function refusal(data: string, opIds: readonly string[], before: readonly OutFrame[]): OutFrame {
  const answered = new Set(before.flatMap(({ answers = [] }) => answers));
  return frameOf(data, { refuses: opIds.filter((opId) => !answered.has(opId)) });
}

function batchFrame(batch: readonly Telling[]): OutFrame {
  return frameOf(`[${batch.map(({ text }) => text).join(',')}]`, {
    droppable: batch.every(({ message }) => isCursor(message)),
    answers: answersIn(batch),
  });
}

/** Ops come back to their sender with their ids, and so do refusals: the worker that has the socket keeps what is still to come. */
function answersIn(batch: readonly Telling[]): readonly string[] | undefined {
  let answers: string[] | null = null;
  for (const { to, message } of batch)
    if ('only' in to && message.type === 'storage.ops')
      for (const { opId } of message.ops) if (opId !== undefined) answers = withOneMore(answers, opId);
  return answers ?? undefined;
}

/** y-websocket reads one message a frame; states of several people are one message. */
export function yjsFrames(told: readonly Telling[]): OutFrame[] {
  let frames: OutFrame[] | null = null;
  let states: TellingOfStates[] | null = null;
  let droppable = true;
  for (const one of told) {
    if (isOfStates(one)) {
      states = withOneMore(states, one);
      droppable &&= isCursor(one.message);
      continue;
    }
    one.bytes ??= encodeForYjs(one.message);
    if (one.bytes !== null) frames = withOneMore(frames, frameOf(one.bytes));
  }
  if (states !== null) {
    const updates = stillNews(states).map(updateOf);
    frames = withOneMore(frames, frameOf(awarenessFrame(joinAwareness(updates)), { droppable }));
  }
  return frames ?? [];
}

type OfStates = Extract<ServerMessage, { type: 'awareness' }>;
type TellingOfStates = Telling & { readonly message: OfStates };

function isOfStates(one: Telling): one is TellingOfStates {
  return one.message.type === 'awareness';
}

/** Without messages of which later ones tell all clients at the same clocks or newer ones: who hears both is left with the later one. */
function stillNews(told: readonly TellingOfStates[]): readonly TellingOfStates[] {
  if (told.length === 1) return told;
  const clocks = new Map<number, number>();
  const news: TellingOfStates[] = [];
  for (let at = told.length - 1; at >= 0; at -= 1) {
    const one = told[at]!;
    const { states } = one.message;
    if (states.every(({ clientId, clock }) => clock <= (clocks.get(clientId) ?? -1))) continue;
    for (const { clientId, clock } of states) clocks.set(clientId, Math.max(clock, clocks.get(clientId) ?? -1));
    news.push(one);
  }
  return news.reverse();
}

function updateOf(one: TellingOfStates): Uint8Array {
  one.bytes ??= one.message.update ?? encodeAwareness(one.message.states);
  return one.bytes;
}
