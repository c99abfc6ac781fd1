// Log lines of a worker: those of one request, or all of them live.
import { useState } from 'react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Input, Select } from '../../components/field.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { countText } from '../../components/text.ts';
import { Filters, Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { State, type Tone } from '../../components/state.tsx';
import { clockText, exactTime } from '../../components/time.tsx';
import { VirtualList } from '../../components/virtual-list.tsx';
import type { DevSearch } from '../../queries/dev-search.ts';
import { usePreferences } from '../../state/preferences.ts';
import styles from '../storage/storage.module.css';
import { useActivity, type Activity } from './activity.ts';

type Line = Activity & { readonly type: 'log' };

const tones: Readonly<Record<string, Tone>> = { error: 'failed', warn: 'warning', info: 'neutral', debug: 'neutral' };
const ROW_PX = 24;
const CHARS_MAX = 4000;

export function Lines({ lines }: { readonly lines: readonly Line[] }) {
  return (
    <div className={styles.lines}>
      {lines.map((line) => (
        <OneLine key={line.seq} line={line} />
      ))}
    </div>
  );
}

function OneLine({ line: { at, level, message } }: { readonly line: Line }) {
  const { timeZone } = usePreferences();
  const [isWhole, setWhole] = useState(false);
  const isLong = message.length > CHARS_MAX;
  return (
    <div className={styles.logLine} data-level={level}>
      <time title={exactTime(new Date(at), timeZone)}>{clockText(new Date(at), timeZone)}</time>
      <State tone={tones[level] ?? 'neutral'}>{level}</State>
      <span>
        {isLong && !isWhole ? message.slice(0, CHARS_MAX) : message}
        {isLong && (
          <button type="button" onClick={() => setWhole(!isWhole)}>
            {isWhole ? 'Show less' : `… Show all ${countText(message.length)} characters`}
          </button>
        )}
      </span>
    </div>
  );
}

export function DevLogsPage() {
  const { search = '', level = '' } = useSearch({ strict: false }) as DevSearch;
  const navigate = useNavigate();
  const { records } = useActivity();
  const [isFollowing, setFollowing] = useState(true);
  const show = (next: DevSearch): void =>
    void navigate({ to: '.', search: (before: object) => ({ ...before, ...next }), replace: true } as never);
  const lines = (records ?? []).filter(
    (one): one is Line =>
      one.type === 'log' &&
      (level === '' || one.level === level) &&
      (search === '' || one.message.toLowerCase().includes(search.toLowerCase())),
  );
  return (
    <Page title="Logs" isWide isFull>
      <Filters>
        <Select
          aria-label="Level"
          value={level}
          onChange={({ target }) => show({ level: target.value === '' ? undefined : target.value })}
        >
          <option value="">All levels</option>
          {['error', 'warn', 'info', 'debug'].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </Select>
        <Input
          type="search"
          aria-label="Search logs"
          placeholder="Search logs…"
          value={search}
          onChange={({ target }) => show({ search: target.value === '' ? undefined : target.value })}
        />
      </Filters>
      {records === null ? (
        <SkeletonRows rows={10} />
      ) : lines.length === 0 ? (
        <EmptyState title={search === '' && level === '' ? 'No logs yet' : 'No results'}>
          Shows console output and uncaught errors of your worker.
        </EmptyState>
      ) : (
        <VirtualList
          label="Lines"
          items={lines}
          itemKey={({ seq }) => seq}
          rowPx={ROW_PX}
          isFollowing={isFollowing}
          onFollow={setFollowing}
          className={styles.lines ?? ''}
        >
          {(line) => <OneLine line={line} />}
        </VirtualList>
      )}
    </Page>
  );
}
