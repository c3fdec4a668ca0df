/** A document as a tree that opens where one looks: children are drawn when their parent is opened, a page of them at a time. */
import { useState } from 'react';

const CHILDREN_PER_PAGE = 50;
const TEXT_LENGTH_MAX = 300;

interface TreeProps {
  readonly name: string;
  readonly value: unknown;
  /** Levels that are open at first. */
  readonly open?: number;
}

export function JsonTree({ name, value, open = 2 }: TreeProps) {
  const { kind, content } = unwrap(value);
  if (content === null || typeof content !== 'object') {
    return (
      <div className="leaf">
        <Key name={name} /> <Scalar value={content} />
      </div>
    );
  }
  const entries = Object.entries(content);
  const words = kind ?? (Array.isArray(content) ? 'array' : 'object');
  if (entries.length === 0) {
    return (
      <div className="leaf">
        <Key name={name} /> <span className="kind">{words}</span> <span className="quiet">empty</span>
      </div>
    );
  }
  return <Branch name={name} words={words} entries={entries} open={open} />;
}

function Branch({ name, words, entries, open }: { name: string; words: string; entries: [string, unknown][]; open: number }) {
  const [isOpen, setOpen] = useState(open > 0);
  const [shown, setShown] = useState(CHILDREN_PER_PAGE);
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Key name={name} /> <span className="kind">{words}</span> <span className="quiet">{entries.length}</span>
      </summary>
      {isOpen && (
        <div className="children">
          {entries.slice(0, shown).map(([key, child]) => (
            <JsonTree key={key} name={key} value={child} open={open - 1} />
          ))}
          {entries.length > shown && (
            <button type="button" onClick={() => setShown(shown + CHILDREN_PER_PAGE)}>
              {entries.length - shown} more
            </button>
          )}
        </div>
      )}
    </details>
  );
}

function Key({ name }: { name: string }) {
  return <span className="key">{name}</span>;
}

function Scalar({ value }: { value: unknown }) {
  const text =
    typeof value === 'string'
      ? `“${value.slice(0, TEXT_LENGTH_MAX)}${value.length > TEXT_LENGTH_MAX ? '…' : ''}”`
      : String(value);
  return <span className={`scalar ${typeof value}`}>{text}</span>;
}

/** A node of Storage says its kind beside its data; the name of that field is a setting. */
function unwrap(value: unknown): { kind: string | null; content: unknown } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { kind: null, content: value };
  const fields = value as Record<string, unknown>;
  const kind = fields.serviceType ?? fields.liveblocksType;
  return typeof kind === 'string' && 'data' in fields ? { kind, content: fields.data } : { kind: null, content: value };
}
