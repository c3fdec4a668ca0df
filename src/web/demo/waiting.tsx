/** What is seen until the room is there: its shape, and after a while why it may take so long. */
import { useLostConnectionListener, useStatus } from '@liveblocks/react/suspense';
import { useEffect, useState } from 'react';

const LONG_MS = 5_000;

export function WaitingRoom() {
  const [isLong, setLong] = useState(false);
  const status = useStatus();
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), LONG_MS);
    return () => clearTimeout(timer);
  }, []);
  useLostConnectionListener(() => setLong(true));
  return (
    <div className="room waiting">
      <div className="card board-card">
        <p className="empty" role="status">
          {wordsFor(status, isLong)}
        </p>
      </div>
      <div className="card text-card" />
      <div className="card list-card" />
      <div className="card comments-card" />
    </div>
  );
}

function wordsFor(status: string, isLong: boolean): string {
  if (status === 'disconnected') return 'This room cannot be entered.';
  return isLong ? 'The server does not answer. This page goes on trying.' : 'Entering the room…';
}
