// Logs of a project: a histogram to select a period, the lines, and live tail.
import { ActivityLogIcon, DownloadIcon, PauseIcon, PlayIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { useEvents } from '../../api/events.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Chart } from '../../components/chart.tsx';
import { byCursor } from '../../components/cursor-list.tsx';
import { Select } from '../../components/field.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { countText } from '../../components/text.ts';
import { saveText } from '../../components/save-text.ts';
import { State } from '../../components/state.tsx';
import { clockText, exactTime } from '../../components/time.tsx';
import { VirtualList } from '../../components/virtual-list.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import type { Project } from '../../queries/account.ts';
import { lineHistogramQuery, lineKey, linesQuery, streamPath, type Line } from '../../queries/logs.ts';
import { levels, type Level, type LogSearch, type Narrow } from '../../queries/log-search.ts';
import { usePreferences } from '../../state/preferences.ts';
import { Dropped } from './dropped.tsx';
import { KindSelect, LogsPage } from './logs-page.tsx';
import styles from './logs.module.css';

/** Maximum live lines kept. */
const LIVE_MAX = 20_000;
/** Number of characters of a line that the list shows; the sheet shows all of them. */
const CHARS_SHOWN = 400;
const ROW_PX = 24;

export function LogsLinesPage() {
  return (
    <LogsPage
      title="Logs"
      from="/projects/$project/logs"
      searchWords="Search logs, or /regex/"
      isFull
      actions={({ live = false }, narrow) => (
        <Button
          onClick={() => narrow(live ? { live: undefined } : { live: true, from: undefined, to: undefined })}
          aria-pressed={live}
        >
          {live ? <PauseIcon /> : <PlayIcon />} {live ? 'Stop live tail' : 'Live tail'}
        </Button>
      )}
      filters={(search, narrow) => (
        <>
          <Select
            aria-label="Level"
            value={search.level ?? ''}
            onChange={({ target }) => narrow({ level: (target.value || undefined) as Level | undefined })}
          >
            <option value="">All levels</option>
            {levels.slice(1).map((level) => (
              <option key={level} value={level}>
                {level === 'error' ? 'Errors' : `${level} and above`}
              </option>
            ))}
          </Select>
          <KindSelect search={search} narrow={narrow} />
        </>
      )}
    >
      {(project, search, narrow) => (
        // A new search creates a new component, which drops the live lines of the previous search.
        <Lines key={JSON.stringify([project.id, lineKey(search)])} project={project} search={search} narrow={narrow} />
      )}
    </LogsPage>
  );
}

interface LinesProps {
  readonly project: Project;
  readonly search: LogSearch;
  readonly narrow: Narrow;
}

function Lines({ project, search, narrow }: LinesProps) {
  const query = useInfiniteQuery({ ...linesQuery(project.id, search), ...byCursor, staleTime: Infinity });
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = query;
  const [live, setLive] = useState<readonly Line[]>([]);
  const [isAtEnd, setAtEnd] = useState(true);
  const isLive = search.live === true && data !== undefined;
  const isOpen = useEvents(isLive ? streamPath(project.id, search, data.pages[0]?.items[0]?.id) : null, {
    names: ['line'],
    onEvent({ name, text }) {
      if (name !== 'line') return;
      const line = JSON.parse(text) as Line;
      setLive((all) => [...all, line].slice(-LIVE_MAX));
    },
  });
  // Live tail starts at the end.
  useEffect(() => {
    if (isLive) setAtEnd(true);
  }, [isLive]);
  const items = useMemo(() => {
    const stored = data?.pages.flatMap((page) => page.items).toReversed() ?? [];
    const last = Number(stored.at(-1)?.id ?? 0);
    return [...stored, ...live.filter(({ id }) => Number(id) > last)];
  }, [data, live]);
  const onFollow = useCallback((isNear: boolean) => setAtEnd(isNear), []);
  if (data === undefined) return <Unloaded what="the logs" error={error} refetch={refetch} rows={10} />;
  const loadOlder = (): void => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  };
  return (
    <>
      <Histogram project={project} search={search} narrow={narrow} />
      <div className={styles.bar}>
        <span aria-live="polite">
          {countText(items.length)} {items.length === 1 ? 'line' : 'lines'} loaded
        </span>
        {isLive && (
          <State tone={isOpen ? (isAtEnd ? 'running' : 'warning') : 'neutral'}>
            {isOpen ? (isAtEnd ? 'Live' : 'Live, scrolling paused') : 'Connecting'}
          </State>
        )}
        {!isAtEnd && (
          <Button size="small" onClick={() => setAtEnd(true)}>
            Jump to newest
          </Button>
        )}
        {hasNextPage && (
          <Button size="small" onClick={loadOlder} isPending={isFetchingNextPage}>
            Load older
          </Button>
        )}
        <IconButton
          label="Download these lines"
          size="small"
          onClick={() => saveText(`${project.name}.log`, textOf(items))}
        >
          <DownloadIcon />
        </IconButton>
      </div>
      {items.length === 0 ? (
        isNarrowed(search) ? (
          <EmptyState title="No results">Select a longer period, or remove a filter.</EmptyState>
        ) : (
          <EmptyState icon={<ActivityLogIcon />} title="No logs in this period" commands={['platform logs --follow']}>
            Output of <code>console.log</code> appears here within a second, together with its request.
          </EmptyState>
        )
      ) : (
        <VirtualList
          label="Lines"
          className={styles.list ?? ''}
          items={items}
          itemKey={({ id }) => id}
          rowPx={ROW_PX}
          isFollowing={isAtEnd}
          onFollow={onFollow}
          onStart={loadOlder}
        >
          {(line) => (
            <LineRow
              line={line}
              isSame={line.invocation !== null && line.invocation === search.invocation}
              onOpen={() => narrow({ invocation: line.invocation ?? undefined })}
            />
          )}
        </VirtualList>
      )}
    </>
  );
}

const isNarrowed = ({ search, level, route, kind, branch, deployment, trace }: LogSearch): boolean =>
  [search, level, route, kind, branch, deployment, trace].some((one) => one !== undefined);

const textOf = (lines: readonly Line[]): string =>
  lines.map(({ at, level, route, text }) => `${at} ${level} ${route} ${text}\n`).join('');

interface LineRowProps {
  readonly line: Line;
  /** Whether the line belongs to the open invocation. */
  readonly isSame: boolean;
  readonly onOpen: () => void;
}

function LineRow({ line, isSame, onOpen }: LineRowProps) {
  const { timeZone } = usePreferences();
  return (
    <button
      type="button"
      className={styles.line}
      data-level={line.level}
      data-same={isSame}
      data-row
      onClick={onOpen}
      disabled={line.invocation === null}
    >
      <time dateTime={line.at} title={exactTime(new Date(line.at), timeZone)}>
        {clockText(new Date(line.at), timeZone)}
      </time>
      <span className={styles.level}>{line.level}</span>
      <span className={styles.text}>{line.text.slice(0, CHARS_SHOWN)}</span>
      <span className={styles.route}>{line.route}</span>
    </button>
  );
}

function Histogram({ project, search, narrow }: LinesProps) {
  const { data } = useQuery({ ...lineHistogramQuery(project.id, search), staleTime: Infinity });
  const drawn = useMemo(() => {
    if (data === undefined) return null;
    const first = Date.parse(data.from);
    const count = Math.ceil((Date.parse(data.to) - first) / data.bucketMs);
    const { items } = data;
    const byTime = new Map(items.map((item) => [Math.round((Date.parse(item.at) - first) / data.bucketMs), item]));
    const times = Array.from({ length: count }, (_, at) => first + at * data.bucketMs);
    const sum = (pick: (item: (typeof items)[number]) => number) =>
      times.map((_, at) => (byTime.has(at) ? pick(byTime.get(at)!) : 0));
    return {
      times,
      series: [
        // The bars of a time overlap: each includes the values of the following series.
        {
          label: 'Lines',
          color: '--chart-soft',
          isBars: true,
          values: sum(({ debug, info, warn, error }) => debug + info + warn + error),
        },
        {
          label: 'Warnings and errors',
          color: '--chart-second',
          isBars: true,
          values: sum(({ warn, error }) => warn + error),
        },
        { label: 'Errors', color: '--chart-failed', isBars: true, values: sum(({ error }) => error) },
      ],
    };
  }, [data]);
  const onRange = useCallback(
    (from: number, to: number) => narrow({ from: new Date(from).toISOString(), to: new Date(to).toISOString() }),
    [narrow],
  );
  if (drawn === null || data === undefined) return null;
  return (
    <>
      <Chart
        label="Lines over time; drag to select a period"
        times={drawn.times}
        series={drawn.series}
        height={110}
        onRange={onRange}
      />
      <Dropped project={project} dropped={data.dropped} />
    </>
  );
}
