// Steps of a run on a time axis. An expanded step shows its details, and a button that runs the run again from this
// step.
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Notice } from '../../components/notice.tsx';
import { Facts } from '../../components/page.tsx';
import { durationText, Time } from '../../components/time.tsx';
import styles from '../storage/storage.module.css';
import { JsonValue } from '../storage/value.tsx';
import type { RunStep } from './run-step.ts';

/** Steps as bars on the time axis of the run. */
export function RunAxis({
  steps,
  from,
  to,
  onRestart,
}: {
  readonly steps: readonly RunStep[];
  readonly from: number;
  readonly to: number | null;
  readonly onRestart: (step: string) => void;
}) {
  const [opened, setOpened] = useState<string | null>(null);
  if (steps.length === 0) return <p className={styles.faint}>No steps yet.</p>;
  const end = Math.max(
    to ?? Date.now(),
    ...steps.map(({ endedAt, startedAt, status }) => endedAt ?? (status === 'waiting' ? startedAt + 1 : startedAt)),
    from + 1,
  );
  const begin = Math.min(from, ...steps.map(({ startedAt }) => startedAt));
  // In an unfinished run, the bars of waiting steps reach to the end of the axis.
  const last = to === null ? end + Math.max(1, (end - begin) * 0.15) : end;
  const share = (at: number): number => ((at - begin) / (last - begin)) * 100;
  return (
    <div className={styles.block}>
      <div className={styles.more}>
        <span className={styles.label}>Steps</span>
        <span>{durationText(end - begin)}</span>
      </div>
      <div className={styles.axis}>
        {steps.map((step) => {
          const isOpen = opened === step.name;
          const left = share(step.startedAt);
          const right = share(step.endedAt ?? last);
          return (
            <div key={step.name}>
              <button
                type="button"
                className={styles.step}
                style={{ width: '100%' }}
                aria-expanded={isOpen}
                onClick={() => setOpened(isOpen ? null : step.name)}
              >
                <span className={styles.line} title={step.name}>
                  {step.name}
                </span>
                <span className={styles.track} aria-hidden>
                  <span
                    className={styles.span}
                    data-tone={
                      step.status === 'failed'
                        ? 'failed'
                        : step.status === 'waiting'
                          ? 'waiting'
                          : step.kind === 'run'
                            ? 'done'
                            : 'slept'
                    }
                    style={{ left: `${left}%`, width: `${Math.max(right - left, 0.5)}%` }}
                  />
                </span>
                <span className={styles.took}>
                  {step.status === 'waiting'
                    ? 'waiting'
                    : durationText((step.endedAt ?? step.startedAt) - step.startedAt)}
                </span>
              </button>
              {isOpen && (
                <div className={styles.opened}>
                  <Facts
                    facts={[
                      ['Kind', step.kind === 'run' ? 'step' : step.kind === 'sleep' ? 'sleep' : 'wait for event'],
                      ['Status', step.status],
                      ['Failed attempts', step.attempts === 0 ? null : step.attempts],
                      ['Event', step.eventType === null ? null : <span className={styles.mono}>{step.eventType}</span>],
                      ['Started', <Time key="begun" at={step.startedAt} isExact />],
                      [
                        'Resumes',
                        step.wakeAt === null || step.endedAt !== null ? null : <Time key="wakes" at={step.wakeAt} />,
                      ],
                    ]}
                  />
                  {step.error !== null && (
                    <Notice tone="failed" title={step.error.name}>
                      <span className={styles.mono}>{step.error.message}</span>
                    </Notice>
                  )}
                  {step.status === 'done' && step.kind !== 'sleep' && <JsonValue value={step.result} />}
                  <div>
                    <Button
                      size="small"
                      onClick={() => onRestart(step.name)}
                      aria-label={`Rerun from here: ${step.name}`}
                    >
                      Rerun from here
                    </Button>
                  </div>
                </div>
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}
