/** Takes the secret key, once for this tab, when the server takes it too. */
import { type FormEvent, useState } from 'react';
import { Mark } from '../shared/mark.tsx';
import { makeApi, type Refusal } from './api.ts';
import { keptKey } from './session.tsx';

/** Others come along when text is copied; a browser sends none of them. */
const KEY_SIGNS = /^[\x21-\x7e]+$/;
const UNKNOWN_KEY = 'The server does not know this key.';

export function SignIn({ onKey }: { onKey: (secretKey: string) => void }) {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault();
    const secretKey = text.trim();
    if (!KEY_SIGNS.test(secretKey)) return setProblem(UNKNOWN_KEY);
    setBusy(true);
    setProblem(null);
    try {
      await makeApi(secretKey).get('/v2/rooms?limit=1');
      keptKey.write(secretKey);
      onKey(secretKey);
    } catch (error) {
      setProblem(problemOf(error as Refusal));
      setBusy(false);
    }
  };
  return (
    <main className="sign-in">
      <form className="card" onSubmit={onSubmit}>
        <h1>
          <Mark /> Atrium console
        </h1>
        <label htmlFor="secret-key">Secret key</label>
        <input
          id="secret-key"
          type="password"
          autoComplete="off"
          spellCheck={false}
          placeholder="sk_…"
          value={text}
          onChange={(event) => setText(event.target.value)}
          aria-describedby="key-words"
        />
        <p id="key-words" className="quiet">
          With development keys it was printed when the server started. It stays in this tab until you close it.
        </p>
        {problem !== null && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" className="primary" disabled={isBusy || text.trim() === ''}>
          {isBusy ? 'Asking…' : 'Open'}
        </button>
      </form>
    </main>
  );
}

function problemOf({ status, message }: Refusal): string {
  return status === 401 || status === 403 ? UNKNOWN_KEY : message;
}
