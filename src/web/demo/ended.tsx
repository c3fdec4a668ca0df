/** Says that the SDK has given up: the room was deleted, or may not be entered. What is shown can still be changed then, for nobody. */
import { useStatus } from '@liveblocks/react';

export function Ended() {
  if (useStatus() !== 'disconnected') return null;
  return (
    <p className="ended" role="alert">
      The server has closed this room to you, so what you do here now is lost. <a href={location.href}>Enter it again</a>.
    </p>
  );
}
