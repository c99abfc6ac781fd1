// Layout of logs, requests and traces: tabs, filters, project.
import { Cross2Icon } from '@radix-ui/react-icons';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { IconButton } from '../../components/button.tsx';
import { Input, Select } from '../../components/field.tsx';
import { Filters, Page } from '../../components/page.tsx';
import { Badge } from '../../components/state.tsx';
import { TabLink, TabLinks } from '../../components/tabs.tsx';
import type { Project } from '../../queries/account.ts';
import { kinds, logRanges, type Kind, type LogRange, type LogSearch, type Narrow } from '../../queries/log-search.ts';
import { WithProject } from '../../shell/with-project.tsx';
import styles from './logs.module.css';
import { RequestSheet } from './request-sheet.tsx';

const TYPED_MS = 300;

interface LogsPageProps {
  readonly title: string;
  readonly from: '/projects/$project/logs' | '/projects/$project/logs/requests' | '/projects/$project/logs/traces';
  readonly actions?: (search: LogSearch, narrow: Narrow) => ReactNode;
  /** Whether one list fills the page. */
  readonly isFull?: boolean;
  readonly searchWords: string;
  /** Further filter fields. */
  readonly filters: (search: LogSearch, narrow: Narrow) => ReactNode;
  readonly children: (project: Project, search: LogSearch, narrow: Narrow) => ReactNode;
}

export function LogsPage({ title, from, actions, isFull = false, searchWords, filters, children }: LogsPageProps) {
  const search: LogSearch = useSearch({ from });
  const navigate = useNavigate({ from });
  const narrow: Narrow = (change, isReplacing = false) =>
    void navigate({ search: (now: LogSearch) => ({ ...now, ...change }), replace: isReplacing });
  return (
    <Page title={title} heading="Logs" isWide isFull={isFull} actions={actions?.(search, narrow)}>
      <TabLinks label="Logs">
        <TabLink
          to="/projects/$project/logs"
          from="/projects/$project"
          activeOptions={{ exact: true, includeSearch: false }}
        >
          Lines
        </TabLink>
        <TabLink
          to="/projects/$project/logs/requests"
          from="/projects/$project"
          activeOptions={{ includeSearch: false }}
        >
          Requests
        </TabLink>
        <TabLink to="/projects/$project/logs/traces" from="/projects/$project" activeOptions={{ includeSearch: false }}>
          Traces
        </TabLink>
      </TabLinks>
      <Filters>
        <Typed
          label={searchWords}
          value={search.search ?? ''}
          onType={(word) => narrow({ search: word || undefined }, true)}
        />
        <Select
          aria-label="Time range"
          value={search.from === undefined ? (search.range ?? '1h') : 'chosen'}
          onChange={({ target }) => narrow({ range: target.value as LogRange, from: undefined, to: undefined })}
        >
          {search.from !== undefined && <option value="chosen">Selected period</option>}
          {Object.entries(logRanges).map(([id, [words]]) => (
            <option key={id} value={id}>
              Last {words}
            </option>
          ))}
        </Select>
        {filters(search, narrow)}
        <Chips search={search} narrow={narrow} />
      </Filters>
      <WithProject>
        {(project) => (
          <>
            {children(project, search, narrow)}
            {search.invocation !== undefined && (
              <RequestSheet
                project={project}
                id={search.invocation}
                narrow={narrow}
                onClose={() => narrow({ invocation: undefined })}
              />
            )}
          </>
        )}
      </WithProject>
    </Page>
  );
}

interface KindSelectProps {
  readonly search: LogSearch;
  readonly narrow: Narrow;
}

/** The filter by trigger. */
export function KindSelect({ search, narrow }: KindSelectProps) {
  return (
    <Select
      aria-label="Kind"
      value={search.kind ?? ''}
      onChange={({ target }) => narrow({ kind: (target.value || undefined) as Kind | undefined })}
    >
      <option value="">All kinds</option>
      {Object.entries(kinds).map(([kind, words]) => (
        <option key={kind} value={kind}>
          {words}
        </option>
      ))}
    </Select>
  );
}

/** A field whose value is written to the URL shortly after typing. */
function Typed({
  label,
  value,
  onType,
}: {
  readonly label: string;
  readonly value: string;
  readonly onType: (word: string) => void;
}) {
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  // The URL was not changed by this field, so the field takes the new value.
  if (known !== value) {
    setKnown(value);
    setTyped(value);
  }
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onType(typed), TYPED_MS);
    return () => clearTimeout(timer);
  });
  return (
    <Input
      aria-label={label}
      placeholder={label}
      maxLength={200}
      value={typed}
      onChange={({ target }) => setTyped(target.value)}
    />
  );
}

/** Removable filters that have no field. */
function Chips({ search, narrow }: { readonly search: LogSearch; readonly narrow: Narrow }) {
  const given = (['route', 'branch', 'deployment', 'trace'] as const).filter((name) => search[name] !== undefined);
  if (given.length === 0) return null;
  return (
    <div className={styles.chips}>
      {given.map((name) => (
        <span key={name} className={styles.chip}>
          <Badge tone="running">
            {name} {search[name]}
          </Badge>
          <IconButton label={`Remove filter: ${name}`} size="small" onClick={() => narrow({ [name]: undefined })}>
            <Cross2Icon />
          </IconButton>
        </span>
      ))}
    </div>
  );
}
