// `platform collector`: shows the OTLP collector of a project and the number of spans sent.
import { defineCommand } from 'citty';
import { needProject, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

/** A collector in the format of the API. */
export interface Collector {
  readonly url: string;
  readonly headers: readonly string[];
  readonly sent: number;
  readonly dropped: number;
  readonly error: string | null;
}

export const command = defineCommand({
  meta: { name: 'show', description: 'Show the collector of a project' },
  args: { ...targetFlags, json: { type: 'boolean', description: 'Print JSON' } },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform collector');
    const { collector } = await ask<{ collector: Collector | null }>(
      api,
      'GET',
      `/projects/${encodeURIComponent(project.id)}/collector`,
    );
    print(shell, args.json, { project: project.name, collector }, () => {
      if (collector === null) {
        shell.out(`${project.name} has no collector: \`platform collector set <url>\``);
        return;
      }
      shell.out(collector.url);
      if (collector.headers.length > 0) shell.out(`  headers: ${collector.headers.join(', ')}`);
      shell.out(`  spans: ${collector.sent} sent, ${collector.dropped} dropped`);
      if (collector.error !== null) shell.out(`  last error: ${collector.error}`);
    });
  },
});
