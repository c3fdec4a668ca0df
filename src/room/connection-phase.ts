/** Where a connection stands on its way from admission to close, and as whom. */
import type { RoomId } from '../base/ids.ts';
import type { Newcomer } from './shapes.ts';
import type { SocketTarget } from './socket-target.ts';

/** What is this one's own. */
export type Who = Omit<Newcomer, 'id'>;

export type Phase =
  | { readonly name: 'waiting' }
  | { readonly name: 'joining' | 'entered' | 'rejoining'; readonly roomId: RoomId; readonly target: SocketTarget }
  | { readonly name: 'closed' };
