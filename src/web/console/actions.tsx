/** What an operator may do to a room, each after a question. */
import { type ReactNode, useState } from 'react';
import { type Api, consolePath, type Refusal, roomPath } from './api.ts';
import { Confirm } from './parts.tsx';
import { goTo } from './place.ts';
import { useApi } from './session.tsx';

type Name = 'broadcast' | 'version' | 'disconnect' | 'delete';

interface Action {
  readonly button: string;
  readonly title: (roomId: string) => string;
  readonly words: string;
  readonly action: string;
  readonly tone?: 'danger';
  /** What is typed in: an event, or the id of the room, so that no other room is deleted by mistake. */
  readonly input?: { readonly label: string; readonly first: string; fits(text: string, roomId: string): boolean };
  /** Resolves with what to say when it is done. */
  run(api: Api, roomId: string, text: string): Promise<string>;
}

const ACTIONS: Readonly<Record<Name, Action>> = {
  broadcast: {
    button: 'Broadcast',
    title: () => 'Broadcast an event',
    words: 'Everybody who is in the room gets this event, as JSON. Who is not there never hears of it.',
    action: 'Broadcast',
    input: { label: 'Event', first: '{ "type": "RELOAD" }', fits: isJson },
    async run(api, roomId, text) {
      await api.send('POST', roomPath(roomId, '/broadcast-event'), JSON.parse(text));
      return 'The event was sent.';
    },
  },
  version: {
    button: 'Make a version',
    title: () => 'Make a version',
    words: 'Storage and all Yjs documents are kept as they are now, until somebody deletes the version.',
    action: 'Make a version',
    async run(api, roomId) {
      const { data } = await api.send<{ data: { id: string } }>('POST', roomPath(roomId, '/versions'));
      return `Version ${data.id} was made.`;
    },
  },
  disconnect: {
    button: 'Disconnect all',
    title: () => 'Disconnect everybody?',
    words: 'All connections to this room are closed. Clients that may enter come back by themselves within seconds.',
    action: 'Disconnect all',
    async run(api, roomId) {
      const { disconnected } = await api.send<{ disconnected: number }>('POST', consolePath(roomId, '/disconnect'), {});
      return `Connections closed: ${disconnected}.`;
    },
  },
  delete: {
    button: 'Delete',
    title: (roomId) => `Delete ${roomId}?`,
    words:
      'Its Storage, Yjs documents, versions, files and comments are gone for good, and everybody is sent away. Type its ID to go on.',
    action: 'Delete this room',
    tone: 'danger',
    input: { label: 'Room ID', first: '', fits: (text, roomId) => text === roomId },
    async run(api, roomId) {
      await api.send('DELETE', roomPath(roomId));
      goTo({ view: 'rooms', query: '' });
      return 'Deleted.';
    },
  },
};

export function Actions({ roomId, onDone }: { roomId: string; onDone: () => void }) {
  const [open, setOpen] = useState<Name | null>(null);
  const [said, setSaid] = useState('');
  return (
    <div className="actions">
      <div className="row">
        {(Object.keys(ACTIONS) as Name[]).map((name) => (
          <button key={name} type="button" className={ACTIONS[name].tone ?? ''} onClick={() => setOpen(name)}>
            {ACTIONS[name].button}
          </button>
        ))}
      </div>
      <p className="quiet" role="status">
        {said}
      </p>
      {open !== null && (
        <Asking
          key={open}
          roomId={roomId}
          action={ACTIONS[open]}
          onEnd={(words) => {
            setOpen(null);
            setSaid(words);
            if (words !== '') onDone();
          }}
        />
      )}
    </div>
  );
}

function Asking({ roomId, action, onEnd }: { roomId: string; action: Action; onEnd: (words: string) => void }) {
  const api = useApi();
  const [text, setText] = useState(action.input?.first ?? '');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Refusal | null>(null);
  const go = () => {
    setBusy(true);
    action.run(api, roomId, text).then(onEnd, (problem: Refusal) => {
      setError(problem);
      setBusy(false);
    });
  };
  const { input } = action;
  const field: ReactNode = input !== undefined && (
    <label className="field">
      {input.label}
      <input value={text} onChange={(event) => setText(event.target.value)} spellCheck={false} autoComplete="off" />
    </label>
  );
  return (
    <Confirm
      title={action.title(roomId)}
      action={action.action}
      tone={action.tone ?? 'plain'}
      isBusy={isBusy}
      mayGo={input === undefined || input.fits(text, roomId)}
      error={error}
      onGo={go}
      onCancel={() => onEnd('')}
    >
      <p>{action.words}</p>
      {field}
    </Confirm>
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
