// An ID or a hash, shortened in the middle; a click copies it in full.
import { CheckIcon, CopyIcon } from '@radix-ui/react-icons';
import { useEffect, useState } from 'react';
import { copyText } from './copy-button.tsx';
import styles from './id.module.css';

const SHOWN_MS = 1500;

interface IdProps {
  readonly id: string;
  /** Maximum characters shown, 16 by default. */
  readonly chars?: number;
  /** Shows the ID as text only, for use inside links. */
  readonly isPlain?: boolean;
}

export function Id({ id, chars = 16, isPlain = false }: IdProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const shown = shortened(id, chars);
  if (isPlain) {
    return (
      <span className={styles.id} title={id}>
        {shown}
      </span>
    );
  }
  const copy = async (): Promise<void> => {
    await copyText(id);
    setCopied(true);
  };
  return (
    <button type="button" className={styles.id} title={`${id}: copy`} onClick={() => void copy()}>
      {shown}
      <span className="visually-hidden">, copy</span>
      {isCopied ? <CheckIcon /> : <CopyIcon />}
    </button>
  );
}

/** @example shortened('prj_01hzy8p7q5', 9) // 'prj_…p7q5' */
export function shortened(id: string, chars: number): string {
  if (id.length <= chars) return id;
  const half = Math.floor((chars - 1) / 2);
  return `${id.slice(0, chars - 1 - half)}…${id.slice(-half)}`;
}
