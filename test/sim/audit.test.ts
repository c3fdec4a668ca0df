/** The judge of the simulation finds forged histories, each by the rule that it breaks, and nothing in a history that is fine. */
import { describe, expect, test } from 'vitest';
import { Audit, type Edit } from './audit.ts';
import type { JournalRow, OwnerRow } from './postgres/tables.ts';
import { World } from './world.ts';

/** A judge, and a world in which every call of `edit` comes a millisecond after the one before. */
async function aTrial() {
  const world = new World({ seed: 1 });
  const audit = new Audit(world);
  const begin = async (token: string): Promise<Edit> => {
    await world.run(1);
    return audit.begins({ token, room: 'red', isOrdered: true });
  };
  const edit = async (token: string): Promise<void> => {
    const begun = await begin(token);
    await world.run(1);
    audit.acks(begun);
  };
  return { audit, begin, edit, rules: () => audit.violations.map(({ rule }) => rule.split(' ')[0]) };
}

type Trial = Awaited<ReturnType<typeof aTrial>>;

const owner = (epoch: number, name: string | null): OwnerRow => ({
  ...{ epoch, owner: name, numbersNext: 1, snapshotVersion: 0 },
  ...{ loadingSinceMs: null, crashes: 0, crashedAtMs: null, quarantinedUntilMs: null },
});
const row = (version: number, more: Partial<JournalRow> = {}): JournalRow => ({
  version,
  count: 1,
  epoch: 1,
  crc: 0,
  payload: new Uint8Array(),
  ...more,
});

test('[SM5] in a history that is fine the judge finds nothing', async () => {
  const { audit, begin, edit, rules } = await aTrial();
  await edit('e1e');
  const unknown = await begin('e2e');
  unknown.mayBeThere = true;
  await edit('e3e');
  audit.read('red', { list: ['e1e', 'e3e'], text: [] }, audit.knownOf('red'));
  audit.owned(1, owner(1, 'a'));
  audit.appended(1, row(1), 'a');
  audit.appended(1, row(3, { count: 2 }), 'a');
  audit.owned(1, owner(1, null));
  audit.owned(1, owner(2, 'b'));
  audit.appended(1, row(4, { epoch: 2 }), 'b');
  audit.numbered('red', 7, 'somebody');
  audit.numbered('red', 7, 'somebody');
  audit.final('red', { list: ['e1e', 'e3e', 'e2e'], text: [] }, audit.knownOf('red'));
  expect(rules()).toEqual([]);
});

const FORGED: readonly [string, string, (trial: Trial) => Promise<void> | void][] = [
  [
    'C1',
    'an acknowledged edit is lost',
    async ({ audit, edit }) => {
      await edit('e1e');
      audit.final('red', { list: [], text: [] }, audit.knownOf('red'));
    },
  ],
  [
    'C1',
    'an edit is there twice',
    async ({ audit, edit }) => {
      await edit('e1e');
      audit.final('red', { list: ['e1e'], text: ['e1e'] }, audit.knownOf('red'));
    },
  ],
  [
    'C2',
    'something is there that nobody sent',
    ({ audit }) => audit.final('red', { list: ['e9e'], text: [] }, audit.knownOf('red')),
  ],
  [
    'C2',
    'an edit of one room is in another',
    async ({ audit, edit }) => {
      await edit('e1e');
      audit.read('blue', { list: ['e1e'], text: [] }, 0);
    },
  ],
  [
    'C4',
    'an epoch falls',
    ({ audit }) => {
      audit.owned(1, owner(3, 'a'));
      audit.owned(1, owner(2, 'b'));
    },
  ],
  [
    'C4',
    'an owner follows another in one epoch',
    ({ audit }) => {
      audit.owned(1, owner(3, 'a'));
      audit.owned(1, owner(3, 'b'));
    },
  ],
  [
    'C4',
    'a version is left out',
    ({ audit }) => {
      audit.appended(1, row(1), 'a');
      audit.appended(1, row(3), 'a');
    },
  ],
  [
    'C5',
    'two write in one epoch',
    ({ audit }) => {
      audit.appended(1, row(1), 'a');
      audit.appended(1, row(2), 'b');
    },
  ],
  [
    'C6',
    'a read lacks what was acknowledged before',
    async ({ audit, edit }) => {
      await edit('e1e');
      audit.read('red', { list: [], text: [] }, audit.knownOf('red'));
    },
  ],
  [
    'C6',
    'a read lacks what an earlier one showed',
    async ({ audit, begin }) => {
      await begin('e1e');
      audit.read('red', { list: ['e1e'], text: [] }, 0);
      audit.read('red', { list: [], text: [] }, audit.knownOf('red'));
    },
  ],
  [
    'C7',
    'an edit stands before one that was acknowledged before it began',
    async ({ audit, edit }) => {
      await edit('e1e');
      await edit('e2e');
      audit.final('red', { list: ['e2e', 'e1e'], text: [] }, audit.knownOf('red'));
    },
  ],
  [
    'C8',
    'what a client was shown is gone',
    async ({ audit, begin }) => {
      const unknown = await begin('e1e');
      unknown.mayBeThere = true;
      audit.told('red', ['e1e']);
      audit.final('red', { list: [], text: [] }, audit.knownOf('red'));
    },
  ],
  [
    'C12',
    'an edit that was refused is there',
    async ({ audit, begin }) => {
      await begin('e1e');
      audit.final('red', { list: ['e1e'], text: [] }, audit.knownOf('red'));
    },
  ],
  [
    'C13',
    'a number is given twice',
    ({ audit }) => {
      audit.numbered('red', 7, 'somebody');
      audit.numbered('red', 7, 'somebody else');
    },
  ],
];

describe('a forged history', () => {
  test.each(FORGED)('[SM5] breaks %s: %s', async (rule, _, forge) => {
    const trial = await aTrial();
    await forge(trial);
    expect(trial.rules()).toEqual([rule]);
  });
});
