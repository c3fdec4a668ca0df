import { expect, test } from 'vitest';
import { HostNames } from '../../src/adapters/host-names.ts';

/** Look-ups that are answered when the test says so. */
function lookUps() {
  const asked: string[] = [];
  const pending = new Map<string, { answer: (addresses: readonly string[]) => void; refuse: (error: Error) => void }>();
  const ask = (whom: string) => (name: string) => {
    asked.push(`${whom} ${name}`);
    return new Promise<readonly string[]>((answer, refuse) => pending.set(name, { answer, refuse }));
  };
  const answer = (name: string, addresses: readonly string[]) => pending.get(name)!.answer(addresses);
  const refuse = (name: string) => pending.get(name)!.refuse(new Error(`no ${name}`));
  return { asked, answer, refuse, names: new HostNames({ dns: ask('dns'), machine: ask('machine') }) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('[OUT10] a name that is being looked up is not looked up again, and anew once that is answered', async () => {
  const { asked, answer, refuse, names } = lookUps();
  const both = [names.addressesOf('a.test'), names.addressesOf('a.test')];
  answer('a.test', ['192.0.2.1']);
  expect(await Promise.all(both)).toEqual([['192.0.2.1'], ['192.0.2.1']]);
  expect(asked).toEqual(['dns a.test']);
  const next = names.addressesOf('a.test');
  refuse('a.test');
  await expect(next).rejects.toThrow('no a.test');
  expect(asked).toEqual(['dns a.test', 'dns a.test']);
});

test('[OUT10] the machine is asked for what DNS does not know, for one name at a time, also when it does not know that', async () => {
  const { asked, answer, refuse, names } = lookUps();
  const [first, second] = [names.addressesOf('a.test'), names.addressesOf('b.test')];
  const failed = expect(first).rejects.toThrow('no a.test');
  answer('a.test', []);
  answer('b.test', []);
  await turn();
  expect(asked).toEqual(['dns a.test', 'dns b.test', 'machine a.test']);
  refuse('a.test');
  await failed;
  await turn();
  expect(asked.slice(3)).toEqual(['machine b.test']);
  answer('b.test', ['10.0.0.1']);
  expect(await second).toEqual(['10.0.0.1']);
});

test('[OUT10] localhost is this machine, whoever says what', async () => {
  const { asked, names } = lookUps();
  expect(await names.addressesOf('hooks.localhost')).toEqual(['127.0.0.1', '::1']);
  expect(asked).toEqual([]);
});
