/** What holds for users who said nothing, or not all. Pure: it knows neither tables nor routes. */
import { valueAtKey } from '../../../base/errors.ts';
import {
  CHANNELS,
  type Channel,
  type ChannelSettings,
  type ChannelSettingsChange,
  type Kinds,
  type RoomSettings,
} from './shapes.ts';

/** What a user set for a room; null is the default. */
export interface StoredRoomSettings {
  readonly threads: RoomSettings['threads'] | null;
  readonly textMentions: RoomSettings['textMentions'] | null;
}

export function roomSettingsOf(stored: StoredRoomSettings | null, byDefault: RoomSettings): RoomSettings {
  return { threads: stored?.threads ?? byDefault.threads, textMentions: stored?.textMentions ?? byDefault.textMentions };
}

/** Kinds of one's own, over all channels. Ours. */
export const CUSTOM_KINDS_MAX = 100;
const OUR_KINDS = ['thread', 'textMention'];

/** What a user set after a change; what is not named stays. @throws AppError UNPROCESSABLE_ENTITY naming the channel that has too many kinds. */
export function channelsAfter(stored: ChannelSettingsChange, change: ChannelSettingsChange): ChannelSettingsChange {
  const after: Partial<Record<Channel, Kinds>> = { ...stored };
  for (const channel of CHANNELS) {
    const kinds = { ...stored[channel], ...change[channel] };
    const custom = Object.keys(kinds).filter((kind) => !OUR_KINDS.includes(kind));
    if (custom.length > CUSTOM_KINDS_MAX) throw valueAtKey(channel, `may have at most ${CUSTOM_KINDS_MAX} kinds of your own`);
    if (change[channel] !== undefined) after[channel] = kinds;
  }
  return after;
}

/** @param byDefault channels by which users are told of everything unless they say otherwise */
export function shownChannels(stored: ChannelSettingsChange, byDefault: readonly Channel[]): ChannelSettings {
  const kindsOf = (channel: Channel): Kinds => {
    const isOn = byDefault.includes(channel);
    return { thread: isOn, textMention: isOn, ...stored[channel] };
  };
  return { email: kindsOf('email'), slack: kindsOf('slack'), teams: kindsOf('teams'), webPush: kindsOf('webPush') };
}

/** The channels by which a user wants to hear of notifications of a kind. */
export function channelsFor(kind: string, stored: ChannelSettingsChange, byDefault: readonly Channel[]): Channel[] {
  return CHANNELS.filter((channel) => stored[channel]?.[kind] ?? byDefault.includes(channel));
}

/** Of the setting of the server: names, with commas between. */
export function channelsNamed(list: string): Channel[] {
  const names = list.split(',');
  return CHANNELS.filter((channel) => names.includes(channel));
}
