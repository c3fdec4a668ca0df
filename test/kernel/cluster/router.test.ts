import { describe, expect, test } from 'vitest';
import { MemoryNetwork } from '../../../src/adapters/memory-bus.ts';
import { MemoryDirectory } from '../../../src/adapters/memory-directory.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { asIncarnation, asWorkerAddress, type WorkerAddress } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { ActorHost } from '../../../src/kernel/actor/actor-host.ts';
import { Router } from '../../../src/kernel/cluster/router.ts';
import { Workers } from '../../../src/kernel/cluster/workers.ts';

interface Say {
  readonly text: string;
  readonly isOnce?: boolean;
  readonly isRead?: boolean;
}

/** Who owns what, as the database knows it. */
type Owners = Map<string, WorkerAddress>;

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** Workers on one network; an actor answers with its worker's name and counts what it was told. */
function aCluster(...names: string[]) {
  const network = new MemoryNetwork({ clock: systemClock, log: silentLog });
  const directory = new MemoryDirectory({ clock: systemClock });
  const owners: Owners = new Map();
  const undelivered: string[] = [];
  const make = (name: string) => {
    const bus = network.join(asWorkerAddress(name));
    const heard: string[] = [];
    const loads: string[] = [];
    const state = {
      isDraining: false,
      looks: async () => undefined as unknown,
      answers: async (text: string): Promise<string> => `${name}: ${text}`,
    };
    const host = new ActorHost<Say>({
      clock: systemClock,
      waitingMax: 100,
      onError: () => undefined,
      async load(key) {
        await state.looks();
        const owner = owners.get(key);
        if (owner !== undefined && owner !== bus.address) throw new AppError('ROOM_MOVED', { at: owner });
        owners.set(key, bus.address);
        loads.push(key);
        return {
          isFull: false,
          followers: 0,
          act: async ({ text }) => {
            heard.push(text);
            return state.answers(text);
          },
          tell: ({ text }) => void heard.push(text),
          refuse: () => false,
          tick: () => undefined,
          isIdle: () => false,
          drop: () => undefined,
          saveAnew: () => undefined,
          suspend: () => undefined,
          recall: () => undefined,
          resume: async () => 'resumed' as const,
          stop: async () => void owners.delete(key),
        };
      },
    });
    const workers = new Workers({
      directory,
      clock: systemClock,
      log: silentLog,
      findLeased: async () => [],
      self: () => ({ incarnation: asIncarnation(name), address: bus.address, draining: state.isDraining, load: host.size }),
    });
    const router = new Router<Say>({
      host,
      bus,
      directory,
      workers,
      clock: systemClock,
      findOwner: async (key) => owners.get(key) ?? null,
      isRepeatable: ({ isOnce }) => isOnce !== true,
      isRead: ({ isRead }) => isRead === true,
      extraMs: () => 0,
      onForwarded: () => undefined,
      onUndelivered: ({ text }, from) => void undelivered.push(`${text} from ${from}`),
    });
    bus.serve((message, from) => router.handle(message, from));
    bus.onDown((address) => router.down(address));
    return { name, bus, host, workers, router, heard, loads, state };
  };
  const all = names.map(make);
  const meet = async (): Promise<void> => {
    for (let round = 0; round < 2; round += 1) for (const { workers } of all) await workers.beat();
  };
  return { network, directory, owners, undelivered, all, meet, make };
}

/** Two workers that know each other, and rooms for which each is preferred. */
async function aPair() {
  const cluster = aCluster('a:1', 'b:1');
  await cluster.meet();
  const [a, b] = cluster.all as [(typeof cluster.all)[0], (typeof cluster.all)[0]];
  const keyFor = async (name: string): Promise<string> => {
    for (let index = 0; ; index += 1) {
      const key = `room-${index}`;
      if (cluster.owners.has(key)) continue;
      const answer = await a.router.ask(key, { text: 'who' });
      if (answer === `${name}: who`) return key;
    }
  };
  return { ...cluster, a, b, ofA: await keyFor('a:1'), ofB: await keyFor('b:1') };
}

describe('finding the owner', () => {
  test('[RO1] whoever is asked, one worker takes an actor and all others forward to it', async () => {
    const { all, meet, owners } = aCluster('a:1', 'b:1', 'c:1');
    await meet();
    for (let index = 0; index < 30; index += 1) {
      const answers = await Promise.all(all.map(({ router }) => router.ask(`room-${index}`, { text: 'x' })));
      expect(new Set(answers)).toEqual(new Set([`${owners.get(`room-${index}`)}: x`]));
    }
    expect(all.flatMap(({ loads }) => loads)).toHaveLength(30);
    for (const { loads } of all) expect(loads.length).toBeGreaterThan(0);
  });

  test('[RO2] a worker that is alone takes everything and asks nobody', async () => {
    const { all } = aCluster('a:1');
    expect(await all[0]!.router.ask('room', { text: 'x' })).toBe('a:1: x');
  });

  test('[RO3] a wrong hint costs a refusal that names the owner, and no second owner', async () => {
    const { a, b, directory, ofA, ofB } = await aPair();
    await directory.publish({ key: ofA, incarnation: asIncarnation('b:1'), address: b.bus.address, epoch: 99 });
    expect(await b.router.ask(ofA, { text: 'x' })).toBe('a:1: x');
    await directory.publish({ key: ofB, incarnation: asIncarnation('a:1'), address: a.bus.address, epoch: 99 });
    expect(await a.router.ask(ofB, { text: 'x' })).toBe('b:1: x');
  });

  test('[RO4] a refusal by the actor comes back as it is and is not tried again', async () => {
    const { a, b, ofB } = await aPair();
    let tries = 0;
    b.state.answers = async () => {
      tries += 1;
      throw new AppError('UNPROCESSABLE_ENTITY', { reason: 'no' });
    };
    await expect(a.router.ask(ofB, { text: 'x' })).rejects.toMatchObject({
      code: 'UNPROCESSABLE_ENTITY',
      facts: { reason: 'no' },
    });
    expect(tries).toBe(1);
  });
});

describe('owners that go', () => {
  test('[RO5] an owner that cannot be reached is searched for until its actor may be claimed', async () => {
    const { a, b, network, owners, ofB } = await aPair();
    network.leave(b.bus);
    const asking = a.router.ask(ofB, { text: 'x' });
    systemClock.after(50, () => owners.delete(ofB)); // its lease has ended
    expect(await asking).toBe('a:1: x');
  });

  test('[RO6] what may have had its effect is asked again only when it may be decided twice; the others hear that it is unknown', async () => {
    const { a, b, network, owners, ofB } = await aPair();
    const hang = new Promise<string>(() => undefined);
    b.state.answers = () => hang;
    const once = a.router.ask(ofB, { text: 'once', isOnce: true });
    const often = a.router.ask(ofB, { text: 'often' });
    await settled();
    owners.delete(ofB);
    network.leave(b.bus);
    await expect(once).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(await often).toBe('a:1: often');
    expect(a.heard).not.toContain('once');
  });

  test('[RO14] of a read that was not heard of, and then could not be made again, only the latter is told', async () => {
    const { a, b, network, owners, ofB } = await aPair();
    b.state.answers = () => new Promise<string>(() => undefined);
    const [read, write] = [a.router.ask(ofB, { text: 'read', isRead: true }), a.router.ask(ofB, { text: 'write' })];
    await settled();
    a.state.answers = () => Promise.reject(new AppError('DATABASE_UNAVAILABLE', { reason: 'away' }));
    owners.delete(ofB);
    network.leave(b.bus);
    await expect(read).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', facts: { reason: 'away' } });
    await expect(write).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  });

  test('[RO7] a worker that drains takes nothing new, and what it had goes to the others', async () => {
    const { a, b, ofB, meet } = await aPair();
    b.state.isDraining = true;
    await meet();
    await b.host.close();
    for (let index = 100; index < 120; index += 1) expect(await b.router.ask(`room-${index}`, { text: 'x' })).toBe('a:1: x');
    expect(await a.router.ask(ofB, { text: 'x' })).toBe('a:1: x');
  });

  test('[RO8] an actor that is handed over is followed by those who wait for it', async () => {
    const { a, b, ofB } = await aPair();
    const moving = b.host.move(ofB);
    b.workers.suspect(b.bus.address); // not preferred any more
    const answer = b.router.ask(ofB, { text: 'x' });
    await moving;
    expect(await answer).toBe('a:1: x');
    expect(a.heard).toContain('x');
  });

  test('[RO8] nor is it brought back by those who remember where it was', async () => {
    const { a, b, ofB } = await aPair(); // a has asked for it, and remembers b
    const moving = b.host.move(ofB);
    b.workers.suspect(b.bus.address); // not preferred any more
    a.workers.suspect(b.bus.address);
    await moving;
    expect(await a.router.ask(ofB, { text: 'x' })).toBe('a:1: x');
    expect(await b.router.ask(ofB, { text: 'y' })).toBe('a:1: y');
  });
});

describe('telling', () => {
  test('[RO9] what is told follows the way that an ask found; without one nothing is sent, and that is said', async () => {
    const { a, b, ofB, ofA } = await aPair();
    expect(a.router.tell(ofB, { text: 'one' })).toBe(true);
    expect(a.router.tell('unheard of', { text: 'lost' })).toBe(false);
    expect(a.router.tell(ofA, { text: 'here' })).toBe(true);
    await a.router.ask(ofB, { text: 'two' });
    expect(b.heard.slice(-2)).toEqual(['one', 'two']);
    expect(a.router.locationOf(ofB)).toBe('b:1');
    expect(a.router.locationOf(ofA)).toBeNull();
  });

  test('[RO16] who has joined is heard there, whatever a question of somebody else has made all forget', async () => {
    const { a, b, ofB } = await aPair();
    b.state.answers = () => Promise.reject(new AppError('OUTCOME_UNKNOWN'));
    await expect(a.router.ask(ofB, { text: 'once', isOnce: true })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(a.router.tell(ofB, { text: 'of nobody' })).toBe(false);
    expect(a.router.tell(ofB, { text: 'of ann' }, b.bus.address)).toBe(true);
    await settled();
    expect(b.heard.slice(-2)).toEqual(['once', 'of ann']);
  });

  test('[RO16] also while this worker finds out whether it may have the actor itself', async () => {
    const { a, b, owners, ofB } = await aPair();
    b.state.answers = () => Promise.reject(new AppError('DATABASE_UNAVAILABLE'));
    let fail = (_: AppError): void => undefined;
    const begun = new Promise<void>((begin) => {
      a.state.looks = () =>
        new Promise((_, reject) => {
          fail = reject;
          begin();
        });
    });
    const asking = a.router.ask(ofB, { text: 'change' });
    await begun;
    expect(a.router.tell(ofB, { text: 'of ann' }, b.bus.address)).toBe(true);
    fail(new AppError('DATABASE_UNAVAILABLE'));
    await expect(asking).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    await settled();
    expect(owners.get(ofB)).toBe('b:1');
    expect(b.heard.slice(-2)).toEqual(['change', 'of ann']);
  });

  test('[RO16] where it is no more that is said, though this worker has the actor by now: it knows nobody who joined there', async () => {
    const { a, b, owners, ofB, undelivered } = await aPair();
    b.host.dropAll();
    owners.delete(ofB);
    a.router.down(b.bus.address);
    expect(await a.router.ask(ofB, { text: 'x' })).toBe('a:1: x');
    a.router.tell(ofB, { text: 'of ann' }, b.bus.address);
    await settled();
    expect([undelivered, a.heard.slice(-1)]).toEqual([['of ann from a:1'], ['x']]);
  });

  test('[RO10] a command told to a worker that has the actor no more is reported there with its sender', async () => {
    const { a, b, ofB, undelivered } = await aPair();
    b.host.dropAll();
    a.router.tell(ofB, { text: 'late' });
    await a.bus.ask(b.bus.address, { kind: 'actor.ask-if-awake', payload: ['nothing', { text: '' }] }, { deadlineMs: 1_000 });
    expect(undelivered).toEqual(['late from a:1']);
  });

  test('[RO11] an actor that sleeps is not woken by who asks only if it is awake', async () => {
    const { a, b, ofA, ofB } = await aPair();
    expect(await a.router.askIfAwake('asleep', { text: 'x' })).toBeNull();
    expect(await a.router.askIfAwake(ofB, { text: 'x' })).toEqual({ reply: 'b:1: x' });
    expect(await b.router.askIfAwake(ofA, { text: 'y' })).toEqual({ reply: 'a:1: y' });
    await b.router.tellIfAwake(ofA, { text: 'z' });
    await b.router.tellIfAwake('asleep', { text: 'z' });
    await b.router.ask(ofA, { text: 'end' });
    expect(a.heard.slice(-2)).toEqual(['z', 'end']);
    expect([...a.loads, ...b.loads]).not.toContain('asleep');
  });

  test('[RO13] that an actor sleeps is not believed of a hint, for the database knows who has it', async () => {
    const { a, b, ofB, directory, make, meet } = await aPair();
    const c = make('c:1');
    await c.workers.beat();
    await meet();
    const wrong = { key: ofB, address: a.bus.address, incarnation: asIncarnation('a:1'), epoch: 9 };
    await directory.publish(wrong);
    expect(await c.router.askIfAwake(ofB, { text: 'x' })).toEqual({ reply: 'b:1: x' });
    await c.router.tellIfAwake(ofB, { text: 'y' });
    expect(b.heard.slice(-2)).toEqual(['x', 'y']);
    expect(await c.router.askIfAwake('asleep', { text: 'z' })).toBeNull();
  });

  test('[RO13] nor is it of a worker that cannot be reached', async () => {
    const { a, b, network, owners, ofB } = await aPair();
    network.leave(b.bus);
    await expect(a.router.askIfAwake(ofB, { text: 'x' })).rejects.toMatchObject({ code: 'WORKER_UNREACHABLE' });
    owners.delete(ofB);
    expect(await a.router.askIfAwake(ofB, { text: 'x' })).toBeNull();
  });

  test('[RO13] nor by a worker that has heard of no other yet', async () => {
    const { ofB, make } = await aPair();
    const stranger = make('c:1');
    expect(stranger.workers.others).toEqual([]);
    expect(await stranger.router.askIfAwake(ofB, { text: 'x' })).toEqual({ reply: 'b:1: x' });
  });

  test('[RO12] when a worker is down, nothing is told to it any more', async () => {
    const { a, b, network, ofB } = await aPair();
    network.leave(b.bus);
    await new Promise((resolve) => setImmediate(resolve));
    expect(a.router.tell(ofB, { text: 'x' })).toBe(false);
  });
});
