// An editor for SQL or JSON. The library is loaded with the first editor; until then a plain text area is shown.
import { lazy, Suspense } from 'react';
import { TextArea } from './field.tsx';

export interface EditorProps {
  readonly label: string;
  readonly language: 'sql' | 'json' | 'text';
  readonly value: string;
  readonly onChange?: (value: string) => void;
  /** Called on Ctrl+Enter. */
  readonly onRun?: () => void;
  readonly isReadOnly?: boolean;
  /** Completions: columns by table. */
  readonly schema?: Readonly<Record<string, readonly string[]>>;
  /** Pixels. */
  readonly minHeight?: number;
}

const Loaded = lazy(() => import('./editor-loaded.tsx'));

export function Editor(props: EditorProps) {
  const { label, value, onChange, isReadOnly = false } = props;
  const plain = (
    <TextArea
      aria-label={label}
      value={value}
      readOnly={isReadOnly}
      onChange={(event) => onChange?.(event.target.value)}
    />
  );
  return (
    <Suspense fallback={plain}>
      <Loaded {...props} />
    </Suspense>
  );
}
