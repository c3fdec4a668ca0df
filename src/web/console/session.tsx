/** The secret key of this tab, and what is asked with it. The key is kept until the tab is closed, and never leaves this origin. */
import { createContext, useCallback, useContext, useEffect, useRef, useState } from 'react';
import { type Api, Refusal } from './api.ts';

const KEY = 'atrium-secret-key';

export const keptKey = {
  read: (): string | null => sessionStorage.getItem(KEY),
  write: (secretKey: string): void => sessionStorage.setItem(KEY, secretKey),
  forget: (): void => sessionStorage.removeItem(KEY),
};

const ApiContext = createContext<Api | null>(null);
export const ApiProvider = ApiContext.Provider;

export function useApi(): Api {
  const api = useContext(ApiContext);
  if (api === null) throw new Error('not signed in');
  return api;
}

export interface Loaded<Value> {
  /** What was there before stays while it is asked for anew. */
  readonly value: Value | null;
  readonly error: Refusal | null;
  readonly isLoading: boolean;
  reload(): void;
}

/** Asks for `path`, and again when it changes, and every `everyMs` while the page is seen. */
export function useLoaded<Value>(path: string, everyMs?: number): Loaded<Value> {
  const api = useApi();
  const [state, setState] = useState<Omit<Loaded<Value>, 'reload'> & { path: string }>({
    path,
    value: null,
    error: null,
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const isAsking = useRef(false);
  const reload = useCallback(() => setTurn((before) => before + 1), []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` stands for the wish to ask again
  useEffect(() => {
    let isOver = false;
    isAsking.current = true;
    const done = (found: { value: Value } | { error: Refusal }) => {
      if (isOver) return;
      isAsking.current = false;
      setState((before) => ({
        path,
        value: before.path === path ? before.value : null,
        error: null,
        ...found,
        isLoading: false,
      }));
    };
    setState((before) =>
      before.path === path ? { ...before, isLoading: true } : { path, value: null, error: null, isLoading: true },
    );
    api.get<Value>(path).then(
      (value) => done({ value }),
      (error: unknown) =>
        done({ error: error instanceof Refusal ? error : new Refusal({ status: 0, code: 'BUG', message: String(error) }) }),
    );
    return () => {
      isOver = true;
    };
  }, [api, path, turn]);

  useEffect(() => {
    if (everyMs === undefined) return undefined;
    // a server that is slower than this is not asked again before it has answered
    const timer = setInterval(() => document.visibilityState === 'visible' && !isAsking.current && reload(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, reload]);

  return { ...state, reload };
}
