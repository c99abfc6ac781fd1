// Forms for new alert rules and channels, and the labels of their kinds.
import { useState } from 'react';
import { Checkbox } from '../../components/field.tsx';
import type { AddFormProps } from '../../records/add-button.tsx';
import { RecordForm, type FormField } from '../../records/record-form.tsx';
import { createChannel, createRule, type Channel, type Rule } from './alert-calls.ts';

interface RuleKind {
  readonly title: string;
  readonly unit: string;
  readonly threshold: number;
  /** The condition as text. */
  readonly at: (threshold: number) => string;
  readonly isOf: readonly ('project' | 'operator')[];
  /** Evaluates the last minutes rather than the current state. */
  readonly hasWindow: boolean;
  /** Resolves below a separate threshold. */
  readonly clearsBelow: boolean;
}

export const ruleKinds: Readonly<Record<Rule['kind'], RuleKind>> = {
  error_rate: {
    title: 'Error rate',
    unit: 'Failed invocations (%)',
    threshold: 5,
    at: (threshold) => `${threshold} % of invocations fail`,
    isOf: ['project'],
    hasWindow: true,
    clearsBelow: true,
  },
  latency: {
    title: 'Latency',
    unit: 'p99 of time to first byte (ms)',
    threshold: 1000,
    at: (threshold) => `p99 of time to first byte reaches ${threshold} ms`,
    isOf: ['project'],
    hasWindow: true,
    clearsBelow: true,
  },
  cpu_budget: {
    title: 'CPU usage',
    unit: 'CPU budget used (%)',
    threshold: 80,
    at: (threshold) => `${threshold} % of a CPU budget used`,
    isOf: ['project'],
    hasWindow: true,
    clearsBelow: true,
  },
  certificate: {
    title: 'Certificate expiry',
    unit: 'Days before expiry',
    threshold: 14,
    at: (threshold) => `${threshold} days before a certificate expires`,
    isOf: ['project', 'operator'],
    hasWindow: false,
    clearsBelow: false,
  },
  disk: {
    title: 'Disk usage',
    unit: 'Disk used (%)',
    threshold: 90,
    at: (threshold) => `${threshold} % of the disk used`,
    isOf: ['operator'],
    hasWindow: false,
    clearsBelow: true,
  },
};

export const channelKinds: Readonly<Record<Channel['kind'], string>> = {
  webhook: 'Webhook',
  slack: 'Slack',
  discord: 'Discord',
  mail: 'Email',
};

interface NewRuleProps {
  readonly projectId: string | null;
  readonly channels: readonly Channel[];
  readonly onClose: () => void;
}

const isOf = (owner: 'project' | 'operator'): Rule['kind'][] =>
  (Object.keys(ruleKinds) as Rule['kind'][]).filter((kind) => ruleKinds[kind].isOf.includes(owner));

type Kind = Readonly<Record<'kind', string>>;
const kindOf = ({ kind }: Kind): RuleKind => ruleKinds[kind as Rule['kind']];
const percent = { type: 'number', min: 0.1, max: 100, step: 'any' } as const;
const LATENCY_MS_MAX = 600_000;
const count = { type: 'number', min: 1 } as const;

/** One field of the threshold for each kind, since unit and default differ. */
const thresholds = Object.fromEntries(
  (Object.keys(ruleKinds) as Rule['kind'][]).map((kind) => {
    const { unit, threshold } = ruleKinds[kind];
    const field = {
      ...percent,
      ...(kind === 'latency' && { max: LATENCY_MS_MAX }),
      label: unit,
      value: String(threshold),
      isShown: (values: Kind) => values.kind === kind,
    };
    return [kind, field];
  }),
) as Readonly<Record<Rule['kind'], FormField<'kind'>>>;

export function NewRule({ projectId, channels, onClose }: NewRuleProps) {
  const kinds = isOf(projectId === null ? 'operator' : 'project');
  const [chosen, setChosen] = useState<readonly string[]>(channels.slice(0, 5).map(({ id }) => id));
  return (
    <RecordForm
      title="New rule"
      description="Evaluated every 30 seconds. Fires once, and resolves when the condition clears."
      action="Create rule"
      failed="Could not create the rule"
      queryKey={['alert-rules', projectId]}
      fields={{
        name: { label: 'Name', maxLength: 100, placeholder: 'Too many errors' },
        kind: { label: 'Metric', choices: kinds.map((kind) => [kind, ruleKinds[kind].title]) },
        ...thresholds,
        evaluations: {
          ...count,
          label: 'Consecutive evaluations',
          hint: 'Number over the threshold before the rule fires',
          value: '2',
          max: 20,
        },
        quietMinutes: {
          ...count,
          label: 'Quiet minutes',
          hint: 'Minimum time between two alerts of this rule',
          value: '15',
          max: 1440,
        },
        windowMinutes: {
          ...count,
          label: 'Window (minutes)',
          hint: 'Period of each evaluation',
          value: '5',
          max: 1440,
          isShown: (values) => kindOf(values).hasWindow,
        },
        clearBelow: {
          ...percent,
          max: LATENCY_MS_MAX,
          label: 'Resolves below',
          hint: 'Default: 80 % of the threshold',
          isOptional: true,
          isShown: (values) => kindOf(values).clearsBelow,
        },
      }}
      act={({ name, kind, evaluations, quietMinutes, windowMinutes, clearBelow, ...of }) =>
        createRule(projectId, {
          name,
          kind: kind as Rule['kind'],
          threshold: Number(of[kind as Rule['kind']]),
          evaluations: Number(evaluations),
          quietMinutes: Number(quietMinutes),
          ...(windowMinutes !== '' && { windowMinutes: Number(windowMinutes) }),
          ...(clearBelow !== '' && { clearBelow: Number(clearBelow) }),
          channels: [...chosen],
        })
      }
      onClose={onClose}
    >
      {channels.length === 0 && <p>No channels yet. Alerts appear only in the history.</p>}
      {channels.map(({ id, name, kind }) => (
        <Checkbox
          key={id}
          label={`Notify ${name} (${channelKinds[kind]})`}
          checked={chosen.includes(id)}
          onChange={({ target }) => setChosen(target.checked ? [...chosen, id] : chosen.filter((one) => one !== id))}
        />
      ))}
    </RecordForm>
  );
}

interface NewChannelProps extends AddFormProps {
  readonly projectId: string | null;
  readonly sendsMail: boolean;
}

export function NewChannel({ projectId, sendsMail, onSecret, onClose }: NewChannelProps) {
  const kinds = (Object.keys(channelKinds) as Channel['kind'][]).filter((kind) => sendsMail || kind !== 'mail');
  return (
    <RecordForm
      title="New channel"
      description={
        sendsMail
          ? 'The URL is stored encrypted and not shown again.'
          : 'The URL is stored encrypted and not shown again. This platform cannot send email: the operator has to set AUTH_MAIL_URL.'
      }
      action="Create channel"
      failed="Could not create the channel"
      queryKey={['alert-channels', projectId]}
      fields={{
        name: { label: 'Name', maxLength: 100, placeholder: 'team-alerts' },
        kind: { label: 'Kind', value: 'slack', choices: kinds.map((kind) => [kind, channelKinds[kind]]) },
        url: {
          label: 'URL',
          hint: 'https, at a public address',
          type: 'url',
          isCode: true,
          maxLength: 2048,
          placeholder: 'https://hooks.slack.com/services/...',
          isShown: ({ kind }) => kind !== 'mail',
        },
        to: {
          label: 'Email address',
          type: 'email',
          isCode: true,
          maxLength: 254,
          placeholder: 'ada@example.com',
          isShown: ({ kind }) => kind === 'mail',
        },
      }}
      act={({ name, kind, url, to }) =>
        createChannel(projectId, { name, kind: kind as Channel['kind'], ...(kind === 'mail' ? { to } : { url }) })
      }
      onDone={({ secret }) => onSecret(secret)}
      onClose={onClose}
    />
  );
}
