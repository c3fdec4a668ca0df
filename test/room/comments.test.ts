import { expect, test } from 'vitest';
import { permissionsOf } from '../../src/protocol/permissions.ts';
import { type CommentMessage, encodeForSdk, encodeForYjs } from '../../src/protocol/server-messages.ts';
import { isChange, isEphemeral, isRepeatable } from '../../src/room/command-kinds.ts';
import { Fanout } from '../../src/room/fanout.ts';
import type { Command } from '../../src/room/shapes.ts';
import { aRoom, newcomer, say } from '../support/a-room.ts';
import { manualClock } from '../support/manual-clock.ts';

const about = { threadId: 'th_x', commentId: 'cm_x' };
const created: CommentMessage = { type: 'comment.created', ...about };
const tell = (visibility: 'public' | 'private'): Command => ({ type: 'comments.tell', visibility, message: created });
const who = (name: string, ...scopes: string[]) => newcomer(name, { permissions: permissionsOf(scopes) });

test('[CM60] what happens to a thread is told to those in the room who may read threads of its visibility, as they may at that moment', () => {
  const room = aRoom(
    who('all', '*:write'),
    who('reader', '*:read'),
    who('outside', '*:write', 'comments:private:none'),
    who('none', '*:write', 'comments:none'),
    newcomer('yjs', { kind: 'yjs' }),
  );
  const clock = manualClock();
  const heard: string[] = [];
  const fanout = new Fanout(
    {
      clock,
      sessions: {
        has: () => true,
        deliver(sessions, frames) {
          if (frames.length > 0) heard.push(...sessions.map(({ id }) => id));
          return null;
        },
      },
    },
    { room, guarded: (task) => task() },
  );
  const hearers = (visibility: 'public' | 'private'): string[] => {
    const effects = say(room, tell(visibility));
    expect(effects.at(-1)).toEqual({ type: 'reply', value: null, when: 'now' });
    for (const effect of effects) if (effect.type === 'send') fanout.send(effect.to, effect.message, room.decision);
    clock.turn();
    return heard.splice(0).sort();
  };
  expect(hearers('public')).toEqual(['all', 'outside', 'reader']);
  expect(hearers('private')).toEqual(['all', 'reader']);
  say(room, { type: 'session.permit', sessionId: 'reader' as never, permissions: permissionsOf(['*:read', 'comments:none']) });
  expect(hearers('private')).toEqual(['all']);
});

test('[CM61] it is told as the protocol says it, and y-websocket clients are not told', () => {
  const codes: Record<CommentMessage['type'], number> = {
    'thread.created': 400,
    'thread.metadata-updated': 401,
    'comment.created': 402,
    'comment.edited': 403,
    'comment.deleted': 404,
    'comment.reaction-added': 405,
    'comment.reaction-removed': 406,
    'thread.deleted': 407,
    'thread.updated': 408,
    'comment.metadata-updated': 409,
  };
  for (const [type, code] of Object.entries(codes)) {
    const message = { type, ...about, emoji: 'x' } as CommentMessage;
    expect(JSON.parse(encodeForSdk(message)!)).toEqual({ type: code, ...about, emoji: 'x' });
    expect(encodeForYjs(message)).toBeNull();
  }
});

test('[CM62] it changes nothing of the room, so it is told while nothing can be written down, and may be told twice', () => {
  expect([isChange(tell('public')), isEphemeral(tell('public')), isRepeatable(tell('public'))]).toEqual([false, true, true]);
});
