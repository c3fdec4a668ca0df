/** Name of the place, whether we are connected, and who is here. */
import { shallow } from '@liveblocks/client';
import { useOthersMapped, useStatus } from '@liveblocks/react';
import { useEffect } from 'react';
import { Mark } from '../shared/mark.tsx';
import { meet } from './met.ts';
import { seen } from './others.ts';
import type { Visitor } from './visitor.ts';

const STATUS: Readonly<Record<string, { word: string; tone: 'good' | 'busy' | 'bad' }>> = {
  initial: { word: 'Connecting', tone: 'busy' },
  connecting: { word: 'Connecting', tone: 'busy' },
  connected: { word: 'Connected', tone: 'good' },
  reconnecting: { word: 'Reconnecting', tone: 'busy' },
  disconnected: { word: 'Disconnected', tone: 'bad' },
};
const SHOWN_MAX = 4;

export function Header({ visitor }: { visitor: Visitor }) {
  const status = useStatus();
  const { word, tone } = STATUS[status]!;
  return (
    <header className="top">
      <a className="brand" href="/">
        <Mark /> Atrium <span className="tag">live demo</span>
      </a>
      <span className={`status ${tone}`} role="status">
        {word}
      </span>
      <People visitor={visitor} isConnected={status === 'connected'} />
      <nav>
        <a href="/console">Console</a>
        <a href="/docs">API</a>
      </nav>
    </header>
  );
}

function People({ visitor, isConnected }: { visitor: Visitor; isConnected: boolean }) {
  const others = useOthersMapped((other) => ({ id: other.id, ...seen(other.info) }), shallow) ?? [];
  useEffect(() => meet(others.map(([, { id }]) => id)), [others]);
  const shown = others.slice(0, SHOWN_MAX);
  const more = others.length - shown.length;
  const names = [`${visitor.name} (you)`, ...others.map(([, info]) => info.name)].join(', ');
  return (
    <ul className="people" title={names} aria-label={`Here: ${names}`}>
      <Face name={visitor.name} color={visitor.color} isMe />
      {shown.map(([connectionId, info]) => (
        <Face key={connectionId} name={info.name} color={info.color} />
      ))}
      {more > 0 && <li className="face more">+{more}</li>}
      <li className="me" style={{ color: 'inherit' }}>
        {visitor.name}
        <small>{wordsFor(others.length, isConnected)}</small>
      </li>
    </ul>
  );
}

function wordsFor(others: number, isConnected: boolean): string {
  if (!isConnected) return '…';
  return others === 0 ? 'alone so far' : `and ${others} more`;
}

function Face({ name, color, isMe = false }: { name: string; color: string; isMe?: boolean }) {
  const letters = name.split(' ').map((word) => word.charAt(0));
  return (
    <li className={isMe ? 'face mine' : 'face'} style={{ background: color }} aria-hidden="true">
      {letters}
    </li>
  );
}
