// `platform drains add`: forwards the logs of a project by HTTP or to an S3 bucket.
import { defineCommand } from 'citty';
import { needProject, targetFlags } from '../../api/project.ts';
import type { Drain } from '../../api/records.ts';
import { ask } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { drainsPath, targetOf } from './find.ts';

const KEYS = ['PLATFORM_DRAIN_ACCESS_KEY_ID', 'PLATFORM_DRAIN_SECRET_ACCESS_KEY'] as const;

export const command = defineCommand({
  meta: { name: 'add', description: 'Forward logs by HTTP (--url) or to an S3 bucket (--bucket)' },
  args: {
    url: { type: 'string', valueHint: 'url', description: 'POST batches to this URL' },
    header: {
      type: 'string',
      valueHint: 'name: value',
      description: 'Header of each request, for example `authorization: ...`',
    },
    format: { type: 'string', valueHint: 'ndjson|json', description: 'JSON lines (default) or a JSON array' },
    gzip: { type: 'boolean', description: 'Compress batches' },
    bucket: {
      type: 'string',
      valueHint: 'name',
      description: `Write objects to this bucket, with credentials from ${KEYS.join(', ')}`,
    },
    endpoint: { type: 'string', valueHint: 'url', description: 'Endpoint of the bucket' },
    region: { type: 'string', valueHint: 'name', description: 'Region of the bucket (default: us-east-1)' },
    prefix: { type: 'string', valueHint: 'path', description: 'Prefix of object keys' },
    label: { type: 'string', valueHint: 'name', description: 'Name of the drain (default: its host or bucket)' },
    level: { type: 'string', valueHint: 'level', description: 'Minimum level' },
    kind: {
      type: 'string',
      valueHint: 'kinds',
      description: 'Only http, queue, timer, cron or workflow, separated by commas',
    },
    branch: { type: 'string', alias: 'b', valueHint: 'name', description: 'Only this branch' },
    private: { type: 'boolean', description: 'Allow a private address (operators only)' },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const target = args.url === undefined ? bucketOf(shell, args) : webOf(args.url, args);
    const { api, project } = await needProject(shell, args, 'platform drains add');
    const drain = await ask<Drain>(api, 'POST', drainsPath(project), {
      body: {
        name: args.label ?? args.bucket ?? URL.parse(args.url ?? '')?.host ?? 'drain',
        target,
        ...(args.level !== undefined && { level: args.level }),
        ...(args.kind !== undefined && { kinds: args.kind.split(',').map((kind) => kind.trim()) }),
        ...(args.branch !== undefined && { branch: args.branch }),
        ...(args.private === true && { allowPrivate: true }),
      },
    });
    print(shell, args.json, drain, () => {
      shell.out(`${shell.paint('green', 'Added')} ${drain.name}: logs of ${project.name} go to ${targetOf(drain)}`);
      shell.out(`  then: platform drains test ${drain.name}`);
    });
  },
});

interface WebFlags {
  readonly header?: string | undefined;
  readonly format?: string | undefined;
  readonly gzip?: boolean | undefined;
}

function webOf(url: string, { header, format, gzip }: WebFlags): object {
  const [, name, value] = /^([^:\s]+)\s*:\s*(.*)$/s.exec(header ?? '') ?? [];
  if (header !== undefined && name === undefined)
    throw new CliError('--header must be `name: value`', {
      exitCode: 2,
      advice: "For example: --header 'authorization: Bearer t0p'.",
    });
  return {
    kind: 'http',
    url,
    ...(name !== undefined && { headers: { [name]: value } }),
    ...(format !== undefined && { format }),
    ...(gzip === true && { gzip }),
  };
}

interface BucketFlags {
  readonly bucket?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly prefix?: string | undefined;
}

function bucketOf({ env }: Shell, { bucket, endpoint, region = 'us-east-1', prefix }: BucketFlags): object {
  if (bucket === undefined || endpoint === undefined)
    throw new CliError('No target given', {
      exitCode: 2,
      advice: 'Pass --url, or --bucket and --endpoint.',
    });
  const [accessKeyId, secretAccessKey] = KEYS.map((name) => env[name]?.trim() ?? '');
  if (!accessKeyId || !secretAccessKey)
    throw new CliError(`The keys of the bucket are missing`, { exitCode: 2, advice: `Set ${KEYS.join(' and ')}.` });
  return {
    kind: 's3',
    endpoint,
    bucket,
    region,
    accessKeyId,
    secretAccessKey,
    ...(prefix !== undefined && { prefix }),
  };
}
