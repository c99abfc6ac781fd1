// Filters of analytics: period, kind, deployment, and the deployment to compare with.
import { Button } from '../../components/button.tsx';
import { Input, Select } from '../../components/field.tsx';
import { Filters } from '../../components/page.tsx';
import type { Analytics } from '../../queries/analytics.ts';
import type { AnalyticsSearch, NarrowAnalytics } from '../../queries/analytics-search.ts';
import { logRanges, type LogRange } from '../../queries/log-search.ts';
import { kinds, type Kind } from '../../queries/usage-search.ts';
import { usePreferences } from '../../state/preferences.ts';
import { fieldTime, timeOfField } from '../../state/time-text.ts';
import styles from './usage.module.css';
import { kindWords } from './usage.tsx';

const OWN = 'own';

interface FiltersProps {
  readonly data: Analytics;
  /** Deployments with requests, the last released first. */
  readonly served: readonly string[];
  readonly search: AnalyticsSearch;
  readonly narrow: NarrowAnalytics;
  readonly nameOf: (deploymentId: string) => string;
}

export function AnalyticsFilters({ data, served, search, narrow, nameOf }: FiltersProps) {
  const { range = '1h', kind = 'http', deployment, compare } = search;
  const isOwn = search.from !== undefined;
  const choose = (value: string): void => {
    if (value === OWN) narrow({ from: data.from, to: data.to });
    else narrow({ range: value as LogRange, from: undefined, to: undefined });
  };
  return (
    <Filters>
      <Select aria-label="Time range" value={isOwn ? OWN : range} onChange={({ target }) => choose(target.value)}>
        {Object.entries(logRanges).map(([id, [words]]) => (
          <option key={id} value={id}>
            Last {words}
          </option>
        ))}
        <option value={OWN}>Custom period</option>
      </Select>
      {isOwn && <Period from={data.from} to={data.to} narrow={narrow} />}
      <Select
        aria-label="Kind"
        value={kind}
        onChange={({ target }) => narrow({ kind: target.value as Kind, route: undefined })}
      >
        {kinds.map((id) => (
          <option key={id} value={id}>
            {kindWords[id]}
          </option>
        ))}
      </Select>
      <Deployments
        label="Deployment"
        every="All deployments"
        value={deployment}
        ids={served}
        nameOf={nameOf}
        onChoose={(id) => narrow({ deployment: id, ...(id === undefined && { compare: undefined }) })}
      />
      {deployment !== undefined && (
        <Deployments
          label="Compare with"
          every="Compare with…"
          value={compare}
          ids={served.filter((id) => id !== deployment)}
          nameOf={nameOf}
          onChoose={(id) => narrow({ compare: id })}
        />
      )}
      {deployment === undefined && served.length > 1 && (
        <Button onClick={() => narrow({ deployment: served[0], compare: served[1] })}>
          Compare last two deployments
        </Button>
      )}
    </Filters>
  );
}

/** Start and end of a custom period, in the time zone of the preferences. */
function Period({ from, to, narrow }: Pick<AnalyticsSearch, 'from' | 'to'> & { readonly narrow: NarrowAnalytics }) {
  const { timeZone } = usePreferences();
  const set = (name: 'from' | 'to', value: string): void => {
    const at = timeOfField(value, timeZone);
    const next = { from, to, [name]: at };
    if (at !== null && next.from! < next.to!) narrow(next as AnalyticsSearch);
  };
  return (
    <span className={styles.period}>
      {(['from', 'to'] as const).map((name) => (
        <Input
          key={name}
          type="datetime-local"
          aria-label={name === 'from' ? 'From' : 'To'}
          value={fieldTime((name === 'from' ? from : to)!, timeZone)}
          onChange={({ target }) => set(name, target.value)}
        />
      ))}
    </span>
  );
}

interface DeploymentsProps {
  readonly label: string;
  /** Label of the option that selects no deployment. */
  readonly every: string;
  readonly value: string | undefined;
  readonly ids: readonly string[];
  readonly nameOf: (deploymentId: string) => string;
  readonly onChoose: (id: string | undefined) => void;
}

function Deployments({ label, every, value, ids, nameOf, onChoose }: DeploymentsProps) {
  // The selected deployment may have served nothing in this period.
  const all = value === undefined || ids.includes(value) ? ids : [value, ...ids];
  return (
    <Select
      className={styles.deployment}
      aria-label={label}
      value={value ?? ''}
      onChange={({ target }) => onChoose(target.value || undefined)}
    >
      <option value="">{every}</option>
      {all.map((id) => (
        <option key={id} value={id}>
          {nameOf(id)}
        </option>
      ))}
    </Select>
  );
}
