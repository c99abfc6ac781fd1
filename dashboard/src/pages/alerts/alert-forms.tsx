// Forms for alert rules, new and changed, and for new channels; the labels of their kinds.
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Checkbox } from '../../components/field.tsx';
import { countText } from '../../components/text.ts';
import { latencyText } from '../../components/time.tsx';
import type { AddFormProps } from '../../records/add-button.tsx';
import { RecordForm, type FormField } from '../../records/record-form.tsx';
import { changeRule, createChannel, createRule, type Channel, type Rule } from './alert-calls.ts';

interface RuleKind {
  readonly title: string;
  readonly unit: string;
  readonly threshold: number;
  /** A measured value as text. */
  readonly format: (value: number) => string;
  /** The condition as text. */
  readonly at: (threshold: number) => string;
  readonly isOf: readonly ('project' | 'operator')[];
  /** Whether the rule evaluates the last minutes rather than the current state. */
  readonly hasWindow: boolean;
  /** Whether the rule resolves below a separate threshold. */
  readonly clearsBelow: boolean;
}

/** @example percentText(12.345) // '12.3 %' */
const percentText = (value: number): string => `${Math.round(value * 10) / 10} %`;

export const ruleKinds: Readonly<Record<Rule['kind'], RuleKind>> = {
  error_rate: {
    title: 'Error rate',
    unit: 'Failed invocations (%)',
    threshold: 5,
    format: percentText,
    at: (threshold) => `${threshold} % of invocations fail`,
    isOf: ['project'],
    hasWindow: true,
    clearsBelow: true,
  },
  latency: {
    title: 'Latency',
    unit: 'p99 of time to first byte (ms)',
    threshold: 1000,
    format: latencyText,
    at: (threshold) => `p99 of time to first byte reaches ${threshold} ms`,
    isOf: ['project'],
    hasWindow: true,
    clearsBelow: true,
  },
  cpu_budget: {
    title: 'CPU usage',
    unit: 'CPU budget used (%)',
    threshold: 80,
    format: percentText,
    at: (threshold) => `${threshold} % of a CPU budget used`,
    isOf: ['project'],
    hasWindow: true,
    clearsBelow: true,
  },
  ai_budget: {
    title: 'AI budget',
    unit: 'Monthly AI budget spent (%)',
    threshold: 80,
    format: percentText,
    at: (threshold) => `${threshold} % of the monthly AI budget spent`,
    isOf: ['project'],
    hasWindow: false,
    clearsBelow: true,
  },
  certificate: {
    title: 'Certificate expiry',
    unit: 'Days before expiry',
    threshold: 14,
    format: countText,
    at: (threshold) => `${threshold} days before a certificate expires`,
    isOf: ['project', 'operator'],
    hasWindow: false,
    clearsBelow: false,
  },
  disk: {
    title: 'Disk usage',
    unit: 'Disk used (%)',
    threshold: 90,
    format: percentText,
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

interface RuleFormProps {
  readonly projectId: string | null;
  /** The rule to change; without it, the form creates a rule. */
  readonly rule?: Rule;
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
function thresholdsOf(rule: Rule | undefined): Readonly<Record<Rule['kind'], FormField<'kind'>>> {
  const fields = (Object.keys(ruleKinds) as Rule['kind'][]).map((kind) => {
    const { unit, threshold } = ruleKinds[kind];
    const field = {
      ...percent,
      ...(kind === 'latency' && { max: LATENCY_MS_MAX }),
      label: unit,
      value: String(rule?.kind === kind ? rule.threshold : threshold),
      isShown: (values: Kind) => values.kind === kind,
    };
    return [kind, field];
  });
  return Object.fromEntries(fields) as Readonly<Record<Rule['kind'], FormField<'kind'>>>;
}

export function RuleForm({ projectId, rule, channels, onClose }: RuleFormProps) {
  const queries = useQueryClient();
  const kinds = isOf(projectId === null ? 'operator' : 'project');
  const [chosen, setChosen] = useState<readonly string[]>(rule?.channels ?? channels.slice(0, 5).map(({ id }) => id));
  return (
    <RecordForm
      title={rule === undefined ? 'New rule' : `Edit ${rule.name}`}
      description="Evaluated every 30 seconds. Fires once, and resolves when the condition clears."
      action={rule === undefined ? 'Create rule' : 'Save rule'}
      failed={rule === undefined ? 'Could not create the rule' : 'Could not update the rule'}
      queryKey={['alert-rules', projectId]}
      fields={{
        name: { label: 'Name', maxLength: 100, placeholder: 'Too many errors', value: rule?.name ?? '' },
        // The kind of an existing rule cannot be changed.
        kind: {
          label: 'Metric',
          value: rule?.kind ?? '',
          choices: kinds.map((kind) => [kind, ruleKinds[kind].title]),
          isShown: () => rule === undefined,
        },
        ...thresholdsOf(rule),
        evaluations: {
          ...count,
          label: 'Consecutive evaluations',
          hint: 'Number over the threshold before the rule fires',
          value: String(rule?.evaluations ?? 2),
          max: 20,
        },
        quietMinutes: {
          ...count,
          label: 'Quiet minutes',
          hint: 'Minimum time between two alerts of this rule',
          value: String(rule?.quietMinutes ?? 15),
          max: 1440,
        },
        windowMinutes: {
          ...count,
          label: 'Window (minutes)',
          hint: 'Period of each evaluation',
          value: String(rule?.windowMinutes ?? 5),
          max: 1440,
          isShown: (values) => kindOf(values).hasWindow,
        },
        clearBelow: {
          ...percent,
          max: LATENCY_MS_MAX,
          label: 'Resolves below',
          hint: 'Default: 80 % of the threshold',
          isOptional: true,
          value: rule === undefined ? '' : String(rule.clearBelow),
          isShown: (values) => kindOf(values).clearsBelow,
        },
      }}
      act={({ name, kind: newKind, evaluations, quietMinutes, windowMinutes, clearBelow, ...of }) => {
        const kind = rule?.kind ?? (newKind as Rule['kind']);
        const settings = {
          name,
          threshold: Number(of[kind]),
          evaluations: Number(evaluations),
          quietMinutes: Number(quietMinutes),
          ...(windowMinutes !== '' && { windowMinutes: Number(windowMinutes) }),
          ...(clearBelow !== '' && { clearBelow: Number(clearBelow) }),
          channels: [...chosen],
        };
        return rule === undefined
          ? createRule(projectId, { ...settings, kind })
          : changeRule(projectId, rule.id, settings);
      }}
      onDone={() => void queries.invalidateQueries({ queryKey: ['alert-series', projectId] })}
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
          : 'The URL is stored encrypted and not shown again. This platform cannot send email: the operator has to set it up.'
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
