import { expect, test } from 'vitest';
import { readSettings } from '../../../../src/config.ts';
import {
  CUSTOM_KINDS_MAX,
  channelsAfter,
  channelsByDefault,
  channelsFor,
  roomSettingsOf,
  shownChannels,
} from '../../../../src/features/notifications/settings/rules.ts';

const EMAIL = channelsByDefault({ channels: 'email' });
const DEFAULTS = { threads: 'replies_and_mentions', textMentions: 'mine' } as const;

test('[NS1] what a user did not set for a room is the default of the server', () => {
  expect(roomSettingsOf(null, DEFAULTS)).toEqual(DEFAULTS);
  expect(roomSettingsOf({ threads: null, textMentions: 'none' }, DEFAULTS)).toEqual({ ...DEFAULTS, textMentions: 'none' });
  expect(roomSettingsOf({ threads: 'all', textMentions: null }, DEFAULTS)).toEqual({ ...DEFAULTS, threads: 'all' });
});

test('[NS2] of channels what is not named stays, and what was not said follows the default', () => {
  const after = channelsAfter(
    { email: { thread: false, $ring: true } },
    { email: { textMention: false }, slack: { thread: true } },
  );
  expect(after).toEqual({ email: { thread: false, $ring: true, textMention: false }, slack: { thread: true } });
  expect(shownChannels(after, EMAIL)).toEqual({
    email: { thread: false, textMention: false, $ring: true },
    slack: { thread: true, textMention: false },
    teams: { thread: false, textMention: false },
    webPush: { thread: false, textMention: false },
  });
  expect(channelsAfter({ email: { thread: false } }, {})).toEqual({ email: { thread: false } });
});

test('[NS3] a kind goes out by the channels that are shown as on: as was wished, else as the server has it', () => {
  const stored = { email: { thread: false }, teams: { $ring: true } };
  expect(channelsFor('thread', stored, EMAIL)).toEqual([]);
  expect(channelsFor('textMention', stored, EMAIL)).toEqual(['email']);
  expect(channelsFor('$ring', stored, EMAIL)).toEqual(['teams']);
  expect(channelsFor('toString', stored, EMAIL)).toEqual([]);
  const named = channelsByDefault({ channels: 'webPush,email', kinds: '$ring,$bell' });
  expect(channelsFor('$ring', { email: { $ring: false }, teams: { $ring: true } }, named)).toEqual(['teams', 'webPush']);
  expect(channelsFor('$other', stored, named)).toEqual([]);
  expect(shownChannels({}, named).email).toEqual({ thread: true, textMention: true, $ring: true, $bell: true });
  expect(shownChannels({}, channelsByDefault({ channels: 'none' })).email).toEqual({ thread: false, textMention: false });
});

test('[NS4] a channel has at most 100 kinds of one`s own, counted after the change', () => {
  const kinds = (from: number, to: number) =>
    Object.fromEntries(Array.from({ length: to - from }, (_, n) => [`$k${from + n}`, true]));
  const full = channelsAfter({ email: kinds(0, 60) }, { email: { ...kinds(60, CUSTOM_KINDS_MAX), thread: true } });
  expect(Object.keys(full.email!)).toHaveLength(CUSTOM_KINDS_MAX + 1);
  expect(channelsAfter(full, { email: { $k0: false } }).email!.$k0).toBe(false);
  expect(() => channelsAfter(full, { email: { $more: true } })).toThrow("'email' may have at most 100");
});

test('[NS10] settings name channels and kinds that there are, or the server does not start', () => {
  const { THREAD_NOTIFICATIONS, TEXT_MENTION_NOTIFICATIONS, NOTIFICATION_CHANNELS, BATCHED_NOTIFICATION_KINDS } = readSettings(
    {},
  );
  expect([THREAD_NOTIFICATIONS, TEXT_MENTION_NOTIFICATIONS, NOTIFICATION_CHANNELS, BATCHED_NOTIFICATION_KINDS]).toEqual([
    ...['replies_and_mentions', 'mine', 'email'],
    undefined,
  ]);
  for (const good of ['none', 'email', 'webPush,slack,teams'])
    expect(() => readSettings({ NOTIFICATION_CHANNELS: good })).not.toThrow();
  for (const wrong of ['fax', 'email,', 'email,none', 'email, slack'])
    expect(() => readSettings({ NOTIFICATION_CHANNELS: wrong })).toThrow('NOTIFICATION_CHANNELS');
  for (const good of ['$ring', '$a_b,$c']) expect(() => readSettings({ BATCHED_NOTIFICATION_KINDS: good })).not.toThrow();
  for (const wrong of ['ring', '$ring,', '$1', `$${'a'.repeat(129)}`])
    for (const name of ['BATCHED_NOTIFICATION_KINDS', 'NOTIFICATION_KINDS'])
      expect(() => readSettings({ [name]: wrong })).toThrow(name);
  expect(() => readSettings({ THREAD_NOTIFICATIONS: 'some' })).toThrow('THREAD_NOTIFICATIONS');
});
