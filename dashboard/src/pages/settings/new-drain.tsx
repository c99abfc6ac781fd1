// The form for a new log drain, by HTTP or to S3.
import { api, dataOf } from '../../api/client.ts';
import { RecordForm, type FormField } from '../../records/record-form.tsx';

const levels = ['debug', 'info', 'warn', 'error'] as const;

interface NewDrainProps {
  readonly projectId: string;
  readonly onClose: () => void;
}

type Values = Readonly<Record<'target', string>>;
const isHttp = ({ target }: Values): boolean => target === 'http';
const isBucket = ({ target }: Values): boolean => target === 's3';
const ofHttp = { isCode: true, isShown: isHttp };
const ofBucket = { isCode: true, isShown: isBucket };

const fields = {
  name: { label: 'Name', maxLength: 100, placeholder: 'Search' },
  target: {
    label: 'Target',
    choices: [
      ['http', 'HTTP (POST)'],
      ['s3', 'S3 bucket'],
    ],
  },
  url: {
    ...ofHttp,
    label: 'URL',
    hint: 'https, at a public address',
    type: 'url',
    maxLength: 2048,
    placeholder: 'https://logs.example.com/in',
  },
  header: { ...ofHttp, label: 'Header', isOptional: true, placeholder: 'authorization' },
  value: { ...ofHttp, label: 'Header value', isOptional: true, type: 'password', maxLength: 4096 },
  compression: {
    label: 'Compression',
    isShown: isHttp,
    choices: [
      ['gzip', 'gzip'],
      ['none', 'none'],
    ],
  },
  endpoint: { ...ofBucket, label: 'Endpoint', type: 'url', placeholder: 'https://s3.eu-central-1.amazonaws.com' },
  bucket: { ...ofBucket, label: 'Bucket' },
  region: { ...ofBucket, label: 'Region', placeholder: 'eu-central-1' },
  prefix: { ...ofBucket, label: 'Prefix', hint: 'Prefix of object keys', isOptional: true },
  accessKeyId: { ...ofBucket, label: 'Access key ID' },
  secretAccessKey: { ...ofBucket, label: 'Secret access key', type: 'password' },
  level: {
    label: 'Level',
    choices: levels.map((level) => [level, level === 'debug' ? 'all levels' : `${level} and above`]),
  },
  branch: { label: 'Branch', isOptional: true, isCode: true, placeholder: 'all' },
} as const satisfies Readonly<Record<string, FormField<'target'>>>;

export function NewDrain({ projectId, onClose }: NewDrainProps) {
  return (
    <RecordForm
      title="New log drain"
      description="Forwards new log lines. Headers and keys are not shown again."
      action="Create drain"
      failed="Could not create the drain"
      queryKey={['drains', projectId]}
      fields={fields}
      act={({ name, target: kind, level, branch, url, header, value, compression, ...bucket }) => {
        const headers = header === '' ? {} : { headers: { [header]: value } };
        const target =
          kind === 'http'
            ? { kind: 'http' as const, url, gzip: compression === 'gzip', ...headers }
            : { kind: 's3' as const, ...bucket };
        return dataOf(
          api.post('/projects/:id/drains', {
            params: { id: projectId },
            body: { name, target, level: level as (typeof levels)[number], ...(branch !== '' && { branch }) },
          }),
        );
      }}
      onClose={onClose}
    />
  );
}
