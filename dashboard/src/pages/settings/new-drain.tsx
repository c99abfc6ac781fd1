// The form for a new log drain, by HTTP or to S3.
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Checkbox, Field, FieldRow, Input, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';

const levels = ['debug', 'info', 'warn', 'error'] as const;

interface NewDrainProps {
  readonly projectId: string;
  readonly onClose: () => void;
}

export function NewDrain({ projectId, onClose }: NewDrainProps) {
  const [kind, setKind] = useState<'http' | 's3'>('http');
  const [level, setLevel] = useState<(typeof levels)[number]>('debug');
  const [fields, setFields] = useState<Readonly<Record<string, string>>>({});
  const [gzip, setGzip] = useState(true);
  const of = (name: string): string => fields[name] ?? '';
  const text = (name: string) => ({
    value: of(name),
    onChange: ({ target }: { readonly target: { readonly value: string } }) =>
      setFields({ ...fields, [name]: target.value }),
  });
  const make = useChange({
    queryKey: ['drains', projectId],
    failed: 'Could not create the drain',
    act: () => {
      const headers = of('header') === '' ? {} : { headers: { [of('header')]: of('value') } };
      const target =
        kind === 'http'
          ? { kind, url: of('url'), gzip, ...headers }
          : {
              kind,
              endpoint: of('endpoint'),
              bucket: of('bucket'),
              region: of('region'),
              prefix: of('prefix'),
              accessKeyId: of('key'),
              secretAccessKey: of('secret'),
            };
      return dataOf(
        api.post('/projects/:id/drains', {
          params: { id: projectId },
          body: { name: of('name'), target, level, ...(of('branch') !== '' && { branch: of('branch') }) },
        }),
      );
    },
    onDone: onClose,
  });
  return (
    <FormDialog
      onClose={onClose}
      title="New log drain"
      description="Forwards new log lines. Headers and keys are not shown again."
      onSubmit={() => make.mutate(undefined)}
      action="Create drain"
      isPending={make.isPending}
    >
      <Field label="Name" error={make.problem}>
        {(control) => <Input {...control} {...text('name')} required autoFocus maxLength={100} placeholder="Search" />}
      </Field>
      <Field label="Target">
        {(control) => (
          <Select {...control} value={kind} onChange={({ target }) => setKind(target.value as 'http' | 's3')}>
            <option value="http">HTTP (POST)</option>
            <option value="s3">S3 bucket</option>
          </Select>
        )}
      </Field>
      {kind === 'http' ? (
        <>
          <Field label="URL" hint="https, at a public address">
            {(control) => (
              <Input
                {...control}
                {...text('url')}
                isCode
                type="url"
                required
                maxLength={2048}
                placeholder="https://logs.example.com/in"
              />
            )}
          </Field>
          <FieldRow>
            <Field label="Header">
              {(control) => <Input {...control} {...text('header')} isCode placeholder="authorization" />}
            </Field>
            <Field label="Header value">
              {(control) => <Input {...control} {...text('value')} isCode type="password" maxLength={4096} />}
            </Field>
          </FieldRow>
          <Checkbox label="Compress bodies" checked={gzip} onChange={({ target }) => setGzip(target.checked)} />
        </>
      ) : (
        <>
          <Field label="Endpoint">
            {(control) => (
              <Input
                {...control}
                {...text('endpoint')}
                isCode
                type="url"
                required
                placeholder="https://s3.eu-central-1.amazonaws.com"
              />
            )}
          </Field>
          <FieldRow>
            <Field label="Bucket">{(control) => <Input {...control} {...text('bucket')} isCode required />}</Field>
            <Field label="Region">
              {(control) => <Input {...control} {...text('region')} isCode required placeholder="eu-central-1" />}
            </Field>
          </FieldRow>
          <Field label="Prefix" hint="Prefix of object keys">
            {(control) => <Input {...control} {...text('prefix')} isCode />}
          </Field>
          <FieldRow>
            <Field label="Access key ID">{(control) => <Input {...control} {...text('key')} isCode required />}</Field>
            <Field label="Secret access key">
              {(control) => <Input {...control} {...text('secret')} isCode type="password" required />}
            </Field>
          </FieldRow>
        </>
      )}
      <FieldRow>
        <Field label="Level">
          {(control) => (
            <Select
              {...control}
              value={level}
              onChange={({ target }) => setLevel(target.value as (typeof levels)[number])}
            >
              {levels.map((one) => (
                <option key={one} value={one}>
                  {one === 'debug' ? 'all levels' : `${one} and above`}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Branch">{(control) => <Input {...control} {...text('branch')} isCode placeholder="all" />}</Field>
      </FieldRow>
    </FormDialog>
  );
}
