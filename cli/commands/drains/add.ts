// `platform drains add`: sends the lines of a project on, by HTTP or into a bucket.
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
  meta: { name: 'add', description: 'Send lines on, by HTTP (--url) or into a bucket (--bucket)' },
  args: {
    url: { type: 'string', valueHint: 'url', description: 'Send batches by POST to it' },
    header: {
      type: 'string',
      valueHint: 'name: value',
      description: 'With each of them, such as `authorization: ...`',
    },
    format: { type: 'string', valueHint: 'ndjson|json', description: 'A line of JSON each (the default), or an array' },
    gzip: { type: 'boolean', description: 'Compress them' },
    bucket: { type: 'string', valueHint: 'name', description: `Put objects into it, by the keys ${KEYS.join(', ')}` },
    endpoint: { type: 'string', valueHint: 'url', description: 'Of the bucket' },
    region: { type: 'string', valueHint: 'name', description: 'Of the bucket (default: us-east-1)' },
    prefix: { type: 'string', valueHint: 'path', description: 'What names of objects begin with' },
    label: { type: 'string', valueHint: 'name', description: 'What the drain is called (default: its host or bucket)' },
    level: { type: 'string', valueHint: 'level', description: 'Only lines of this level and above' },
    kind: {
      type: 'string',
      valueHint: 'kinds',
      description: 'Only lines of http, queue, timer, cron, workflow; with commas',
    },
    branch: { type: 'string', alias: 'b', valueHint: 'name', description: 'Only lines of a branch' },
    private: { type: 'boolean', description: 'It may have a private address; for operators' },
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
      shell.out(`${shell.paint('green', 'Added')} ${drain.name}: lines of ${project.name} go to ${targetOf(drain)}`);
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
    throw new CliError('--header is no `name: value`', {
      exitCode: 2,
      advice: "Such as --header 'authorization: Bearer t0p'.",
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
    throw new CliError('It is not said where lines go', {
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
