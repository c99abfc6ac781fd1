// Forms for new alert rules and channels, and the labels of their kinds.
import { useState, type ComponentPropsWithRef } from 'react';
import { useChange } from '../../records/use-change.ts';
import { Checkbox, Field, FieldRow, Input, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { makeChannel, makeRule, type Channel, type Rule } from './alert-calls.ts';

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

export function NewRuleDialog({ projectId, channels, onClose }: NewRuleProps) {
  const owner = projectId === null ? 'operator' : 'project';
  const kinds = (Object.keys(ruleKinds) as Rule['kind'][]).filter((one) => ruleKinds[one].isOf.includes(owner));
  const [kind, setKind] = useState<Rule['kind']>(kinds[0]!);
  const [name, setName] = useState('');
  const [threshold, setThreshold] = useState(String(ruleKinds[kind].threshold));
  const [windowMinutes, setWindowMinutes] = useState('5');
  const [evaluations, setEvaluations] = useState('2');
  const [clearBelow, setClearBelow] = useState('');
  const [quietMinutes, setQuietMinutes] = useState('15');
  const { hasWindow, clearsBelow } = ruleKinds[kind];
  const [chosen, setChosen] = useState<readonly string[]>(channels.slice(0, 5).map(({ id }) => id));
  const make = useChange({
    queryKey: ['alert-rules', projectId],
    failed: 'Could not create the rule',
    act: () =>
      makeRule(projectId, {
        name,
        kind,
        threshold: Number(threshold),
        evaluations: Number(evaluations),
        quietMinutes: Number(quietMinutes),
        ...(hasWindow && { windowMinutes: Number(windowMinutes) }),
        ...(clearsBelow && clearBelow !== '' && { clearBelow: Number(clearBelow) }),
        channels: [...chosen],
      }),
    onDone: onClose,
  });
  return (
    <FormDialog
      onClose={onClose}
      title="New rule"
      description="Evaluated every minute. Fires once, and resolves when the condition clears."
      onSubmit={() => make.mutate(undefined)}
      action="Create rule"
      isPending={make.isPending}
    >
      <Field label="Name" error={make.problem}>
        {(control) => (
          <Input
            {...control}
            required
            autoFocus
            maxLength={100}
            placeholder="Too many errors"
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
      <FieldRow>
        <Field label="Metric">
          {(control) => (
            <Select
              {...control}
              value={kind}
              onChange={({ target }) => {
                const next = target.value as Rule['kind'];
                setKind(next);
                setThreshold(String(ruleKinds[next].threshold));
              }}
            >
              {kinds.map((one) => (
                <option key={one} value={one}>
                  {ruleKinds[one].title}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <NumberField
          label={ruleKinds[kind].unit}
          required
          min={0.1}
          max={100}
          step="any"
          value={threshold}
          onValue={setThreshold}
        />
      </FieldRow>
      <FieldRow>
        <NumberField
          label="Consecutive evaluations"
          hint="Number over the threshold before the rule fires"
          required
          min={1}
          max={20}
          value={evaluations}
          onValue={setEvaluations}
        />
        <NumberField
          label="Quiet minutes"
          hint="Minimum time between two alerts of this rule"
          required
          min={1}
          max={1440}
          value={quietMinutes}
          onValue={setQuietMinutes}
        />
      </FieldRow>
      {clearsBelow && (
        <FieldRow>
          {hasWindow && (
            <NumberField
              label="Window (minutes)"
              hint="Period of each evaluation"
              required
              min={1}
              max={1440}
              value={windowMinutes}
              onValue={setWindowMinutes}
            />
          )}
          <NumberField
            label="Resolves below"
            hint="Default: 80 % of the threshold"
            min={0.1}
            max={100}
            step="any"
            value={clearBelow}
            onValue={setClearBelow}
          />
        </FieldRow>
      )}
      {channels.length === 0 && <p>No channels yet. Alerts appear only in the history.</p>}
      {channels.map(({ id, name: title, kind: of }) => (
        <Checkbox
          key={id}
          label={`Notify ${title} (${channelKinds[of]})`}
          checked={chosen.includes(id)}
          onChange={({ target }) => setChosen(target.checked ? [...chosen, id] : chosen.filter((one) => one !== id))}
        />
      ))}
    </FormDialog>
  );
}

interface NumberFieldProps extends Omit<ComponentPropsWithRef<'input'>, 'type' | 'onChange'> {
  readonly label: string;
  readonly hint?: string;
  readonly onValue: (value: string) => void;
}

function NumberField({ label, hint, onValue, ...rest }: NumberFieldProps) {
  return (
    <Field label={label} {...(hint !== undefined && { hint })}>
      {(control) => <Input {...control} {...rest} type="number" onChange={({ target }) => onValue(target.value)} />}
    </Field>
  );
}

interface NewChannelProps {
  readonly projectId: string | null;
  readonly sendsMail: boolean;
  /** Receives the signing secret of a webhook. */
  readonly onMade: (secret: string | null) => void;
  readonly onClose: () => void;
}

export function NewChannelDialog({ projectId, sendsMail, onMade, onClose }: NewChannelProps) {
  const [kind, setKind] = useState<Channel['kind']>('slack');
  const [name, setName] = useState('');
  const [target, setTarget] = useState('');
  const isMail = kind === 'mail';
  const make = useChange({
    queryKey: ['alert-channels', projectId],
    failed: 'Could not create the channel',
    act: () => makeChannel(projectId, { name, kind, ...(isMail ? { to: target } : { url: target }) }),
    onDone: ({ secret }) => {
      onMade(secret);
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title="New channel"
      description="The URL is stored encrypted and not shown again."
      onSubmit={() => make.mutate(undefined)}
      action="Create channel"
      isPending={make.isPending}
      isDisabled={isMail && !sendsMail}
    >
      <FieldRow>
        <Field label="Name" error={make.problem}>
          {(control) => (
            <Input
              {...control}
              required
              autoFocus
              maxLength={100}
              placeholder="team-alerts"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label="Kind">
          {(control) => (
            <Select {...control} value={kind} onChange={(event) => setKind(event.target.value as Channel['kind'])}>
              {(Object.keys(channelKinds) as Channel['kind'][]).map((one) => (
                <option key={one} value={one}>
                  {channelKinds[one]}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </FieldRow>
      {isMail && !sendsMail ? (
        <p>This platform cannot send email. The operator has to set AUTH_MAIL_URL.</p>
      ) : (
        <Field label={isMail ? 'Email address' : 'URL'} hint={isMail ? undefined : 'https, at a public address'}>
          {(control) => (
            <Input
              {...control}
              isCode
              type={isMail ? 'email' : 'url'}
              required
              maxLength={2048}
              placeholder={isMail ? 'ada@example.com' : 'https://hooks.slack.com/services/...'}
              value={target}
              onChange={(event) => setTarget(event.target.value)}
            />
          )}
        </Field>
      )}
    </FormDialog>
  );
}
