/** Tells those who are in a room what happened to its comments. The comments themselves are not the room's: clients ask for them (protocol 4.3). */
import type { Command, Effect } from './shapes.ts';

type Tell = Extract<Command, { type: 'comments.tell' }>;

export function decideCommentsTell({ visibility, message }: Tell): Effect[] {
  return [
    { type: 'send', to: { mayRead: `comments:${visibility}` }, when: 'now', message },
    { type: 'reply', value: null, when: 'now' },
  ];
}
