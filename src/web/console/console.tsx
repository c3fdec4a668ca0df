/** The frame: signing in, the way around, and the view that the address names. */
import { useMemo, useState } from 'react';
import { Mark } from '../shared/mark.tsx';
import { makeApi } from './api.ts';
import { hrefOf, type Place, usePlace } from './place.ts';
import { RoomView } from './room.tsx';
import { RoomsView } from './rooms.tsx';
import { ApiProvider, keptKey } from './session.tsx';
import { SignIn } from './sign-in.tsx';
import { WorkersView } from './workers.tsx';

export function Console() {
  const [secretKey, setSecretKey] = useState(keptKey.read);
  const api = useMemo(() => (secretKey === null ? null : makeApi(secretKey)), [secretKey]);
  const place = usePlace();
  if (api === null) return <SignIn onKey={setSecretKey} />;
  const signOut = () => {
    keptKey.forget();
    setSecretKey(null);
  };
  return (
    <ApiProvider value={api}>
      <div className="frame">
        <header className="side">
          <a className="brand" href="#/rooms">
            <Mark /> Atrium <span>console</span>
          </a>
          <nav aria-label="Console">
            <NavLink to={{ view: 'rooms', query: '' }} isHere={place.view !== 'workers'} name="Rooms" />
            <NavLink to={{ view: 'workers' }} isHere={place.view === 'workers'} name="Workers" />
          </nav>
          <div className="side-end">
            <a href="/docs">API</a>
            <button type="button" onClick={signOut}>
              Sign out
            </button>
          </div>
        </header>
        <main>
          <View place={place} />
        </main>
      </div>
    </ApiProvider>
  );
}

function View({ place }: { place: Place }) {
  if (place.view === 'workers') return <WorkersView />;
  if (place.view === 'room') return <RoomView key={place.roomId} roomId={place.roomId} tab={place.tab} />;
  return <RoomsView key={place.query} query={place.query} />;
}

function NavLink({ to, isHere, name }: { to: Place; isHere: boolean; name: string }) {
  return (
    <a href={hrefOf(to)} aria-current={isHere ? 'page' : undefined}>
      {name}
    </a>
  );
}
