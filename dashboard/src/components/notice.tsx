// Empty states, error states and notices.
import { CheckCircledIcon, ExclamationTriangleIcon, InfoCircledIcon } from '@radix-ui/react-icons';
import type { ReactNode } from 'react';
import { ApiFailure, unloadedTitle, wordsOf } from '../api/failure.ts';
import { Button } from './button.tsx';
import { joined } from './class-names.ts';
import { CodeBlock } from './code-block.tsx';
import { Id } from './id.tsx';
import styles from './notice.module.css';
import { Prose } from './prose.tsx';
import type { Tone } from './state.tsx';

interface EmptyStateProps {
  readonly icon?: ReactNode;
  /** "No deployments yet". */
  readonly title: string;
  /** Says what the missing items are for, and how to create the first one. In a string, `...` is code. */
  readonly children?: ReactNode;
  /** Next commands, each with a copy button. */
  readonly commands?: readonly string[];
  /** The next button. */
  readonly action?: ReactNode;
}

/** A text in place of an empty list, with the next step for the user. */
export function EmptyState({ icon, title, children, commands = [], action }: EmptyStateProps) {
  return (
    <div className={styles.empty}>
      {icon}
      <div>
        <h2>{title}</h2>
        {children !== undefined && children !== false && (
          <p>{typeof children === 'string' ? <Prose text={children} /> : children}</p>
        )}
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

type ErrorStateProps = FailedWork & { readonly error: unknown; readonly onRetry?: () => void };

type FailedWork =
  /** What failed: "Could not load the deployments". */
  | { readonly title: string; readonly one?: undefined }
  /** The kind of the record that was not loaded, such as "deployment". The record may not exist. */
  | { readonly one: string; readonly title?: undefined };

const advice: Readonly<Record<string, string>> = {
  forbidden: 'Ask an owner or admin of the organization for the required role.',
  not_found: 'The record may have been deleted, or you may not be a member of its organization.',
  rate_limited: 'Wait a moment. The page retries automatically.',
  unreachable: 'The page reconnects automatically.',
};

/** An error: what failed, why, what to do, and the request ID to find it in the log. */
export function ErrorState({ title, one, error, onRetry }: ErrorStateProps) {
  const failure = error instanceof ApiFailure ? error : null;
  const advised = failure === null ? undefined : advice[failure.code];
  const isMissing = failure?.isMissing === true;
  // For a deleted record there is no retry button, because a retry would not bring the record back.
  const isFinal = isMissing || failure?.code === 'forbidden';
  return (
    // A record that was deleted or never existed is not shown as a failure.
    <Notice tone={isMissing ? 'neutral' : 'failed'} title={title ?? unloadedTitle(one, error)}>
      <p>
        <Prose text={wordsOf(error)} />
      </p>
      {advised !== undefined && <p className={styles.soft}>{advised}</p>}
      {failure?.requestId != null && (
        <p className={styles.soft}>
          Request <Id id={failure.requestId} />
        </p>
      )}
      {onRetry !== undefined && !isFinal && (
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

/** A notice. */
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
