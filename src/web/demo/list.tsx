/** A list in a LiveList: what two people do to it at once is merged, and each undoes only what was theirs. */
import { LiveObject } from '@liveblocks/client';
import { useCanRedo, useCanUndo, useMutation, useRedo, useStorage, useUndo } from '@liveblocks/react/suspense';
import { type FormEvent, useState } from 'react';
import { CloseIcon, DownIcon, RedoIcon, UndoIcon, UpIcon } from '../shared/icons.tsx';
import { isItem, itemsIn, placeOf } from './items.ts';
import { randomId } from './random-id.ts';

const ITEMS_MAX = 100;
const TEXT_LENGTH_MAX = 120;

export function List() {
  const items = useStorage(({ list }) => list as readonly unknown[]);
  const [undo, redo, canUndo, canRedo] = [useUndo(), useRedo(), useCanUndo(), useCanRedo()];
  return (
    <section className="card list-card" aria-label="List">
      <div className="card-head">
        <h2>List</h2>
        <p>A LiveList: you undo only what you did.</p>
        <div className="pair">
          <button type="button" aria-label="Undo" title="Undo" disabled={!canUndo} onClick={undo}>
            <UndoIcon />
          </button>
          <button type="button" aria-label="Redo" title="Redo" disabled={!canRedo} onClick={redo}>
            <RedoIcon />
          </button>
        </div>
      </div>
      <NewItem isFull={items.length >= ITEMS_MAX} />
      {items.length === 0 && <p className="empty">Nothing on the list. Add the first item.</p>}
      <ol className="items">
        {items.filter(isItem).map((item, index) => (
          <Item key={item.id} item={item} index={index} isLast={index === items.length - 1} />
        ))}
      </ol>
    </section>
  );
}

function NewItem({ isFull }: { isFull: boolean }) {
  const [text, setText] = useState('');
  const add = useMutation(({ storage }, line: string) => {
    itemsIn(storage).push(new LiveObject({ id: randomId(8), text: line, done: false }));
  }, []);
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() === '' || isFull) return;
    add(text.trim());
    setText('');
  };
  return (
    <form className="new-item" onSubmit={onSubmit}>
      <input
        value={text}
        maxLength={TEXT_LENGTH_MAX}
        onChange={(event) => setText(event.target.value)}
        placeholder={isFull ? 'The list is full' : 'Add an item'}
        aria-label="New item"
      />
      <button type="submit" className="primary" disabled={isFull || text.trim() === ''}>
        Add
      </button>
    </form>
  );
}

function Item({ item, index, isLast }: { item: Readonly<ItemFields>; index: number; isLast: boolean }) {
  const { id, text, done } = item;
  const toggle = useMutation(({ storage }) => itemsIn(storage).get(placeOf(storage, id))?.set('done', !done), [id, done]);
  const move = useMutation(
    ({ storage }, by: number) => {
      const at = placeOf(storage, id);
      if (at >= 0 && at + by >= 0 && at + by < itemsIn(storage).length) itemsIn(storage).move(at, at + by);
    },
    [id],
  );
  const remove = useMutation(
    ({ storage }) => {
      const at = placeOf(storage, id);
      if (at >= 0) itemsIn(storage).delete(at);
    },
    [id],
  );
  return (
    <li>
      <label className={done ? 'done' : ''}>
        <input type="checkbox" checked={done} onChange={() => toggle()} />
        <span>{text}</span>
      </label>
      <button type="button" className="ghost" aria-label={`Move up: ${text}`} disabled={index === 0} onClick={() => move(-1)}>
        <UpIcon />
      </button>
      <button type="button" className="ghost" aria-label={`Move down: ${text}`} disabled={isLast} onClick={() => move(1)}>
        <DownIcon />
      </button>
      <button type="button" className="ghost" aria-label={`Delete: ${text}`} onClick={() => remove()}>
        <CloseIcon />
      </button>
    </li>
  );
}
