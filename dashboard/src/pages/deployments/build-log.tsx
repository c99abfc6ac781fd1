// The live log of a deployment: successful steps collapsed, failed ones expanded; search, links to lines, download. The
// log follows its end until the user scrolls away.
import { ArrowDownIcon, ChevronRightIcon, DownloadIcon } from '@radix-ui/react-icons';
import { useMemo, useState, type ReactNode } from 'react';
import { useEvents, type ServerEvent } from '../../api/events.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { joined } from '../../components/class-names.ts';
import { Input } from '../../components/field.tsx';
import { saveText } from '../../components/save-text.ts';
import { clockText, durationText, exactTime } from '../../components/time.tsx';
import { VirtualList } from '../../components/virtual-list.tsx';
import { hasEnded, type Deployment } from '../../queries/deployments.ts';
import { usePreferences } from '../../state/preferences.ts';
import styles from './build-log.module.css';
import { coloursOf } from './colours.ts';
import { failingLine, lineParts, rowsOf, stepsOf, type LogLine, type LogRow, type LogStep } from './log-lines.ts';

const LINE_PX = 20;
/** Number of lines that the page keeps; the download has all of them. */
const LINES_MAX = 50_000;
const STEP_PX = 32;
const HEIGHT_PX_MAX = 640;
const WRAPPED = 1.25;

/** Live lines of a deployment's log. */
export function useBuildLog(deployment: Deployment): {
  readonly lines: readonly LogLine[];
  readonly isComplete: boolean;
} {
  const [state, setState] = useState<{ id: string; lines: readonly LogLine[]; isComplete: boolean }>({
    id: deployment.id,
    lines: [],
    isComplete: false,
  });
  // The list starts empty when another deployment is shown.
  const current = state.id === deployment.id ? state : { id: deployment.id, lines: [], isComplete: false };
  if (current !== state) setState(current);
  useEvents(current.isComplete ? null : `/deployments/${deployment.id}/logs?follow=true`, {
    names: ['line', 'end'],
    onEvent({ name, text }: ServerEvent) {
      if (name === 'end') {
        setState((before) => ({ ...before, isComplete: true }));
        return 'end';
      }
      if (name !== 'line') return undefined;
      const told = JSON.parse(text) as LogLine;
      const line: LogLine = { ...told, ...coloursOf(told.text) };
      setState((before) =>
        line.seq <= (before.lines.at(-1)?.seq ?? 0)
          ? before
          : { ...before, lines: [...before.lines.slice(-LINES_MAX), line] },
      );
      return undefined;
    },
  });
  return current;
}

interface BuildLogProps {
  readonly deployment: Deployment;
  readonly lines: readonly LogLine[];
  readonly isComplete: boolean;
  /** URL of a source file of the commit; null if it cannot be shown. */
  readonly linkTo: ((file: string, line: number) => string) | null;
}

export function BuildLog({ deployment, lines, isComplete, linkTo }: BuildLogProps) {
  const [search, setSearch] = useState('');
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const [isFollowing, setFollowing] = useState(!hasEnded(deployment));
  const linked = Number(/^#L(\d+)$/.exec(location.hash)?.[1] ?? 0);
  const steps = useMemo(() => stepsOf(lines, isComplete), [lines, isComplete]);
  const failing = useMemo(() => (hasEnded(deployment) ? failingLine(lines) : null), [lines, deployment]);
  const word = search.trim().toLowerCase();
  const rows = useMemo(() => {
    // The running step, failed steps and the step of the linked line are expanded.
    const opensItself = (step: LogStep): boolean =>
      step.ms === null ||
      step.hasError ||
      step.lines.some(({ seq }) => seq === linked) ||
      (isComplete && steps.length === 1);
    const found = word === '' ? steps : steps.flatMap((step) => matching(step, word));
    return rowsOf(found, (step) => word === '' && opensItself(step) === toggled.has(step.key));
  }, [steps, toggled, word, linked, isComplete]);
  const target = linked > 0 ? linked : (failing?.seq ?? 0);
  const shownIndex =
    word === '' && !isFollowing ? rows.findIndex((row) => row.kind === 'line' && row.line.seq === target) : null;
  const toggle = ({ key }: LogStep): void =>
    setToggled((before) => new Set(before.has(key) ? [...before].filter((one) => one !== key) : [...before, key]));
  const count = rows.filter(({ kind }) => kind === 'line').length;
  // The list has space for some wrapped lines, and scrolls if there are more.
  const height = Math.min((rows.length - count) * STEP_PX + count * LINE_PX * WRAPPED + LINE_PX, HEIGHT_PX_MAX);
  return (
    <div className={styles.frame}>
      <div className={styles.tools}>
        <Input
          aria-label="Search logs"
          placeholder="Search logs"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        {word !== '' && <span className={styles.count}>{count} lines</span>}
        <span className={styles.gap} />
        <IconButton label="Download log" size="small" onClick={() => saveText(`${deployment.id}.log`, logText(lines))}>
          <DownloadIcon />
        </IconButton>
      </div>
      {lines.length === 0 ? (
        <p className={styles.wait}>{isComplete ? 'No logs.' : 'Waiting for the build to start…'}</p>
      ) : (
        <VirtualList
          label="Build log"
          className={styles.log ?? ''}
          items={rows}
          itemKey={(row) => (row.kind === 'step' ? `step ${row.step.key}` : row.line.seq)}
          rowPx={LINE_PX}
          height={`${height}px`}
          isFollowing={isFollowing && !isComplete}
          onFollow={setFollowing}
          shownIndex={shownIndex}
        >
          {(row) => <Row row={row} word={word} linked={linked} linkTo={linkTo} onToggle={toggle} />}
        </VirtualList>
      )}
      {!isComplete && !isFollowing && lines.length > 0 && (
        <div className={styles.down}>
          <Button size="small" onClick={() => setFollowing(true)}>
            <ArrowDownIcon /> Jump to end
          </Button>
        </div>
      )}
    </div>
  );
}

function matching(step: LogStep, word: string): LogStep[] {
  const lines = step.lines.filter(({ text }) => text.toLowerCase().includes(word));
  return lines.length === 0 ? [] : [{ ...step, lines }];
}

interface RowProps extends Pick<BuildLogProps, 'linkTo'> {
  readonly row: LogRow;
  readonly word: string;
  readonly linked: number;
  readonly onToggle: (step: LogStep) => void;
}

function Row({ row, word, linked, linkTo, onToggle }: RowProps) {
  const { timeZone } = usePreferences();
  if (row.kind === 'step') {
    const { step, isOpen } = row;
    return (
      <button
        type="button"
        className={joined(styles.step, isOpen && styles.open)}
        aria-expanded={isOpen}
        onClick={() => onToggle(step)}
      >
        <ChevronRightIcon />
        {step.name}
        {step.hasError && <span style={{ color: 'var(--failed)' }}>failed</span>}
        <small>
          {step.lines.length} {step.lines.length === 1 ? 'line' : 'lines'}
          {step.ms !== null && `, ${durationText(step.ms)}`}
        </small>
      </button>
    );
  }
  const { seq, at, level } = row.line;
  return (
    <div
      className={joined(
        styles.line,
        level === 'error' && styles.error,
        level === 'warn' && styles.warn,
        seq === linked && styles.marked,
      )}
    >
      <a className={styles.at} href={`#L${seq}`} title={`${exactTime(new Date(at), timeZone)}: link to this line`}>
        {clockText(new Date(at), timeZone).slice(0, 8)}
      </a>
      <span>
        {lineParts(row.line).map((part, index) =>
          part.file === undefined || linkTo === null ? (
            <span key={index} className={joined(...part.looks.map((look) => styles[look]))}>
              <Found text={part.text} word={word} />
            </span>
          ) : (
            <a
              key={index}
              className={joined(styles.place, ...part.looks.map((look) => styles[look]))}
              href={linkTo(part.file, part.line!)}
              target="_blank"
              rel="noreferrer"
            >
              {part.text}
            </a>
          ),
        )}
      </span>
    </div>
  );
}

/** A text with matches of the search marked. */
function Found({ text, word }: { readonly text: string; readonly word: string }): ReactNode {
  const at = word === '' ? -1 : text.toLowerCase().indexOf(word);
  if (at < 0) return text;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + word.length)}</mark>
      {text.slice(at + word.length)}
    </>
  );
}

const logText = (lines: readonly LogLine[]): string =>
  lines.map(({ at, step, level, text }) => `${at} ${step} ${level} ${text}\n`).join('');
