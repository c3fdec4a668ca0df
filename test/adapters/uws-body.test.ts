import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { OverflowFile } from '../../src/adapters/overflow-file.ts';
import { UwsBody } from '../../src/adapters/uws-body.ts';
import { bytesOf, MIB } from '../support/blob-bodies.ts';

const WHOLE = bytesOf(24 * MIB + 12_345);
const CHUNK_BYTES = 512 * 1024;

/** A socket that notes what is asked of it. */
function aBody() {
  const asked: string[] = [];
  const tap = {
    pause: () => void asked.push('pause'),
    resume: () => void asked.push('resume'),
    close: () => void asked.push('close'),
  };
  const body = new UwsBody(tap);
  /** As uWS does: all at once, in memory that it takes back. */
  const push = (from: number, to: number, { isLast = false, chunkBytes = CHUNK_BYTES } = {}): void => {
    for (let at = from; at < to; at += chunkBytes) {
      const end = Math.min(to, at + chunkBytes);
      const chunk = WHOLE.slice(at, end);
      body.push(chunk.buffer as ArrayBuffer, isLast && end === to);
      chunk.fill(0xee);
    }
  };
  return { body, asked, push };
}
/** Pushes so many bytes more. */
function pushOn(one: Pick<ReturnType<typeof aBody>, 'push'> & { at: number }, bytes: number): void {
  const from = one.at;
  one.at = Math.min(WHOLE.length, from + bytes);
  one.push(from, one.at, { isLast: one.at === WHOLE.length });
}
const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
async function read(
  body: UwsBody,
  after: () => Promise<void> | void = () => undefined,
): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const piece of body.read()) {
    hash.update(piece);
    size += piece.byteLength;
    await after();
  }
  return { size, sha256: hash.digest('hex') };
}
const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const openFiles = (): number => readdirSync('/proc/self/fd').length;
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await later();
};

describe('the body of a uWS request', () => {
  test.each([
    ['all at once', 512 * 1024],
    ['in odd chunks', 77_777],
    ['in small ones', 1_000],
  ])('[TR8] comes whole and in order, though it came %s before anybody read', async (_, chunkBytes) => {
    const { body, push } = aBody();
    push(0, WHOLE.length, { isLast: true, chunkBytes });
    expect(await read(body)).toEqual({ size: WHOLE.length, sha256: digest(WHOLE) });
  });

  test('[TR8] or bursts come while it is read, also from what had overflowed', async () => {
    const { body, push } = aBody();
    let at = 5 * MIB;
    push(0, at);
    const outcome = read(body, async () => {
      if (at < WHOLE.length) {
        const to = Math.min(WHOLE.length, at + 300_000);
        push(at, to, { isLast: to === WHOLE.length });
        at = to;
      }
      await later();
    });
    expect(await outcome).toEqual({ size: WHOLE.length, sha256: digest(WHOLE) });
  });

  test('[TR8] bodies under way at once do not meet, though they share memory', async () => {
    const bodies = Array.from({ length: 8 }, (_, n) => ({ ...aBody(), from: n * 1_234_567, at: n * 1_234_567 }));
    const outcomes = bodies.map((one) =>
      read(one.body, async () => {
        if (one.at < WHOLE.length) pushOn(one, 800_000);
        await later();
      }),
    );
    for (const one of bodies) pushOn(one, 1_000_000);
    for (const [n, outcome] of outcomes.entries()) expect((await outcome).sha256).toBe(digest(WHOLE.subarray(bodies[n]!.from)));
  });

  test('[TR8] is not held in memory, however fast it came', () => {
    const { body, push } = aBody();
    push(0, 4 * MIB);
    const before = process.memoryUsage().arrayBuffers;
    for (let time = 0; time < 10; time++) push(0, WHOLE.length);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * MIB); // the test's own chunks, of which 240 MiB passed
    body.discard();
  });

  test('[TR8] pauses the socket while it waits, once more after the last chunk of the read, and goes on when it has been read', async () => {
    const { body, asked, push } = aBody();
    push(0, 3 * MIB);
    expect(asked).toEqual(['pause']);
    await later();
    expect(asked).toEqual(['pause', 'pause']);
    const reader = body.read();
    let size = 0;
    while (size < 3 * MIB) {
      expect(asked).toEqual(['pause', 'pause']);
      size += (await reader.next()).value!.byteLength;
    }
    expect(asked).toEqual(['pause', 'pause', 'resume']);
    push(3 * MIB, 3 * MIB + 10, { isLast: true });
    expect((await reader.next()).value).toEqual(WHOLE.slice(3 * MIB, 3 * MIB + 10));
    expect((await reader.next()).done).toBe(true);
  });

  test.each(['fail', 'discard'] as const)(
    '[TR7] leaves no file open after %s, before, in the middle of and after reading',
    async (end) => {
      await settled();
      const before = openFiles();
      for (const pieces of [0, 1, 20]) {
        const { body, push } = aBody();
        push(0, 8 * MIB);
        const reader = body.read();
        for (let piece = 0; piece < pieces; piece++) await reader.next();
        const pending = reader.next().catch(() => null);
        body[end](new Error('gone'));
        await pending;
        await reader.return(undefined);
      }
      await expect.poll(openFiles, { timeout: 5_000 }).toBeLessThanOrEqual(before); // closing is the system's own time
    },
  );

  test.each([
    [1, CHUNK_BYTES],
    [64 * 1024 - 1, CHUNK_BYTES],
    [64 * 1024, CHUNK_BYTES],
    [300_000, 1_000],
    [9 * MIB, CHUNK_BYTES],
  ])('[TR44] asked for whole, %i bytes come as they were sent, before or after they are asked for', async (size, chunkBytes) => {
    for (const isAskedFirst of [true, false]) {
      const { body, push } = aBody();
      const early = isAskedFirst ? body.readWhole(size) : null;
      push(0, size, { isLast: true, chunkBytes });
      expect(digest(await (early ?? body.readWhole(size)))).toBe(digest(WHOLE.subarray(0, size)));
    }
  });

  test.each([1, 3])('[TR44] what was read whole is no memory of the next body, in %i pieces', async (pieces) => {
    const size = pieces * 100 * 1024;
    const [first, second] = [aBody(), aBody()];
    first.push(0, size, { isLast: true, chunkBytes: 100 * 1024 });
    const whole = await first.body.readWhole(size);
    second.push(size, 2 * size, { isLast: true, chunkBytes: 100 * 1024 });
    await expect(second.body.readWhole(size - 1)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(digest(whole)).toBe(digest(WHOLE.subarray(0, size)));
  });

  test('[TR44] one whose end comes by itself, or that is empty, is as good', async () => {
    const { body, push } = aBody();
    const whole = body.readWhole(10);
    push(0, 10);
    body.push(new ArrayBuffer(0), true);
    expect(await whole).toEqual(WHOLE.slice(0, 10));
    const none = aBody().body;
    none.push(new ArrayBuffer(0), true);
    expect(await none.readWhole(10)).toHaveLength(0);
    const unsent = aBody().body;
    unsent.complete();
    expect(await unsent.readWhole(10)).toHaveLength(0);
  });

  test('[TR44] one that is too long is refused, one that breaks off fails, also when it had failed before', async () => {
    for (const size of [11, 100_000]) {
      const { body, push } = aBody();
      push(0, size, { isLast: true });
      await expect(body.readWhole(10)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    }
    const { body, push } = aBody();
    const whole = body.readWhole(100);
    push(0, 10);
    body.fail(new Error('gone'));
    await expect(whole).rejects.toThrow('gone');
    await expect(body.readWhole(100)).rejects.toThrow('gone');
  });

  test('[TR51] that finds no place on disk says so, with folder and reason, and lets go of what it has', async () => {
    vi.stubEnv('TMPDIR', '/nowhere');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { body, push } = aBody();
    push(0, 3 * MIB);
    const facts = { folder: '/nowhere', reason: 'ENOENT' };
    await expect(body.read().next()).rejects.toMatchObject({ code: 'BODY_FOUND_NO_PLACE', status: 503, retry: true, facts });
    push(3 * MIB, 4 * MIB, { isLast: true });
    await expect(body.readWhole(4 * MIB)).rejects.toMatchObject({ code: 'BODY_FOUND_NO_PLACE' });
    body.discard();
  });

  test('[TR51] all bodies together have so much place and no more, which is free again once one has ended', () => {
    const [first, second] = [new OverflowFile({ allBytesMax: 100 }), new OverflowFile({ allBytesMax: 100 })];
    first.write(new Uint8Array(60));
    second.write(new Uint8Array(40));
    expect(() => second.write(new Uint8Array(1))).toThrow(expect.objectContaining({ code: 'BODY_FOUND_NO_PLACE' }));
    first.close();
    first.close();
    second.write(new Uint8Array(60));
    expect(() => second.write(new Uint8Array(1))).toThrow('no place left');
    second.close();
  });

  test('[TR8] of a client that is too far ahead is cut off', () => {
    const { body, asked } = aBody();
    const chunk = new ArrayBuffer(CHUNK_BYTES);
    Object.defineProperty(chunk, 'byteLength', { value: 3 * 1024 * MIB });
    body.push(chunk, false);
    expect(asked).toContain('close');
    body.fail(new Error('closed'));
  });
});
