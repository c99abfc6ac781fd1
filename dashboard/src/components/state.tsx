// Status indicators: a dot and a word, never the colour alone; and badges.
import type { ReactNode } from 'react';
import { joined } from './class-names.ts';
import styles from './state.module.css';

export type Tone = 'neutral' | 'ok' | 'running' | 'warning' | 'failed';

/** @example <State tone="ok">Ready</State> */
export function State({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <span className={joined(styles.state, styles[tone])}>
      <span className={styles.dot} aria-hidden />
      {children}
    </span>
  );
}

/** @example <Badge tone="running">Production</Badge> */
export function Badge({
  tone = 'neutral',
  children,
  title,
}: {
  readonly tone?: Tone;
  readonly children: ReactNode;
  readonly title?: string;
}) {
  return (
    <span className={joined(styles.badge, styles[tone])} title={title}>
      {children}
    </span>
  );
}
