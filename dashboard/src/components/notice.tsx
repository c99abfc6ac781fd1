// What a page says instead of, or above, what it shows: nothing is there yet, it went wrong, take note.
import { CheckCircledIcon, ExclamationTriangleIcon, InfoCircledIcon } from '@radix-ui/react-icons';
import type { ReactNode } from 'react';
import { ApiFailure, wordsOf } from '../api/failure.ts';
import { Button } from './button.tsx';
import { joined } from './class-names.ts';
import { CodeBlock } from './code-block.tsx';
import { Id } from './id.tsx';
import styles from './notice.module.css';
import type { Tone } from './state.tsx';

interface EmptyStateProps {
  readonly icon?: ReactNode;
  /** What is not there: "No deployments yet". */
  readonly title: string;
  /** What it is good for, and how it comes. */
  readonly children?: ReactNode;
  /** The next commands, each with its copy button. */
  readonly commands?: readonly string[];
  /** The next button. */
  readonly action?: ReactNode;
}

/** Nothing is there yet: teaches the next step. */
export function EmptyState({ icon, title, children, commands = [], action }: EmptyStateProps) {
  return (
    <div className={styles.empty}>
      {icon}
      <div>
        <h2>{title}</h2>
        {children !== undefined && <p>{children}</p>}
      </div>
      {commands.length > 0 && (
        <div className={styles.steps}>
          {commands.map((command) => (
            <CodeBlock key={command} code={command} isCommand />
          ))}
        </div>
      )}
      {action !== undefined && <div className={styles.actions}>{action}</div>}
    </div>
  );
}

interface ErrorStateProps {
  /** What was tried: "The deployments could not be read". */
  readonly title: string;
  readonly error: unknown;
  readonly onRetry?: () => void;
}

const advice: Readonly<Record<string, string>> = {
  forbidden: 'Ask an owner or admin of the organization for the role that this needs.',
  not_found: 'It may have been deleted, or you may not be a member of its organization.',
  rate_limited: 'Wait a moment; the page tries again by itself.',
  unreachable: 'The page goes on by itself as soon as the platform answers again.',
};

/** It went wrong: what, why, what to do, and the request's id for whoever reads the log. */
export function ErrorState({ title, error, onRetry }: ErrorStateProps) {
  const failure = error instanceof ApiFailure ? error : null;
  const advised = failure === null ? undefined : advice[failure.code];
  return (
    <Notice tone="failed" title={title}>
      <p>{wordsOf(error)}</p>
      {advised !== undefined && <p className={styles.soft}>{advised}</p>}
      {failure?.requestId != null && (
        <p className={styles.soft}>
          Request <Id id={failure.requestId} />
        </p>
      )}
      {onRetry !== undefined && (
        <div>
          <Button size="small" onClick={onRetry}>
            Try again
          </Button>
        </div>
      )}
    </Notice>
  );
}

interface NoticeProps {
  readonly tone?: Tone;
  readonly title?: ReactNode;
  readonly children?: ReactNode;
}

/** Something to take note of. */
export function Notice({ tone = 'neutral', title, children }: NoticeProps) {
  const Icon =
    tone === 'failed' || tone === 'warning'
      ? ExclamationTriangleIcon
      : tone === 'ok'
        ? CheckCircledIcon
        : InfoCircledIcon;
  return (
    <div className={joined(styles.notice, styles[tone])} role={tone === 'failed' ? 'alert' : undefined}>
      <Icon aria-hidden />
      <div>
        {title !== undefined && <div className={styles.title}>{title}</div>}
        {children}
      </div>
    </div>
  );
}
