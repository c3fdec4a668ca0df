/** A text in a Yjs document, in the editor Tiptap; any editor with a Yjs binding works the same way. */

import { useRoom } from '@liveblocks/react/suspense';
import { getYjsProviderForRoom } from '@liveblocks/yjs';
import { Collaboration } from '@tiptap/extension-collaboration';
import { CollaborationCaret } from '@tiptap/extension-collaboration-caret';
import { Placeholder } from '@tiptap/extension-placeholder';
import { type Editor, EditorContent, useEditor, useEditorState } from '@tiptap/react';
import { StarterKit } from '@tiptap/starter-kit';
import { useMemo } from 'react';
import { useIsEditorReady } from './editor-ready.ts';
import { keepText, safeAwareness } from './editor-safe.ts';
import type { Visitor } from './visitor.ts';

export function SharedText({ visitor: { name, color } }: { visitor: Visitor }) {
  const provider = getYjsProviderForRoom(useRoom());
  const isReady = useIsEditorReady(provider);
  const doc = provider.getYDoc();
  const fragment = doc.getXmlFragment('text');
  keepText(fragment); // before the editor: who listens first hears first
  const awareness = useMemo(() => safeAwareness(provider.awareness, doc), [provider, doc]);
  const editor = useEditor({
    extensions: [
      StarterKit.configure({ undoRedo: false, link: false }), // Yjs undoes what this person did, and only that
      Placeholder.configure({ placeholder: 'Write here. Two people may write in one sentence.' }),
      Collaboration.configure({ fragment }),
      CollaborationCaret.configure({ provider: { awareness }, user: { name, color } }),
    ],
    editorProps: { attributes: { 'aria-label': 'Shared text', 'aria-multiline': 'true', role: 'textbox' } },
    immediatelyRender: true,
    injectCSS: true,
  });
  return (
    <section className="card text-card" aria-label="Text">
      <div className="card-head">
        <h2>Text</h2>
        <p>A Yjs document in Tiptap.</p>
        <Tools editor={editor} />
      </div>
      <EditorContent editor={editor} className={isReady ? 'text' : 'text not-ready'} />
    </section>
  );
}

type Command = 'toggleBold' | 'toggleItalic' | 'toggleBulletList';

const TOOLS: readonly { name: string; sign: string; mark: string; command: Command | 'heading' }[] = [
  { name: 'Bold', sign: 'B', mark: 'bold', command: 'toggleBold' },
  { name: 'Italic', sign: 'I', mark: 'italic', command: 'toggleItalic' },
  { name: 'Heading', sign: 'H', mark: 'heading', command: 'heading' },
  { name: 'Bullets', sign: '•', mark: 'bulletList', command: 'toggleBulletList' },
];

function Tools({ editor }: { editor: Editor }) {
  const active = useEditorState({
    editor,
    selector: () => TOOLS.filter(({ mark }) => editor.isActive(mark)).map(({ mark }) => mark),
  });
  return (
    <div className="pair tools" role="toolbar" aria-label="Format">
      {TOOLS.map(({ name, sign, mark, command }) => (
        <button
          key={mark}
          type="button"
          className={mark}
          aria-label={name}
          title={name}
          aria-pressed={active.includes(mark)}
          onMouseDown={(event) => event.preventDefault()} // the text keeps its selection
          onClick={() => run(editor, command)}
        >
          {sign}
        </button>
      ))}
    </div>
  );
}

function run(editor: Editor, command: Command | 'heading'): void {
  const chain = editor.chain().focus();
  if (command === 'heading') chain.toggleHeading({ level: 2 }).run();
  else chain[command]().run();
}
