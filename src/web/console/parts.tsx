/** What several views are made of. */
import { type ReactNode, useEffect, useRef } from 'react';
import type { Refusal } from './api.ts';

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

export function Ago({ iso }: { iso: string | null | undefined }) {
  if (iso === null || iso === undefined) return <span className="quiet">never</span>;
  const ms = new Date(iso).getTime() - Date.now();
  const [unit, size] = UNITS.find(([, length]) => Math.abs(ms) >= length) ?? UNITS.at(-1)!;
  return (
    <time dateTime={iso} title={dates.format(new Date(iso))}>
      {relative.format(Math.round(ms / size), unit)}
    </time>
  );
}

export function Problem({ error }: { error: Refusal }) {
  return (
    <p className="problem" role="alert">
      {error.message}
    </p>
  );
}

/** Says what there is to say while there is nothing to show. */
export function Waiting({ of }: { of: { error: Refusal | null; isLoading: boolean } }) {
  if (of.error !== null) return <Problem error={of.error} />;
  return <p className="empty">Loading…</p>;
}

interface ConfirmProps {
  readonly title: string;
  readonly action: string;
  readonly tone?: 'danger' | 'plain';
  readonly isBusy: boolean;
  readonly mayGo?: boolean;
  readonly error: Refusal | null;
  readonly children: ReactNode;
  onGo(): void;
  onCancel(): void;
}

/** A question before something is done that others notice. */
export function Confirm({ title, action, tone = 'plain', isBusy, mayGo = true, error, children, onGo, onCancel }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="card confirm" aria-labelledby="confirm-title" onClose={onCancel}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (mayGo && !isBusy) onGo();
        }}
      >
        <h2 id="confirm-title">{title}</h2>
        {children}
        {error !== null && <Problem error={error} />}
        <div className="row end">
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
          <button type="submit" className={tone === 'danger' ? 'danger' : 'primary'} disabled={isBusy || !mayGo}>
            {isBusy ? 'Working…' : action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
