// A code block or command with a copy button.
import type { ReactNode } from 'react';
import { joined } from './class-names.ts';
import styles from './code-block.module.css';
import { CopyButton } from './copy-button.tsx';

interface CodeBlockProps {
  readonly code: string;
  /** Shows a `$` prompt, which is not copied. Long commands wrap. */
  readonly isCommand?: boolean;
  readonly wraps?: boolean;
}

export function CodeBlock({ code, isCommand = false, wraps = isCommand }: CodeBlockProps) {
  return (
    <div className={joined(styles.block, wraps && styles.wraps)}>
      <pre tabIndex={0} className={isCommand ? styles.prompt : undefined}>
        {isCommand ? wordByWord(code) : code}
      </pre>
      <CopyButton text={code} />
    </div>
  );
}

/** The words of a command: lines break between words, not at hyphens, unless a word is longer than a line. */
function wordByWord(command: string): ReactNode {
  return command.split(/(\s+)/).map((part, at) => (at % 2 === 1 ? part : <span key={at}>{part}</span>));
}
