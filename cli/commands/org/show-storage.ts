// `platform org storage show`: shows the storage of an organization by kind and project, with the limit of its plan.
import { defineCommand } from 'citty';
import { organizationOf, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, formatTime, print, printTable } from '../../terminal/table.ts';

interface KindBytes {
  readonly kind: string;
  readonly bytes: number;
}

interface Storage {
  readonly plan: string;
  readonly limitBytes: number | null;
  readonly bytes: number;
  readonly isFull: boolean;
  readonly countedAt: string | null;
  readonly kinds: readonly KindBytes[];
  readonly projects: readonly {
    readonly name: string;
    readonly isDeleted: boolean;
    readonly dataDueAt: string | null;
    readonly bytes: number;
    readonly kinds: readonly KindBytes[];
  }[];
}

export const command = defineCommand({
  meta: { name: 'storage', description: 'Show storage usage and the limit of the plan' },
  args: { org: targetFlags.org, ...platformFlags, json: { type: 'boolean', description: 'Print JSON' } },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform org storage');
    const { id, slug } = await organizationOf(api, args.org);
    const kept = await ask<Storage>(api, 'GET', `/orgs/${encodeURIComponent(id)}/storage`);
    print(shell, args.json, { organization: slug, ...kept }, () => {
      const { bytes, limitBytes, plan, isFull, countedAt, kinds, projects } = kept;
      const limit = limitBytes === null ? 'no limit' : `of ${formatBytes(limitBytes)}`;
      const words = `${slug} stores ${shell.paint('bold', formatBytes(bytes))}, ${limit} (plan ${plan})`;
      shell.out(countedAt === null ? words : `${words}, measured ${formatTime(countedAt)}`);
      if (isFull)
        shell.out(
          shell.paint('red', 'Storage limit reached: writes, builds and deployments fail until you delete data'),
        );
      shell.out(textOf(kinds));
      printTable(shell, {
        columns: ['project', 'bytes', 'kinds'],
        rows: projects.map((project) => [
          project.isDeleted ? `${project.name} (${deletedText(project.dataDueAt)})` : project.name,
          formatBytes(project.bytes),
          textOf(project.kinds),
        ]),
        empty: 'No projects with stored data',
      });
    });
  },
});

/** State of a deleted project's data. */
function deletedText(dataDueAt: string | null): string {
  if (dataDueAt === null) return 'deleted';
  return Date.parse(dataDueAt) <= Date.now()
    ? 'deleted, data is being removed'
    : `deleted, data until ${dataDueAt.slice(0, 10)}`;
}

function textOf(kinds: readonly KindBytes[]): string {
  return kinds.map(({ kind, bytes }) => `${kind} ${formatBytes(bytes)}`).join(', ');
}
