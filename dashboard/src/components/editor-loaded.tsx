// The editor: CodeMirror in a shadow root, where it can add stylesheets despite the CSP. Loaded by editor.tsx.
import { json } from '@codemirror/lang-json';
import { sql, SQLite } from '@codemirror/lang-sql';
import { Compartment, EditorState, Prec } from '@codemirror/state';
import { EditorView, keymap } from '@codemirror/view';
import { basicSetup } from 'codemirror';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { tags } from '@lezer/highlight';
import { useEffect, useEffectEvent, useRef } from 'react';
import styles from './editor.module.css';
import type { EditorProps } from './editor.tsx';

const look = EditorView.theme({
  '&': { backgroundColor: 'transparent', color: 'var(--text)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--sunken)',
    color: 'var(--text-faint)',
    border: 'none',
    fontFamily: 'var(--mono)',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in oklch, var(--hover), transparent 40%)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
    color: 'var(--text)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--accent-text)' },
});
const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warning)' },
  { tag: [tags.comment], color: 'var(--text-faint)' },
  { tag: [tags.propertyName, tags.typeName], color: 'var(--running)' },
]);

const MIN_HEIGHT_PX = 120;

/**
 * When the user types over selected text, Chromium inserts the new text with an inline style, which the CSP refuses. So
 * the editor replaces the text itself. Other input handlers, such as brackets around a selection, still run.
 */
const typeOverMarked = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { main } = view.state.selection;
    if (event.inputType !== 'insertText' || event.data === null || main.empty || view.composing || view.state.readOnly)
      return false;
    const typed = event.data;
    const insert = () => view.state.update(view.state.replaceSelection(typed), { userEvent: 'input.type' });
    const isDone = view.state
      .facet(EditorView.inputHandler)
      .some((handler) => handler(view, main.from, main.to, typed, insert));
    if (!isDone) view.dispatch(insert());
    return true;
  },
});

export default function EditorLoaded(props: EditorProps) {
  const { label, language, value, onChange, onRun, isReadOnly = false, schema, minHeight = MIN_HEIGHT_PX } = props;
  const frame = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const change = useEffectEvent((next: string) => onChange?.(next));
  const run = useEffectEvent(() => onRun?.());
  const first = useEffectEvent(() => value);
  const languagePart = useRef(new Compartment());
  useEffect(() => {
    const host = frame.current!;
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open', delegatesFocus: true });
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: first(),
        extensions: [
          Prec.highest(keymap.of([{ key: 'Mod-Enter', run: () => (run(), true) }])),
          basicSetup,
          typeOverMarked,
          languagePart.current.of([]),
          look,
          syntaxHighlighting(colors),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorView.theme({ '.cm-content, .cm-gutter': { minHeight: `${minHeight}px` } }),
          EditorState.readOnly.of(isReadOnly),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) change(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, [label, isReadOnly, minHeight]);
  useEffect(() => {
    const tables = Object.fromEntries(Object.entries(schema ?? {}).map(([name, columns]) => [name, [...columns]]));
    const chosen = language === 'sql' ? sql({ dialect: SQLite, schema: tables }) : language === 'json' ? json() : [];
    view.current?.dispatch({ effects: languagePart.current.reconfigure(chosen) });
  }, [language, schema, label, isReadOnly, minHeight]);
  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);
  return <div ref={frame} className={styles.editor} />;
}
