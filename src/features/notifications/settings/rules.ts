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

export function shownChannels(stored: ChannelSettingsChange, byDefault: ChannelSettings): ChannelSettings {
  return ofEach((channel) => ({ ...byDefault[channel], ...stored[channel] }));
}

/** The channels by which a user hears of notifications of a kind: those that show it as on. A kind that is not shown is off. */
export function channelsFor(kind: string, stored: ChannelSettingsChange, byDefault: ChannelSettings): Channel[] {
  const shown = shownChannels(stored, byDefault);
  return CHANNELS.filter((channel) => shown[channel][kind] === true);
}

/** What holds for who said nothing, from the settings of the server: names, with commas between. */
export function channelsByDefault({
  channels,
  kinds = '',
}: {
  readonly channels: string;
  readonly kinds?: string | undefined;
}): ChannelSettings {
  const on = channels.split(',');
  const all = [...OUR_KINDS, ...kinds.split(',').filter((kind) => kind !== '')];
  return ofEach((channel) => Object.fromEntries(all.map((kind) => [kind, on.includes(channel)])));
}

function ofEach(kindsOf: (channel: Channel) => Kinds): ChannelSettings {
  return { email: kindsOf('email'), slack: kindsOf('slack'), teams: kindsOf('teams'), webPush: kindsOf('webPush') };
}
