// Waterfall chart of the spans of a trace.
import { useMemo, type CSSProperties } from 'react';
import { durationText } from '../../components/time.tsx';
import type { Span, Trace } from '../../queries/logs.ts';
import { placeSpans } from './span-tree.ts';
import styles from './waterfall.module.css';

/** Maximum indentation of names. */
const DEPTH_MAX = 12;
const TICKS = [0, 0.25, 0.5, 0.75, 1];

interface WaterfallProps {
  readonly trace: Trace;
  /** ID of the open span. */
  readonly opened: string | null;
  readonly onOpen: (spanId: string) => void;
}

export function Waterfall({ trace, opened, onOpen }: WaterfallProps) {
  const placed = useMemo(() => placeSpans(trace.spans), [trace]);
  const linesOf = useMemo(() => countLines(trace), [trace]);
  const whole = Math.max(trace.ms, 0.001);
  return (
    <div className={styles.waterfall}>
      <div className={styles.axis} aria-hidden>
        <span />
        <span className={styles.ticks}>
          {TICKS.map((part) => (
            <span key={part}>{durationText(part * trace.ms)}</span>
          ))}
        </span>
      </div>
      <ol aria-label="Spans">
        {placed.map(({ span, depth }) => (
          <li key={span.spanId}>
            <button
              type="button"
              className={styles.row}
              style={{ '--depth': Math.min(depth, DEPTH_MAX) } as CSSProperties}
              data-failed={span.error !== null}
              data-kind={span.kind}
              aria-current={span.spanId === opened || undefined}
              onClick={() => onOpen(span.spanId)}
            >
              <span className={styles.name}>
                <span className="visually-hidden">Level {depth + 1}: </span>
                <code title={span.name}>{span.name}</code>
                {span.error !== null && <span className={styles.failed}>failed</span>}
                {(linesOf.get(span.spanId) ?? 0) > 0 && (
                  <span className={styles.lines}>
                    {linesOf.get(span.spanId)} {linesOf.get(span.spanId) === 1 ? 'line' : 'lines'}
                  </span>
                )}
              </span>
              <span className={styles.track}>
                <span
                  className={styles.bar}
                  style={{ left: `${(span.startMs / whole) * 100}%`, width: `${(span.ms / whole) * 100}%` }}
                />
              </span>
              <span className={styles.ms}>{spanTime(span)}</span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** A short duration with decimals. @example spanTime({ ms: 0.42, ... }) // '0.4 ms' */
export function spanTime({ ms }: Pick<Span, 'ms'>): string {
  return ms < 100 ? `${ms.toFixed(ms < 1 ? 2 : 1)} ms` : durationText(ms);
}

/** Log lines belong to an invocation and are counted at its first span. */
function countLines({ spans, lines }: Trace): ReadonlyMap<string, number> {
  const ownSpan = new Map<string, string>();
  for (const { invocation, spanId } of spans) if (!ownSpan.has(invocation)) ownSpan.set(invocation, spanId);
  const counts = new Map<string, number>();
  for (const { invocation } of lines) {
    const span = invocation === null ? undefined : ownSpan.get(invocation);
    if (span !== undefined) counts.set(span, (counts.get(span) ?? 0) + 1);
  }
  return counts;
}
