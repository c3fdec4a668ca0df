/** The import: rooms as the source lists them, some at a time, each noted when it is done; a line that says how far it is. */
import { openNotes } from '../../adapters/import-files.ts';
import { systemClock } from '../../base/clock.ts';
import type { ImportPlan } from './plan.ts';
import { restClient } from './rest-client.ts';
import { importRoom } from './room-import.ts';
import { openSource, type RoomFacts } from './source.ts';

/** Failures and notes that are kept to be shown; the counts go on. */
const SHOWN_MAX = 50;
const SHOW_EVERY_MS = 1_000;
const MIB = 1024 * 1024;

class Progress {
  done = 0;
  skipped = 0;
  failed = 0;
  bytes = 0;
  readonly lines: string[] = [];
  readonly #startedMs = systemClock.monotonicMs();

  fail(what: string, why: string): void {
    this.failed += 1;
    this.say(`  ✗ ${what}: ${why}`);
  }

  say(line: string): void {
    if (this.lines.length < SHOWN_MAX) this.lines.push(line);
  }

  get text(): string {
    const seconds = (systemClock.monotonicMs() - this.#startedMs) / 1_000;
    const rate = (this.done / Math.max(seconds, 0.001)).toFixed(1);
    const before = this.skipped === 0 ? '' : `, ${this.skipped} done before`;
    return `${this.done} rooms${before}, ${this.failed} failed, ${(this.bytes / MIB).toFixed(1)} MiB, ${rate} rooms/s`;
  }
}

/** Whether all rooms are at the target now. @throws an Error when the source cannot be listed; what was done by then is said and noted all the same */
export async function runImport(plan: ImportPlan): Promise<'all' | 'some'> {
  const notes = await openNotes(plan.notesPath, { to: plan.to.url });
  const progress = new Progress();
  const source = openSource(plan.from, {
    defaultAccesses: plan.defaultAccesses,
    onWait: sayWait,
    onRefused: (fileName, why) => progress.fail(fileName, why),
  });
  const target = restClient({ ...plan.to, onWait: sayWait });
  const stopShowing = systemClock.every(SHOW_EVERY_MS, () => show(progress));
  const bring = async (room: RoomFacts): Promise<void> => {
    try {
      const { bytes, notes: remarks } = await importRoom(room, { source, target, plan });
      for (const remark of remarks) progress.say(`  ! ${room.id}: ${remark}`);
      await notes.add(room.id);
      progress.done += 1;
      progress.bytes += bytes;
    } catch (error) {
      progress.fail(room.id, error instanceof Error ? error.message : String(error));
    }
  };
  try {
    await eachOf(unlessDone(source.rooms(), { isDone: (id) => notes.has(id), progress }), { atOnce: plan.atOnce, work: bring });
  } finally {
    stopShowing();
    await notes.close();
    process.stdout.write(`${process.stdout.isTTY ? '\r\x1b[K' : ''}${[progress.text, ...progress.lines].join('\n')}\n`);
  }
  return progress.failed === 0 ? 'all' : 'some';
}

/** Beside the line that shows how far it is. */
function sayWait(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

function show(progress: Progress): void {
  process.stdout.write(process.stdout.isTTY ? `\r\x1b[K${progress.text}` : `${progress.text}\n`);
}

async function* unlessDone(
  rooms: AsyncIterable<RoomFacts>,
  { isDone, progress }: { isDone: (id: string) => boolean; progress: Progress },
): AsyncIterable<RoomFacts> {
  for await (const room of rooms) {
    if (isDone(room.id)) progress.skipped += 1;
    else yield room;
  }
}

/** Takes the next one only when there is a place for it: the list may be longer than memory. Where the list fails, what is under way is done first. */
async function eachOf<Item>(
  items: AsyncIterable<Item>,
  { atOnce, work }: { atOnce: number; work: (item: Item) => Promise<void> },
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  try {
    for await (const item of items) {
      const one: Promise<void> = work(item).finally(() => underWay.delete(one));
      underWay.add(one);
      if (underWay.size >= atOnce) await Promise.race(underWay);
    }
  } finally {
    await Promise.all(underWay);
  }
}
