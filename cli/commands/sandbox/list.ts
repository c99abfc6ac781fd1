// `platform sandbox list`: lists the sandboxes of a project, for one binding or for all.
import { defineCommand } from 'citty';
import { needResource, resourcesOf } from '../../api/resource.ts';
import { allOf } from '../../api/requests.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatTime, print, printTable } from '../../terminal/table.ts';
import { needProject } from '../../api/project.ts';
import { sandboxFlags } from './find.ts';

/** A sandbox in the format of the API. */
export interface SandboxInfo {
  readonly id: string;
  readonly state: string;
  readonly provider: string;
  readonly machine?: string | null;
  readonly image?: string | null;
  readonly egress?: { readonly mode: string; readonly allow: readonly string[] } | null;
  readonly ai?: boolean | null;
  readonly createdAt: number;
  readonly lastActiveAt: number;
}

/** @example toTime(0) // '1970-01-01 00:00' */
export const toTime = (moment: number): string | null => formatTime(new Date(moment).toISOString());

export const command = defineCommand({
  meta: { name: 'list', description: 'List sandboxes' },
  args: {
    prefix: { type: 'string', valueHint: 'text', description: 'Only IDs with this prefix' },
    limit: { type: 'string', valueHint: 'n', default: '100', description: 'Maximum number per binding' },
    ...sandboxFlags,
    binding: { ...sandboxFlags.binding, description: 'Binding or name of the sandboxes (default: all)' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const limit = wholeNumber('platform sandbox list', '--limit', args.limit, 1, 100_000);
    const { api, project } = await needProject(shell, args, 'platform sandbox list');
    const bindings =
      args.binding === undefined
        ? (await resourcesOf(api, project, args.branch, 'sandbox')).map(({ binding }) => binding)
        : [(await needResource(shell, args, 'sandbox', args.binding, 'platform sandbox list')).binding];
    const sandboxes: (SandboxInfo & { binding: string })[] = [];
    for (const binding of bindings) {
      const at = `/projects/${encodeURIComponent(project.id)}/sandboxes/${encodeURIComponent(binding)}`;
      const query = { branch: args.branch, prefix: args.prefix, limit: Math.min(limit, 1000) };
      for (const one of await allOf<SandboxInfo>(api, at, query, limit)) sandboxes.push({ binding, ...one });
    }
    print(shell, args.json, { sandboxes }, () =>
      printTable(shell, {
        columns: ['id', 'binding', 'state', 'machine', 'provider', 'last active'],
        rows: sandboxes.map(({ id, binding, state, machine, provider, lastActiveAt }) => [
          id,
          binding,
          state,
          machine ?? null,
          provider,
          toTime(lastActiveAt),
        ]),
        empty:
          bindings.length === 0
            ? `${project.name} has no sandbox binding: add one under sandbox in platform.yaml`
            : `${project.name} has no sandboxes`,
      }),
    );
  },
});
