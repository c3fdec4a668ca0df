/**
 * One other worker as this one sees it: the link to it, or the way to one, what waits meanwhile, and the asks that it owes answers to.
 *
 * Both may dial at once, and one connection is enough. The worker of the smaller address decides: on every connection that was proved it
 * sends its verdict, `use` on one and `spare` on the others, and before the verdict nothing else is sent. A link in use gives way to a new
 * connection that shows it is over: from another life of the peer, from a dialer that names it as ended, or on another `use`.
 */
import { BoundedQueue } from '../base/bounded.ts';
import type { WorkerAddress } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import type { Message } from '../kernel/cluster/bus.ts';
import { OpenAsks } from './tcp-bus-asks.ts';
import { boundedFrame, type Frame, packFrame } from './tcp-bus-frames.ts';
import { NO_LINK } from './tcp-bus-handshake.ts';
import type { Inbox } from './tcp-bus-inbox.ts';
import { type TcpBusLimits, TIMES } from './tcp-bus-limits.ts';
import { Link, type LinkEnd, type LinkOwner } from './tcp-bus-link.ts';
import { type Dialing, dial, type Met, type Refusal, type Self } from './tcp-bus-meeting.ts';

export interface PeerDeps {
  readonly self: Self;
  readonly log: Log;
  readonly limits: TcpBusLimits;
  readonly inbox: Inbox;
  readonly onDown: (address: WorkerAddress) => void;
}

interface Waiting {
  readonly body: Uint8Array;
  /** Null for a tell. */
  readonly askId: number | null;
}

const nothing = (): void => undefined;

export class Peer implements LinkOwner {
  readonly address: WorkerAddress;
  readonly #deps: PeerDeps;
  readonly #asks: OpenAsks;
  #link: Link | null = null;
  /** Proved connections on which the peer has not given its verdict yet, and what stops the wait for it. */
  readonly #undecided = new Map<Link, () => void>();
  #endedLinkId = NO_LINK;
  /** What is to be sent once there is a link; null when none is on its way. */
  #waiting: BoundedQueue<Waiting> | null = null;
  #stopWaiting = nothing;
  #dialing: Dialing | null = null;
  /** Set for a short while after a failed dial. */
  #stopFailFast: (() => void) | null = null;
  #isLossUntold = false;
  #isUnreachableLogged = false;
  #isClosed = false;

  constructor(address: WorkerAddress, deps: PeerDeps) {
    this.address = address;
    this.#deps = deps;
    this.#asks = new OpenAsks(deps.self.clock);
  }

  /** Nothing is missed when it is forgotten. */
  get isIdle(): boolean {
    const isLinked = this.#link !== null || this.#undecided.size > 0;
    return !isLinked && this.#waiting === null && this.#dialing === null && this.#stopFailFast === null && !this.#isLossUntold;
  }

  /** What was sent and has not left, on a link or for want of one. */
  get waitingBytes(): number {
    return (this.#link?.waitingBytes ?? 0) + (this.#waiting?.bytes ?? 0);
  }

  tell(message: Message): void {
    try {
      this.#send(boundedFrame({ type: 'tell', message }, this.#deps.limits), null);
    } catch (error) {
      this.#deps.log.error({ peer: this.address, kind: message.kind, err: error }, 'message cannot be sent');
      this.#loss();
      this.#link?.end('unsendable message'); // both ends have to hear of the loss
    }
  }

  ask(message: Message, { deadlineMs }: { deadlineMs: number }): Promise<unknown> {
    const send = (id: number): void => this.#send(boundedFrame({ type: 'ask', id, message }, this.#deps.limits), id);
    return this.#asks.begin({ deadlineMs, send });
  }

  /** A connection between the two workers was proved, whoever dialed. */
  meet(met: Met, { dialedBy }: { dialedBy: 'us' | 'peer' }): void {
    const { self, limits } = this.#deps;
    const link = new Link(met, { clock: self.clock, limits, owner: this });
    if (this.#isClosed) {
      link.finish();
    } else if (self.address < this.address) {
      this.#decide(link, dialedBy === 'peer' ? met.endedLinkId : NO_LINK);
    } else {
      const cancel = self.clock.after(TIMES.handshakeMs, () => link.end('no verdict'));
      this.#undecided.set(link, cancel);
      link.start();
    }
  }

  heard(link: Link, frame: Frame): void {
    if (frame.type === 'use' || frame.type === 'spare') this.#heardVerdict(link, frame.type);
    else if (link !== this.#link) link.end('invalid frame');
    else if (frame.type === 'tell') this.#heardMessage(link, frame.message, null);
    else if (frame.type === 'ask') this.#heardMessage(link, frame.message, frame.id);
    else if (frame.type === 'answer') this.#asks.answer(frame.id, frame.value);
    else if (frame.type === 'refusal') this.#asks.refuse(frame.id, frame);
  }

  ended(link: Link, reason: LinkEnd): void {
    this.#endedLinkId = link.id;
    if (link === this.#link) {
      this.#link = null;
      const level = reason === 'closed by the peer' ? 'info' : 'warn';
      this.#deps.log[level]({ peer: this.address, reason, asks: this.#asks.size }, 'link to worker down');
      this.#asks.failAll();
      this.#loss();
      return;
    }
    this.#forgetUndecided(link);
    if (this.#link !== null) return;
    this.#loss(); // the peer may have decided, and have sent something
    if (this.#dialing === null) this.#giveUp(reason);
  }

  /** Ends all in order; the listener hears nothing more. */
  close(): void {
    this.#isClosed = true;
    this.#stopWaiting();
    this.#stopFailFast?.();
    this.#dialing?.abort();
    this.#link?.finish();
    this.#link = null;
    for (const link of [...this.#undecided.keys()]) {
      this.#forgetUndecided(link);
      link.finish();
    }
    this.#asks.failAll();
  }

  /** The peer looks for a link; ours in use is over if the peer lives another life by now, or knows the link for dead. */
  #decide(link: Link, endedLinkId: string): void {
    const current = this.#link;
    const isFree = current === null || current.peerLife !== link.peerLife || current.id === endedLinkId;
    link.send(packFrame({ type: isFree ? 'use' : 'spare' }));
    if (isFree) {
      this.#use(link);
      link.start();
    } else {
      link.finish();
    }
  }

  #heardVerdict(link: Link, verdict: 'use' | 'spare'): void {
    const isAwaited = this.#undecided.has(link);
    this.#forgetUndecided(link);
    if (!isAwaited) link.end('invalid frame');
    else if (verdict === 'use') this.#use(link);
    else link.finish(); // another connection is in use, or will be when its verdict arrives
  }

  #forgetUndecided(link: Link): void {
    this.#undecided.get(link)?.();
    this.#undecided.delete(link);
  }

  #heardMessage(link: Link, message: Message, askId: number | null): void {
    const { inbox } = this.#deps;
    if (!inbox.isServed && askId === null) {
      link.end('not served yet'); // a tell may not get lost in silence
      return;
    }
    inbox.hear(message, {
      address: this.address,
      askId,
      send: (body) => link.send(body),
      begun: () => link.begun(),
      finished: () => link.finished(),
    });
  }

  #use(link: Link): void {
    this.#link?.end('replaced');
    this.#tellLoss(); // before anything of the new link is heard
    this.#link = link;
    this.#isUnreachableLogged = false;
    this.#stopFailFast?.();
    this.#stopFailFast = null;
    const waiting = this.#takeWaiting();
    this.#deps.log.info({ peer: this.address, waiting: waiting?.size ?? 0 }, 'link to worker up');
    for (let next = waiting?.shift(); next !== undefined; next = waiting?.shift()) this.#send(next.body, next.askId);
  }

  #send(body: Uint8Array, askId: number | null): void {
    if (askId !== null && !this.#asks.isOpen(askId)) return; // its deadline passed while it waited
    if (this.#link !== null) {
      this.#link.send(body);
      if (askId !== null) this.#asks.sent(askId);
    } else if (this.#isClosed || this.#stopFailFast !== null) {
      // What a tell loses here is told when the short while is over: who then sends all anew would else come straight back, turn after turn.
      if (askId === null) this.#isLossUntold = true;
      else this.#asks.fail(askId);
    } else {
      this.#wait(body, askId);
    }
  }

  #wait(body: Uint8Array, askId: number | null): void {
    const waiting = this.#waiting ?? this.#dial();
    if (waiting.push({ body: body.slice(), askId }, body.byteLength)) return;
    if (askId === null) this.#loss();
    else this.#asks.fail(askId);
    this.#giveUp('more than may wait');
  }

  #dial(): BoundedQueue<Waiting> {
    const { self, limits } = this.#deps;
    this.#dialing?.abort();
    const dialing = dial({ to: this.address, endedLinkId: this.#endedLinkId }, self);
    this.#dialing = dialing;
    void dialing.outcome.then((meeting) => {
      const isOurs = this.#dialing === dialing;
      if (isOurs) this.#dialing = null;
      if (!('refused' in meeting)) this.meet(meeting, { dialedBy: 'us' });
      else if (isOurs) this.#giveUp(meeting.refused);
    });
    this.#stopWaiting = self.clock.after(TIMES.handshakeMs, () => this.#giveUp('no link in time'));
    this.#waiting = new BoundedQueue({ itemsMax: limits.waitingMax, bytesMax: limits.linkBytesMax });
    return this.#waiting;
  }

  #takeWaiting(): BoundedQueue<Waiting> | null {
    const waiting = this.#waiting;
    this.#stopWaiting();
    this.#waiting = null;
    return waiting;
  }

  /** No link came of it: what waited is not sent, and for a short while nothing is tried. */
  #giveUp(reason: Refusal | LinkEnd | 'no link in time' | 'more than may wait'): void {
    const waiting = this.#takeWaiting();
    if (waiting === null || this.#isClosed) return;
    this.#dialing?.abort();
    this.#dialing = null;
    this.#deps.log[this.#isUnreachableLogged ? 'debug' : 'warn']({ peer: this.address, reason }, 'worker cannot be reached');
    this.#isUnreachableLogged = true;
    this.#stopFailFast = this.#deps.self.clock.after(TIMES.failFastMs, () => {
      this.#stopFailFast = null;
      this.#tellLoss();
    });
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (next.askId === null) this.#loss();
      else this.#asks.fail(next.askId);
    }
  }

  /** Something may have been lost; the listener hears of it when this turn is over. */
  #loss(): void {
    if (this.#isLossUntold) return;
    this.#isLossUntold = true;
    this.#deps.self.clock.soon(() => this.#tellLoss());
  }

  #tellLoss(): void {
    if (!this.#isLossUntold || this.#isClosed) return;
    this.#isLossUntold = false;
    this.#deps.onDown(this.address);
  }
}
